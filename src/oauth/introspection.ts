import type { Context } from 'koa';
import { scopeOf } from '#src/access/access.ts';
import type { TokenInspector } from '#src/credentials/authenticate.ts';
import type { Emit } from '#src/events.ts';
import { findClient, recordClientUse, type StoredClient } from '#src/storage/clients.ts';
import { LAST_USE_INTERVAL_MS } from '#src/storage/grants.ts';
import type { Store } from '#src/storage/open.ts';
import { isPlainId, secretMatches } from './clients.ts';
import { doubledParameters, readBasic, type OAuthError } from './token-request.ts';

/*
 * Introspection (RFC 7662): a resource server that an administrator added asks whether an access token
 * counts now. Decided by the check that `/mcp` makes of every request; whether the
 * endpoint is switched on is no matter of the token.
 *
 * A refresh token is never active here. Nobody but this server should be shown one, and a resource
 * server that was told "active" could take it for an access token.
 */

export interface IntrospectionParts {
  store: Store;
  inspector: TokenInspector;
  emit: Emit;
}

/**
 * Answers one introspection request.
 * @throws `store_unavailable` when the store does not answer: then nothing is said about the token.
 */
export async function introspect(
  parts: IntrospectionParts,
  ctx: Context,
  form: URLSearchParams,
): Promise<void> {
  const asker = await authenticateAsker(parts, ctx.req.headers.authorization, form);
  if ('error' in asker) {
    refuse(parts, ctx, asker);
    return;
  }
  noteUse(parts.store, asker);
  const token = form.get('token') ?? '';
  if (token === '') refuse(parts, ctx, invalidRequest('token is missing'));
  else ctx.body = await describeToken(parts.inspector, token);
}

/** What the token is worth now; why it is worth nothing is nobody's business. */
async function describeToken(
  inspector: TokenInspector,
  token: string,
): Promise<Record<string, unknown>> {
  const inspection = await inspector.inspect(token);
  if (!inspection.ok) return { active: false };
  const { claims, principal } = inspection;
  return {
    active: true,
    scope: scopeOf([...principal.effective].toSorted()),
    client_id: claims.client_id,
    username: principal.user.name,
    token_type: 'Bearer',
    exp: claims.exp,
    iat: claims.iat,
    sub: claims.sub,
    aud: claims.aud,
    iss: claims.iss,
    jti: claims.jti,
    gid: claims.gid,
  };
}

/** The resource server that asks, by its id and secret, sent in one way (RFC 6749 section 2.3). */
async function authenticateAsker(
  { store }: IntrospectionParts,
  authorization: string | undefined,
  form: URLSearchParams,
): Promise<StoredClient | OAuthError> {
  const doubled = doubledParameters(form);
  if (doubled !== undefined) return doubled;
  const [bodyId, bodySecret] = [form.get('client_id'), form.get('client_secret')];
  if (authorization !== undefined && bodySecret !== null)
    return invalidRequest('client authentication must be sent in one way');
  const { id, secret } =
    authorization === undefined
      ? { id: bodyId, secret: bodySecret }
      : (readBasic(authorization) ?? { id: null, secret: null });
  if (!id || !secret || (bodyId !== null && bodyId !== id)) return INVALID_CLIENT;
  const client = isPlainId(id) ? await findClient(store.db, id) : undefined;
  const isAsker = client?.kind === 'resource-server' && client.status === 'active';
  // Compared in any case, and in constant time.
  const matches = secretMatches(client?.secretDigest ?? undefined, secret);
  return isAsker && matches ? client : INVALID_CLIENT;
}

const INVALID_CLIENT: OAuthError = {
  status: 401,
  error: 'invalid_client',
  error_description: 'client authentication failed',
};

function invalidRequest(description: string): OAuthError {
  return { status: 400, error: 'invalid_request', error_description: description };
}

function refuse(
  { emit }: IntrospectionParts,
  ctx: Context,
  { status, error, error_description: description }: OAuthError,
): void {
  // The description may quote what was sent.
  emit({ type: 'oauth.error', endpoint: 'introspect', error, reason: undefined });
  ctx.status = status;
  if (status === 401) ctx.set('www-authenticate', 'Basic realm="introspection"');
  ctx.body = { error, error_description: description };
}

/** A note, written behind the answer. */
function noteUse(store: Store, client: StoredClient): void {
  const at = store.clock.now();
  if (at - (client.lastUsedAt ?? 0) < LAST_USE_INTERVAL_MS) return;
  recordClientUse(store.notes, client.id, at).catch(() => {});
}
