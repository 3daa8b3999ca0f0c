import { SECOND } from '#src/clock.ts';
import type { ClientId, GrantId, UserId } from '#src/ids.ts';

/*
 * A session of the older MCP revisions (2024-11-05 to 2025-11-25): what `initialize` agreed on, and
 * whose it is. It is never a credential: every request brings its own.
 */

export interface ProtocolSession {
  /** Of the id that the client holds. */
  digest: string;
  userId: UserId;
  clientId: ClientId;
  /** The grant under which it was used last; it ends with that one. */
  grantId: GrantId;
  version: string;
  /** What the client can do, as it said. */
  capabilities: Record<string, unknown>;
  /** When it ends unless it is used before. */
  expiresAt: number;
}

/** Whoever uses a session is the same person in the same client, by whatever grant. */
export interface SessionOwner {
  user: { id: UserId };
  client: { id: ClientId };
}

/** Whether this caller may use the session now. Whose it is, is not told apart from whether it is. */
export function sessionStands(
  session: ProtocolSession | undefined,
  owner: SessionOwner,
  now: number,
): session is ProtocolSession {
  if (session === undefined || session.expiresAt <= now) return false;
  return session.userId === owner.user.id && session.clientId === owner.client.id;
}

const SHARE = 10;

/**
 * Whether a use must be written down: when the end is a tenth of the idle time, or half a minute,
 * nearer than it could be, or when another grant is used now.
 */
export function needsTouch(
  session: ProtocolSession,
  grantId: GrantId,
  { now, idleMs }: { now: number; idleMs: number },
): boolean {
  const slack = Math.min(idleMs / SHARE, 30 * SECOND);
  return session.grantId !== grantId || session.expiresAt < now + idleMs - slack;
}
