import { createHmac } from 'node:crypto';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { scopeOf, type Access } from '#src/access/access.ts';
import { SECOND, toSeconds } from '#src/clock.ts';
import { signAccessToken, type AccessTokenClaims } from '#src/credentials/access-token.ts';
import type { KeyRing } from '#src/credentials/key-ring.ts';
import type { Emit } from '#src/events.ts';
import { grantStatus, type Grant } from '#src/grants/grant.ts';
import { decideRefresh, type RefreshDecision } from '#src/grants/refresh-rule.ts';
import { digest } from '#src/ids.ts';
import { findGrant } from '#src/storage/grants.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import type { Store, Work } from '#src/storage/open.ts';
import {
  consumeToken,
  findToken,
  insertToken,
  lockToken,
  type Token,
} from '#src/storage/tokens.ts';
import { findUser } from '#src/storage/users.ts';
import { splitScope } from './authorize-request.ts';

/*
 * The refresh grant (RFC 6749 section 6, RFC 9700 section 4.14). It replaces oidc-provider's own,
 * which decides and writes in separate steps. Here the decision and all that follows from it are one
 * transaction, under the lock of the token's row.
 *
 * A successor is derived from the token before it with a key that is not in the database, so that a
 * repeated request gets the same one although only digests are stored.
 */

export interface RefreshParts {
  store: Store;
  keys: KeyRing;
  emit: Emit;
  issuer: string;
  resource: string;
  accessTokenTtlSeconds: number;
  refreshTokenTtlSeconds: number;
  refreshRetrySeconds: number;
  access: () => Access;
}

/** What one request ends in; only the first has something to hand out. */
type Rotation =
  | { decision: 'rotate' | 'repeat'; grant: Grant; successor: string; claims: AccessTokenClaims }
  | {
      decision: Exclude<RefreshDecision, 'rotate' | 'repeat'> | 'wider_scope';
      token: Token | undefined;
    };

const FORM_OF_TOKEN = /^[A-Za-z0-9_-]{20,200}$/;

/** The handler for `grant_type=refresh_token`. The client has been authenticated before. */
export function createRefreshHandler(
  parts: RefreshParts,
): (ctx: KoaContextWithOIDC) => Promise<void> {
  return async (ctx) => {
    const shown = ctx.oidc.params?.['refresh_token'];
    const { client } = ctx.oidc;
    if (typeof shown !== 'string' || shown === '' || client === undefined) {
      throw new errors.InvalidRequest("missing required parameter 'refresh_token'");
    }
    // What is no token of ours is not worth a transaction.
    if (!(await isKnown(parts.store, shown))) throw new errors.InvalidGrant('unknown');
    await parts.keys.refresh();
    const scope = ctx.oidc.params?.['scope'];
    const scopes = splitScope(typeof scope === 'string' ? scope : '');
    const request = { shown, scopes, clientId: client.clientId };
    const rotation = await parts.store.transaction((work) => rotate(parts, work, request));
    switch (rotation.decision) {
      case 'rotate':
      case 'repeat':
        ctx.body = await tokenResponse(parts, rotation);
        parts.emit({
          type: 'token.issued',
          grantId: rotation.grant.id,
          kind: rotation.decision === 'rotate' ? 'refresh' : 'retry',
        });
        return;
      case 'wider_scope':
        throw new errors.InvalidScope('scope goes beyond what was granted', scopes.join(' '));
      default:
        if (rotation.decision === 'reuse' && rotation.token !== undefined) {
          parts.emit({
            type: 'grant.revoked',
            grantId: rotation.token.grantId,
            reason: 'refresh_reuse',
          });
        }
        throw new errors.InvalidGrant(rotation.decision);
    }
  };
}

async function isKnown(store: Store, shown: string): Promise<boolean> {
  if (!FORM_OF_TOKEN.test(shown)) return false;
  return (await findToken(store.db, 'refresh', digest(shown))) !== undefined;
}

async function rotate(
  parts: RefreshParts,
  work: Work,
  { shown, scopes, clientId }: { shown: string; scopes: string[]; clientId: string },
): Promise<Rotation> {
  const token = await lockToken(work, 'refresh', digest(shown));
  const grant = token && (await findGrant(work.db, token.grantId));
  const kid = token?.successorKid ?? parts.keys.activeKid;
  const successor = successorOf(parts.keys, kid, shown);
  const next =
    successor === undefined ? undefined : await findToken(work.db, 'refresh', digest(successor));
  const decision = decideRefresh({
    shown: token,
    clientId,
    now: work.now,
    retryMs: parts.refreshRetrySeconds * SECOND,
    isGrantLive: await isLive(work, grant),
    successorUnused: next !== undefined && next.usedAt === null,
  });
  if (token === undefined || grant === undefined || successor === undefined)
    return { decision: 'unknown', token };
  if ((decision === 'rotate' || decision === 'repeat') && !covers(parts, grant, scopes)) {
    return { decision: 'wider_scope', token };
  }
  switch (decision) {
    case 'rotate':
      await consumeToken(work, digest(shown), kid);
      await insertToken(work.db, work.now, {
        digest: digest(successor),
        kind: 'refresh',
        grantId: grant.id,
        clientId,
        expiresAt: Math.min(work.now + parts.refreshTokenTtlSeconds * SECOND, grant.expiresAt),
      });
      return issue(parts, work, { decision, grant, successor });
    case 'repeat':
      return issue(parts, work, { decision, grant, successor });
    default:
      await recordRefusal(work, { decision, token, clientId });
      return { decision, token };
  }
}

async function issue(
  parts: RefreshParts,
  work: Work,
  issued: { decision: 'rotate' | 'repeat'; grant: Grant; successor: string },
): Promise<Rotation> {
  const { grant, decision } = issued;
  const expiresAt = Math.min(work.now + parts.accessTokenTtlSeconds * SECOND, grant.expiresAt);
  const claims: AccessTokenClaims = {
    iss: parts.issuer,
    aud: parts.resource,
    sub: grant.userId,
    client_id: grant.clientId,
    gid: grant.id,
    iat: toSeconds(work.now),
    exp: toSeconds(expiresAt),
    jti: work.random(16).toString('base64url'),
  };
  await insertToken(work.db, work.now, {
    digest: digest(claims.jti),
    kind: 'access',
    grantId: grant.id,
    clientId: grant.clientId,
    expiresAt,
  });
  await work.audit({
    actor: `client:${grant.clientId}`,
    action: 'token.refreshed',
    clientId: grant.clientId,
    grantId: grant.id,
    detail: decision === 'repeat' ? { repeated: true } : {},
  });
  return { ...issued, claims };
}

/** What a refused request leaves behind: a row for the log, and the end of a grant whose token leaked. */
async function recordRefusal(
  work: Work,
  refusal: { decision: RefreshDecision; token: Token; clientId: string },
): Promise<void> {
  const { decision, token, clientId } = refusal;
  if (decision === 'reuse') {
    await revokeGrants(work, {
      actor: 'server',
      reason: 'refresh_reuse',
      where: { ids: [token.grantId] },
    });
  }
  if (decision === 'reuse' || decision === 'other_client') {
    await work.audit({
      actor: `client:${clientId}`,
      action: 'token.refresh_refused',
      clientId,
      grantId: token.grantId,
      outcome: 'refused',
      detail: { reason: decision },
    });
  }
}

async function isLive(work: Work, grant: Grant | undefined): Promise<boolean> {
  if (grant === undefined || grantStatus(grant, work.now) !== 'active') return false;
  const user = await findUser(work.db, grant.userId);
  return user?.status === 'active';
}

/** Whether the grant permits all that is asked for (RFC 6749 section 6). */
function covers({ access }: RefreshParts, grant: Grant, scopes: readonly string[]): boolean {
  const permitted = access().closure(grant.privileges);
  return scopes.every((scope) => permitted.has(scope));
}

/** The successor of a refresh token; undefined when the key that derives it is gone. */
function successorOf(keys: KeyRing, kid: string, token: string): string | undefined {
  const key = keys.derive('refresh', kid);
  return key && createHmac('sha256', key).update(token).digest('base64url');
}

async function tokenResponse(
  parts: RefreshParts,
  { claims, grant, successor }: { claims: AccessTokenClaims; grant: Grant; successor: string },
): Promise<Record<string, unknown>> {
  return {
    access_token: await signAccessToken(parts.keys, claims),
    token_type: 'Bearer',
    expires_in: Math.max(1, claims.exp - claims.iat),
    refresh_token: successor,
    scope: scopeOf(grant.privileges),
  };
}
