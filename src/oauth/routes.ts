import { Readable } from 'node:stream';
import Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import compose from 'koa-compose';
import type Provider from 'oidc-provider';
import { scopeOf } from '#src/access/access.ts';
import type { AccessTokenVerifier } from '#src/credentials/access-token.ts';
import type { TokenInspector } from '#src/credentials/authenticate.ts';
import { AppError } from '#src/errors.ts';
import { readForm, readJsonObject } from '#src/http/body.ts';
import type { Caller } from '#src/http/caller.ts';
import { toHttpError } from '#src/http/error-response.ts';
import { PUBLIC_CORS, PUBLIC_PREFLIGHT } from '#src/http/security-headers.ts';
import { recordClientUse } from '#src/storage/clients.ts';
import { findGrant } from '#src/storage/grants.ts';
import type { Emit } from '#src/events.ts';
import { asStoreError, type Store } from '#src/storage/open.ts';
import { admitAuthorization } from './authorize-limits.ts';
import { repairAuthorizeQuery } from './authorize-request.ts';
import { lookUpClient } from './clients.ts';
import { showDone, type DonePageParts } from './done-page.ts';
import { isServerFault, showError, type ErrorPageParts } from './error-page.ts';
import { introspect } from './introspection.ts';
import type { DocumentReader } from './metadata-document.ts';
import type { InteractionHandlers } from './interactions.ts';
import { registerClient, type RegistrationParts } from './registration.ts';
import { authorizationServerMetadata, protectedResourceMetadata } from './server-metadata.ts';
import {
  emptySecretClient,
  isOAuthError,
  readAssertion,
  repairRevocationBody,
  repairTokenBody,
  type FormBody,
} from './token-request.ts';
import { OAUTH_PATH, RESOURCE_METADATA_PATH, type ServerUrls } from './urls.ts';

/*
 * The addresses of the authorization server, matched exactly: the provider's own router would also
 * take other spellings, and with them go around what stands in front of it here.
 */

export interface OAuthRouteParts {
  provider: Provider;
  urls: ServerUrls;
  name: string;
  store: Store;
  verifier: AccessTokenVerifier;
  inspector: TokenInspector;
  interactions: InteractionHandlers;
  registration: RegistrationParts;
  documents: DocumentReader;
  donePage: DonePageParts;
  errorPage: ErrorPageParts;
  privileges: () => ReadonlySet<string>;
  callerOf: (ctx: Context) => Caller;
  emit: Emit;
}

const SERVER_METADATA = '/.well-known/oauth-authorization-server';
const OPENID_METADATA = '/.well-known/openid-configuration';
const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';
const METADATA_PATHS = [SERVER_METADATA, OPENID_METADATA].flatMap((path) => [
  path,
  `${path}/mcp`,
  `/mcp${path}`,
]);
const REGISTRATION_LIMIT = 64 * 1024;

export function createOAuthRouter(parts: OAuthRouteParts): Router {
  const router = new Router({ sensitive: true, strict: true });
  const toProvider = providerMiddleware(parts);
  addDocuments(router, parts);
  addPages(router, parts, toProvider);
  addEndpoints(router, parts, toProvider);
  return router;
}

function addDocuments(router: Router, parts: OAuthRouteParts): void {
  const { urls, registration } = parts;
  const metadata = authorizationServerMetadata(urls, registration.config);
  const resource = protectedResourceMetadata(urls, parts.name);
  const publish = (paths: string[], document: Record<string, unknown>): void => {
    router.get(paths, (ctx) => {
      ctx.set({
        ...PUBLIC_CORS,
        'cache-control': 'public, max-age=300',
        'x-content-type-options': 'nosniff',
      });
      ctx.body = document;
    });
    router.options(paths, preflight);
  };
  publish(METADATA_PATHS, metadata);
  publish([RESOURCE_METADATA, RESOURCE_METADATA_PATH], resource);
  // Access tokens are signed with a secret key: there is no public key to publish.
  publish([`${OAUTH_PATH}/jwks`], { keys: [] });
}

function addPages(router: Router, parts: OAuthRouteParts, toProvider: Middleware): void {
  const { interactions, callerOf, urls } = parts;
  type Handle = (ctx: Context, caller: Caller, next: Next) => Promise<void>;
  const page = (handle: Handle): Middleware => {
    return async (ctx, next) => {
      try {
        await handle(ctx, callerOf(ctx), next);
      } catch (error) {
        reportFault(parts, error);
        showError(parts.errorPage, ctx, error);
      }
    };
  };
  router.get(
    `${OAUTH_PATH}/authorize`,
    page(async (ctx, caller, next) => {
      await admitAuthorization(parts.store, ctx.querystring, caller.address);
      const query = repairAuthorizeQuery(new URLSearchParams(ctx.querystring), {
        urls,
        privileges: parts.privileges(),
      });
      ctx.querystring = query.toString();
      await next();
    }),
    toProvider,
  );
  router.get(
    `${OAUTH_PATH}/authorize/:uid`,
    page(async (ctx, _caller, next) => {
      await next();
      await showDone(parts.donePage, ctx);
    }),
    toProvider,
  );
  router.get(`${OAUTH_PATH}/interaction/:uid`, page(interactions.show));
  router.post(`${OAUTH_PATH}/interaction/:uid/login`, page(interactions.logIn));
  router.post(`${OAUTH_PATH}/interaction/:uid/consent`, page(interactions.decide));
  router.post(`${OAUTH_PATH}/interaction/:uid/cancel`, page(interactions.cancel));
  router.post(`${OAUTH_PATH}/interaction/:uid/switch`, page(interactions.switchUser));
}

function addEndpoints(router: Router, parts: OAuthRouteParts, toProvider: Middleware): void {
  const endpoints = ['token', 'register', 'revoke'].map((name) => `${OAUTH_PATH}/${name}`);
  router.options(endpoints, preflight);
  router.post(`${OAUTH_PATH}/token`, jsonEndpoint(parts), tokenEndpoint(parts), toProvider);
  router.post(`${OAUTH_PATH}/revoke`, jsonEndpoint(parts), revocationEndpoint(parts), toProvider);
  // Servers ask here, never a page in a browser: no CORS.
  router.post(`${OAUTH_PATH}/introspect`, jsonEndpoint(parts, {}), async (ctx) => {
    await introspect(parts, ctx, await readForm(ctx.req));
  });
  router.post(`${OAUTH_PATH}/register`, jsonEndpoint(parts), (ctx) => register(parts, ctx));
}

/** In front of the provider, and after it. */
function tokenEndpoint(parts: OAuthRouteParts): Middleware {
  const { urls } = parts;
  return async (ctx, next) => {
    const privileges = parts.privileges();
    const body = repairTokenBody(await readForm(ctx.req), { urls, privileges });
    if (isOAuthError(body)) {
      ctx.status = body.status;
      ctx.body = { error: body.error, error_description: body.error_description };
      return;
    }
    await prepareClient(parts, ctx, body);
    await next();
    if (ctx.status === 200) await completeTokenResponse(parts, ctx, body);
  };
}

/** In front of the provider. */
function revocationEndpoint(parts: OAuthRouteParts): Middleware {
  return async (ctx, next) => {
    const body = await repairRevocationBody(await readForm(ctx.req), parts.verifier);
    await prepareClient(parts, ctx, body);
    await next();
  };
}

async function register(parts: OAuthRouteParts, ctx: Context): Promise<void> {
  if (!parts.registration.config.dynamicRegistration) {
    ctx.status = 404;
    ctx.body = { error: 'not_found', error_description: 'Clients cannot register here' };
    return;
  }
  const sent = await readJsonObject(ctx.req, REGISTRATION_LIMIT);
  const result = await registerClient(parts.registration, sent, parts.callerOf(ctx).address);
  if (result.kind === 'refused') {
    ctx.status = result.status;
    ctx.set('retry-after', String(result.retryAfterSeconds));
    ctx.body = { error: result.status === 429 ? 'too_many_requests' : 'temporarily_unavailable' };
    return;
  }
  ctx.status = 201;
  ctx.body = result.response;
}

/** Gets the provider what it needs to know the client by: its keys, and a body that it can read. */
async function prepareClient(parts: OAuthRouteParts, ctx: Context, body: FormBody): Promise<void> {
  const { documents } = parts;
  const asserted = readAssertion(body['client_assertion']);
  if (asserted !== undefined) {
    const client = await lookUpClient(parts, asserted.clientId, parts.callerOf(ctx).address);
    const keysUrl = client?.metadata.jwks_uri;
    if (keysUrl !== undefined) await documents.refreshKeys(keysUrl, asserted.kid);
  }
  const { headers } = ctx.req;
  const publicClient = emptySecretClient(headers.authorization);
  if (publicClient !== undefined) {
    // A client without a secret that says so by Basic is one that names itself in the body.
    delete headers.authorization;
    body['client_id'] ??= publicClient;
  }
  replaceBody(ctx, body);
}

/** Errors are JSON with the exact code, whatever the client accepts; nothing is kept. */
function jsonEndpoint(parts: OAuthRouteParts, cors = PUBLIC_CORS): Middleware {
  return async (ctx, next) => {
    ctx.set({ ...cors, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    ctx.req.headers.accept = 'application/json';
    try {
      await next();
    } catch (error) {
      reportFault(parts, error);
      const known = asStoreError(error);
      const answer =
        known instanceof AppError
          ? toHttpError(known)
          : {
              status: 500,
              error: 'server_error',
              description: undefined,
              retryAfterSeconds: undefined,
            };
      ctx.status = answer.status;
      if (answer.retryAfterSeconds !== undefined)
        ctx.set('retry-after', String(answer.retryAfterSeconds));
      ctx.body = { error: answer.error, error_description: answer.description };
    }
    // An unknown client is 401 to every client library, also when its document is what is wrong.
    if (isBody(ctx.body) && ctx.body['error'] === 'invalid_client') ctx.status = 401;
  };
}

/** The scope that was granted, and a note that the client is in use. */
async function completeTokenResponse(
  parts: OAuthRouteParts,
  ctx: Context,
  request: FormBody,
): Promise<void> {
  const { store, verifier, emit } = parts;
  const body = ctx.body as Record<string, unknown>;
  const verified = await verifier.verify(String(body['access_token']));
  if (typeof verified === 'string')
    throw new AppError('internal', `an issued token is ${verified}`);
  const { gid, client_id: clientId } = verified.claims;
  if (request['grant_type'] !== 'refresh_token') {
    const grant = await findGrant(store.db, gid);
    body['scope'] = scopeOf(grant?.privileges ?? []);
  }
  // A note. The tokens are made: nothing may keep them from the client now.
  recordClientUse(store.notes, clientId, store.clock.now()).catch(() => {});
  if (request['grant_type'] === 'authorization_code')
    emit({ type: 'token.issued', grantId: gid, kind: 'code' });
}

function isBody(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Runs the provider on the path that it expects below the issuer's own. */
function providerMiddleware({ provider, urls }: OAuthRouteParts): Middleware {
  const run = compose(provider.middleware as Middleware[]);
  return async (ctx) => {
    const path = ctx.path;
    ctx['mountPath'] = urls.mountPath;
    ctx.path = path.slice(urls.mountPath.length);
    try {
      await run(ctx, async () => {});
    } finally {
      ctx.path = path;
    }
  };
}

/** Gives the provider a repaired body to read, as if it had come from the network. */
function replaceBody(ctx: Context, body: FormBody): void {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    for (const one of Array.isArray(value) ? value : [value]) parameters.append(name, one);
  }
  const bytes = Buffer.from(parameters.toString());
  const stream = Readable.from([bytes]);
  const { headers } = ctx.req;
  delete headers['transfer-encoding'];
  headers['content-length'] = String(bytes.length);
  ctx.req = Object.create(ctx.req, {
    readable: { value: true },
    readableEncoding: { value: null },
    iterator: { value: stream.iterator.bind(stream) },
  }) as typeof ctx.req;
  ctx.request.req = ctx.req;
}

function preflight(ctx: Context): void {
  ctx.set(PUBLIC_PREFLIGHT);
  ctx.status = 204;
}

function reportFault(parts: OAuthRouteParts, error: unknown): void {
  if (!isServerFault(error)) return;
  const fault = error instanceof Error ? error : new Error(String(error));
  parts.emit({ type: 'server.error', where: 'oauth', message: fault.message, stack: fault.stack });
}
