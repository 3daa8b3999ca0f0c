import type Router from '@koa/router';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { Access } from '#src/access/access.ts';
import type { Config } from '#src/config.ts';
import type { AccessTokenVerifier } from '#src/credentials/access-token.ts';
import type { TokenInspector } from '#src/credentials/authenticate.ts';
import type { KeyRing } from '#src/credentials/key-ring.ts';
import type { Emit } from '#src/events.ts';
import type { Caller } from '#src/http/caller.ts';
import type { Renderer } from '#src/http/render.ts';
import type { Store } from '#src/storage/open.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';
import { rememberedGrant, type ConsentParts } from './consent.ts';
import { showError, type ErrorPageParts } from './error-page.ts';
import { createDocumentCache } from './document-cache.ts';
import { createFormGuard } from './form-guard.ts';
import { createInteractions } from './interactions.ts';
import { createDocumentReader, type DocumentReader } from './metadata-document.ts';
import type { FetchPorts } from './pinned-fetch.ts';
import { createProvider } from './provider.ts';
import { createOAuthRouter } from './routes.ts';
import type { ServerUrls } from './urls.ts';

/*
 * The OAuth 2.1 authorization server. Owns logins, consent, codes and tokens; oidc-provider does the
 * protocol and is known only in this folder. Does not know MCP or what a tool does. Called by the
 * composition root, which mounts its router.
 */

export interface AuthorizationServerParts {
  config: Config;
  urls: ServerUrls;
  name: string;
  store: Store;
  keys: KeyRing;
  verifier: AccessTokenVerifier;
  inspector: TokenInspector;
  renderer: Renderer;
  tools: () => ToolSet;
  access: () => Access;
  emit: Emit;
  fetchPorts: FetchPorts;
  callerOf: (ctx: Context) => Caller;
}

export interface AuthorizationServer {
  router: Router;
  /** Signs the cookies of the outer application as the provider does; changes in place. */
  cookieKeys: string[];
}

export function createAuthorizationServer(parts: AuthorizationServerParts): AuthorizationServer {
  const { config, urls, store, keys, renderer, emit, access } = parts;
  const documents = createDocumentReader({
    cache: createDocumentCache({ store, ports: parts.fetchPorts, emit }),
    config: config.oauth,
  });
  const consent: ConsentParts = {
    store,
    documents,
    access,
    tools: parts.tools,
    config: config.oauth,
    emit,
  };
  const errorPage = {
    renderer,
    registrationEndpoint: config.oauth.dynamicRegistration ? `${urls.oauth}/register` : undefined,
    now: () => store.clock.now(),
  };
  const provider = createProvider({
    config,
    urls,
    store,
    keys,
    documents,
    access,
    emit,
    rememberedGrant: (ctx) => rememberedGrant(consent, ctx),
    renderError: (ctx, error) => showError(errorPage, ctx, error),
  });
  const router = createRouter(parts, { documents, consent, errorPage, provider });
  return { router, cookieKeys: provider.keys as string[] };
}

/** What the pages and the endpoints share. */
interface Shared {
  documents: DocumentReader;
  consent: ConsentParts;
  errorPage: ErrorPageParts;
  provider: Provider;
}

function createRouter(parts: AuthorizationServerParts, shared: Shared): Router {
  const { config, urls, store, keys, renderer, emit } = parts;
  const { documents, consent, errorPage, provider } = shared;
  const privileges = (): ReadonlySet<string> => parts.access().privilegeNames;
  const interactions = createInteractions({
    provider,
    renderer,
    guard: createFormGuard(keys, urls.origin),
    login: { store, config: config.login, privileges, emit },
    consent,
  });
  return createOAuthRouter({
    provider,
    urls,
    name: parts.name,
    store,
    verifier: parts.verifier,
    inspector: parts.inspector,
    interactions,
    registration: { store, config: config.oauth, emit, privileges },
    documents,
    donePage: { renderer, consent },
    errorPage,
    privileges,
    callerOf: parts.callerOf,
    emit,
  });
}
