import { generateKeyPairSync } from 'node:crypto';
import Provider, {
  errors,
  type Account,
  type Configuration,
  type KoaContextWithOIDC,
} from 'oidc-provider';
import type { Access } from '#src/access/access.ts';
import { BASE_SCOPE } from '#src/access/roles.ts';
import { SECOND, toSeconds } from '#src/clock.ts';
import type { Config } from '#src/config.ts';
import type { KeyRing } from '#src/credentials/key-ring.ts';
import { AppError } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import { toHttpError } from '#src/http/error-response.ts';
import { digest, type UserId } from '#src/ids.ts';
import type { Store } from '#src/storage/open.ts';
import { insertToken } from '#src/storage/tokens.ts';
import { findUser } from '#src/storage/users.ts';
import { loginLifeSeconds } from '#src/users/user.ts';
import { createAdapter, type AdapterParts } from './adapter.ts';
import { PRIVILEGES_PARAMETER } from './authorize-request.ts';
import { secretMatches } from './clients.ts';
import { createInteractionPolicy } from './interaction-policy.ts';
import type { DocumentReader } from './metadata-document.ts';
import { carryingErrors, CarriedError } from './provider-errors.ts';
import { redirectUriMatches, redirectUriProblem } from './redirect-uri.ts';
import { createRefreshHandler } from './refresh.ts';
import { ASSERTION_ALGORITHMS, AUTH_METHODS } from './server-metadata.ts';
import { OAUTH_PATH, type ServerUrls } from './urls.ts';

/*
 * oidc-provider, configured. The guest of this house: it lives behind its adapter and its documented
 * hooks, and nothing outside `oauth/` knows it. What it does not do as we need it is replaced here:
 * the refresh grant, the comparison of secrets and of redirect URIs.
 */

export interface ProviderParts {
  config: Config;
  urls: ServerUrls;
  store: Store;
  keys: KeyRing;
  documents: DocumentReader;
  access: () => Access;
  emit: Emit;
  /** The grant of this authorization when the consent page need not be shown. */
  rememberedGrant(ctx: KoaContextWithOIDC): Promise<string | undefined>;
  renderError(ctx: KoaContextWithOIDC, error: Error): void;
}

const INTERACTION_SECONDS = 10 * 60;
const LONGEST_ASSERTION_SECONDS = 24 * 60 * 60;

export function createProvider(parts: ProviderParts): Provider {
  const { store, keys, urls, emit, config } = parts;
  const provider = new Provider(urls.issuer, configuration(parts));
  // The X-Forwarded-* headers it sees were rewritten by the router from the public URL.
  provider.proxy = true;
  replaceComparisons(provider, config.oauth.privateUseSchemes);
  const refresh = createRefreshHandler({
    store,
    keys,
    emit,
    issuer: urls.issuer,
    resource: urls.resource,
    accessTokenTtlSeconds: config.oauth.accessTokenTtlSeconds,
    refreshTokenTtlSeconds: config.oauth.refreshTokenTtlSeconds,
    refreshRetrySeconds: config.oauth.refreshRetrySeconds,
    access: parts.access,
  });
  const handleRefresh = (ctx: KoaContextWithOIDC): Promise<void> =>
    carryingErrors(() => refresh(ctx));
  provider.registerGrantType(
    'refresh_token',
    handleRefresh,
    ['refresh_token', 'scope', 'resource'],
    ['resource'],
  );
  forwardErrors(provider, emit);
  return provider;
}

function configuration(parts: ProviderParts): Configuration {
  const { config, urls, store } = parts;
  const loginSeconds = loginLifeSeconds(config.oauth.grantTtlSeconds);
  const adapterParts: AdapterParts = {
    store,
    documents: parts.documents,
    resource: urls.resource,
    emit: parts.emit,
    currentCaller,
  };
  return {
    adapter: (model: string) => createAdapter(model, adapterParts),
    ...protocol(),
    jwks: { keys: [unusedKey()] },
    routes: providerRoutes(urls),
    features: features(parts),
    ...tokenHooks(parts),
    ttl: lives(parts, loginSeconds),
    loadExistingGrant: (ctx) => carryingErrors(() => loadGrant(parts, ctx)),
    findAccount: (_ctx, sub) => carryingErrors(() => findAccount(store, sub)),
    interactions: {
      policy: createInteractionPolicy({ clock: store.clock, loginSeconds }),
      url: (_ctx, interaction) => `${OAUTH_PATH}/interaction/${interaction.uid}`,
    },
    cookies: cookies(parts),
    renderError: async (ctx, _out, error) => parts.renderError(ctx, error),
  };
}

/** What is spoken, whatever is configured. */
function protocol(): Configuration {
  return {
    clientDefaults: { response_types: ['code'], id_token_signed_response_alg: 'ES256' },
    clientAuthMethods: [...AUTH_METHODS],
    enabledJWA: {
      clientAuthSigningAlgValues: [...ASSERTION_ALGORITHMS],
      idTokenSigningAlgValues: ['ES256'],
    },
    scopes: [],
    claims: { openid: ['sub'] },
    responseTypes: ['code'],
    extraParams: [PRIVILEGES_PARAMETER],
    pkce: { required: () => true },
    // Always said, and always compared with what was registered.
    allowOmittingSingleRegisteredRedirectUri: false,
    fetch: async () => {
      throw new AppError('internal', 'oidc-provider fetches nothing by itself');
    },
  };
}

/** What a token says, who gets one, and which proof of a client counts. */
function tokenHooks({ store }: ProviderParts): Configuration {
  return {
    formats: {
      customizers: {
        jwt: (_ctx, token, jwt) => carryingErrors(() => shapeAccessToken(store, token, jwt)),
      },
    },
    assertJwtClientAuthClaimsAndHeader: async (_ctx, claims) => assertShortLived(store, claims),
    expiresWithSession: async () => false,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  };
}

/** How long everything lives, in seconds. */
function lives({ config, store }: ProviderParts, loginSeconds: number): Configuration['ttl'] {
  const { oauth } = config;
  return {
    AccessToken: (ctx) => untilGrantEnds(ctx, store, oauth.accessTokenTtlSeconds),
    AuthorizationCode: oauth.codeTtlSeconds,
    RefreshToken: (ctx) => untilGrantEnds(ctx, store, oauth.refreshTokenTtlSeconds),
    Grant: oauth.grantTtlSeconds,
    IdToken: 60,
    Interaction: INTERACTION_SECONDS,
    Session: loginSeconds,
  };
}

function cookies({ keys, urls }: ProviderParts): Configuration['cookies'] {
  const secure = urls.origin.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', secure, signed: true } as const;
  return {
    keys: cookieKeys(keys),
    names: {
      session: 'castellan_session',
      interaction: 'castellan_interaction',
      resume: 'castellan_resume',
    },
    long: { ...cookie, path: OAUTH_PATH },
    short: cookie,
  };
}

async function findAccount(store: Store, sub: string): Promise<Account | undefined> {
  const user = await findUser(store.db, sub as UserId);
  if (user?.status !== 'active') return undefined;
  return { accountId: sub, claims: async () => ({ sub }) };
}

function features(parts: ProviderParts): NonNullable<Configuration['features']> {
  const { urls, keys, config } = parts;
  const off = { enabled: false } as const;
  return {
    devInteractions: off,
    userinfo: off,
    dPoP: off,
    pushedAuthorizationRequests: off,
    rpInitiatedLogout: off,
    // Registration and metadata documents are ours: the adapter's Client answers for both.
    registration: off,
    introspection: off,
    revocation: {
      enabled: true,
      allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: async () => urls.resource,
      useGrantedResource: async () => true,
      async getResourceServerInfo(_ctx, indicator) {
        if (indicator !== urls.resource) throw new errors.InvalidTarget();
        const { kid, key } = await keys.active();
        return {
          scope: BASE_SCOPE,
          audience: urls.resource,
          accessTokenTTL: config.oauth.accessTokenTtlSeconds,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'HS256', key, kid } },
        };
      },
    },
  };
}

/** Below the issuer's own path the provider finds its routes without it. */
function providerRoutes(urls: ServerUrls): Record<string, string> {
  const base = urls.mountPath === '' ? OAUTH_PATH : OAUTH_PATH.slice(urls.mountPath.length);
  return {
    authorization: `${base}/authorize`,
    token: `${base}/token`,
    revocation: `${base}/revoke`,
    jwks: `${base}/jwks`,
    end_session: `${base}/logout`,
  };
}

async function loadGrant(parts: ProviderParts, ctx: KoaContextWithOIDC) {
  const { result, provider, prompts } = ctx.oidc;
  const consented = result?.consent?.grantId;
  if (consented !== undefined) return provider.Grant.find(consented);
  if (prompts.has('consent')) return undefined;
  const remembered = await parts.rememberedGrant(ctx);
  return remembered === undefined ? undefined : provider.Grant.find(remembered);
}

/** The claims of product.md, in the store's time, and a row that says the token is alive. */
async function shapeAccessToken(
  store: Store,
  token: { grantId?: string | undefined; clientId?: string | undefined },
  jwt: { payload: Record<string, unknown> },
): Promise<void> {
  const { iss, aud, sub, client_id, jti } = jwt.payload;
  // The provider counts in this machine's time; every machine verifies in the store's.
  const iat = toSeconds(store.clock.now());
  const exp = iat + Number(jwt.payload['exp']) - Number(jwt.payload['iat']);
  jwt.payload = { iss, aud, sub, client_id, gid: token.grantId, iat, exp, jti };
  await insertToken(store.db, store.clock.now(), {
    digest: digest(String(jti)),
    kind: 'access',
    grantId: token.grantId ?? '',
    clientId: token.clientId ?? '',
    expiresAt: exp * SECOND,
  });
}

/** Its one-time mark is kept until it expires, so it may not live for ever (RFC 7523 section 3). */
function assertShortLived(store: Store, claims: Record<string, unknown>): void {
  const left = Number(claims['exp']) - toSeconds(store.clock.now());
  if (left <= LONGEST_ASSERTION_SECONDS) return;
  throw new errors.InvalidClientAuth('client assertion lives for more than a day');
}

/** What the request that the provider is serving says about who sent it. */
function currentCaller(): { address: string | undefined; showsAssertion: boolean } {
  const ctx = Provider.ctx;
  const body = ctx?.oidc.body;
  return { address: ctx?.ip, showsAssertion: body?.['client_assertion'] !== undefined };
}

function untilGrantEnds(ctx: KoaContextWithOIDC, store: Store, seconds: number): number {
  const end = ctx.oidc.entities.Grant?.exp;
  const left = end === undefined ? seconds : end - toSeconds(store.clock.now());
  return Math.max(1, Math.min(seconds, left));
}

function replaceComparisons(provider: Provider, schemes: readonly string[]): void {
  const prototype = provider.Client.prototype as unknown as {
    clientSecret?: string;
    redirectUris?: string[];
    compareClientSecret(actual: string): boolean;
    redirectUriAllowed(uri: string): boolean;
  };
  prototype.compareClientSecret = function compare(actual) {
    return secretMatches(this.clientSecret, actual);
  };
  prototype.redirectUriAllowed = function allowed(uri) {
    return (
      redirectUriProblem(uri, schemes) === undefined &&
      redirectUriMatches(this.redirectUris ?? [], uri)
    );
  };
}

/** The list is changed in place when keys rotate: the provider holds on to it. */
function cookieKeys(keys: KeyRing): string[] {
  const list: string[] = [];
  const fill = (): void => {
    list.splice(
      0,
      list.length,
      ...keys.deriveAll('cookies').map((key) => key.toString('base64url')),
    );
  };
  fill();
  keys.onChange(fill);
  return list;
}

function forwardErrors(provider: Provider, emit: Emit): void {
  const report =
    (endpoint: string) => (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
      const carried = error instanceof CarriedError ? error.carried : undefined;
      const retryAfter = carried && toHttpError(carried).retryAfterSeconds;
      if (retryAfter !== undefined) ctx.set('retry-after', String(retryAfter));
      if (carried?.code === 'store_unavailable') {
        emit({ type: 'server.error', where: 'oauth', message: carried.message });
        return;
      }
      // Only the code and its reason: the context holds tokens.
      emit({ type: 'oauth.error', endpoint, error: error.message, reason: error.error_detail });
    };
  provider.on('authorization.error', report('authorize'));
  provider.on('grant.error', report('token'));
  provider.on('revocation.error', report('revoke'));
  provider.on('server_error', (_ctx, error) => {
    emit({ type: 'server.error', where: 'oauth', message: error.message, stack: error.stack });
  });
}

/** The provider wants an asymmetric key for ID tokens. None are issued and it is never published. */
function unusedKey(): Record<string, string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    ...(privateKey.export({ format: 'jwk' }) as Record<string, string>),
    use: 'sig',
    alg: 'ES256',
  };
}
