import type { AccessSessionId, ClientId, GrantId, UserId } from '#src/ids.ts';

/*
 * A grant: what one person allowed one installation of one client to do, until when. It is the
 * single source of truth: every token, code and session under it ends with it.
 */

export interface Grant {
  id: GrantId;
  userId: UserId;
  clientId: ClientId;
  clientName: string;
  redirectUri: string;
  redirectHost: string;
  /** Names of the privileges that were consented to. */
  privileges: string[];
  /** Names of the privileges that the consent page offered. */
  offered: string[];
  createdAt: number;
  expiresAt: number;
  revokedAt: number | null;
  revokedReason: string | null;
  lastUsedAt: number | null;
  lastUsedIp: string | null;
}

export type GrantStatus = 'active' | 'revoked' | 'expired';

/** Why a grant ended before its time. */
export type RevocationReason =
  | 'administrator'
  | 'user_disabled'
  | 'user_removed'
  | 'client_revoked'
  | 'client_removed'
  | 'code_reuse'
  | 'refresh_reuse';

export function grantStatus(
  grant: Pick<Grant, 'revokedAt' | 'expiresAt'>,
  now: number,
): GrantStatus {
  if (grant.revokedAt !== null) return 'revoked';
  return grant.expiresAt <= now ? 'expired' : 'active';
}

/** Everything that the check of one request needs, read from the store at that request. */
export interface AccessRecord {
  grantId: GrantId;
  userId: UserId;
  clientId: ClientId;
  userName: string;
  clientName: string;
  /** JSON lists, kept as text: what they mean is compiled once per distinct text. */
  privileges: string;
  roles: string;
  /** What the person holds in place of roles, or null. */
  userPrivileges: string | null;
  userStatus: 'active' | 'disabled';
  clientStatus: 'active' | 'blocked';
  expiresAt: number;
  revokedAt: number | null;
  lastUsedAt: number | null;
  /** Whether the endpoint is switched on. */
  isServing: boolean;
  /** The access session of this person in this client, if there is one; it may be over. */
  session: { id: AccessSessionId; isOpen: boolean; expiresAt: number } | undefined;
  /** State of the key that signed the token; null when the store does not know it. */
  keyStatus: 'active' | 'retiring' | 'dropped' | null;
  keyRetiresAt: number | null;
}

export type AccessDenial =
  | 'grant_unknown'
  | 'grant_mismatch'
  | 'grant_revoked'
  | 'grant_expired'
  | 'user_disabled'
  | 'client_blocked'
  | 'key_dropped';

/** Whether a grant counts now, whatever is used under it; the reason when not. */
export function decideGrant(record: AccessRecord, now: number): AccessDenial | undefined {
  if (record.revokedAt !== null) return 'grant_revoked';
  if (record.expiresAt <= now) return 'grant_expired';
  if (record.userStatus !== 'active') return 'user_disabled';
  return record.clientStatus === 'active' ? undefined : 'client_blocked';
}

/** Whether a verified token may be used now; the reason when not, for the log only. */
export function decideAccess(
  claims: { sub: string; client_id: string },
  record: AccessRecord | undefined,
  now: number,
): AccessDenial | undefined {
  if (record === undefined) return 'grant_unknown';
  if (record.userId !== claims.sub || record.clientId !== claims.client_id) return 'grant_mismatch';
  const denial = decideGrant(record, now);
  if (denial !== undefined) return denial;
  if (record.keyStatus === null || record.keyStatus === 'dropped') return 'key_dropped';
  if (record.keyRetiresAt !== null && record.keyRetiresAt <= now) return 'key_dropped';
  return undefined;
}
