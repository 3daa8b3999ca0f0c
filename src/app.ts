import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import Koa from 'koa';
import type { Access } from '#src/access/access.ts';
import type { Config } from './config.ts';
import { AccessTokenVerifier } from '#src/credentials/access-token.ts';
import { createAuthenticator } from '#src/credentials/authenticate.ts';
import type { KeyRing } from '#src/credentials/key-ring.ts';
import { messageOf } from './errors.ts';
import type { Emit } from './events.ts';
import { createCallerReader, isLoopbackHost, type Caller } from '#src/http/caller.ts';
import { createRenderer, type Renderer } from '#src/http/render.ts';
import { createSiteRouter, notFound, type SiteParts } from '#src/http/site-routes.ts';
import { createMcpEndpoint, type McpHandler } from '#src/mcp/endpoint.ts';
import { createAuthorizationServer } from '#src/oauth/authorization-server.ts';
import { systemFetchPorts, type FetchPorts } from '#src/oauth/pinned-fetch.ts';
import { serverUrls, type ServerUrls } from '#src/oauth/urls.ts';
import type { Store } from '#src/storage/open.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';

/*
 * The composition root: everything is made here once and handed what it needs. It reads no file and no
 * environment, opens no socket and no store; `serve.ts` does, and tests do it their way.
 */

export interface AppParts {
  config: Config;
  /** The name that people read. */
  name: string;
  /** The public origin, with its port. */
  origin: string;
  keys: KeyRing;
  store: Store;
  tools: () => ToolSet;
  access: () => Access;
  emit: Emit;
  isDeveloping: boolean;
  /** How the outside world is reached; the real one unless a test says otherwise. */
  fetchPorts?: FetchPorts | undefined;
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

const VIEWS = fileURLToPath(new URL('../views', import.meta.url));
/** Probes come from other machines over plain HTTP and learn nothing. */
const HEALTH_PATHS = new Set(['/healthz', '/readyz']);

/** The whole server as one request handler. */
export function createApp(parts: AppParts): RequestHandler {
  const { config, emit } = parts;
  const urls = serverUrls(parts.origin, config.oauth.issuer);
  const verifier = new AccessTokenVerifier({
    ring: parts.keys,
    clock: parts.store.clock,
    issuer: urls.issuer,
    audience: urls.resource,
  });
  const renderer = createRenderer(VIEWS, {
    name: parts.name,
    host: new URL(urls.origin).host,
    mcpUrl: urls.resource,
  });
  const mcp = mcpEndpoint(parts, urls, verifier);
  const site = siteHandler({ parts, urls, verifier, renderer });
  const readCaller = createCallerReader(config.trustedProxies);
  return (request, response) => {
    const caller = readCaller(request);
    const path = pathOf(request);
    if (path === '/mcp' || path === '/mcp/') {
      void mcp(request, response, caller);
      return;
    }
    if (!caller.isSafe && !HEALTH_PATHS.has(path)) {
      // A password or a token must not have come this way; nothing is answered that could invite one.
      emit({
        type: 'http.refused',
        reason: 'plain HTTP',
        address: caller.address,
        path: path.slice(0, 200),
      });
      response.writeHead(404, { 'content-length': '0' }).end();
      return;
    }
    site(request, response, caller);
  };
}

function mcpEndpoint(parts: AppParts, urls: ServerUrls, verifier: AccessTokenVerifier): McpHandler {
  const { config, emit, access, tools, store } = parts;
  return createMcpEndpoint({
    rules: {
      enabled: config.mcp.enabled,
      allowInsecureHttp: config.allowInsecureHttp,
      allowedHosts: new Set(lowerCase(config.mcp.allowedHosts ?? [new URL(urls.origin).host])),
      allowedOrigins: new Set(config.mcp.allowedOrigins ?? [urls.origin]),
      allowLoopback: isLoopbackHost(config.listen.host),
    },
    maxBodyBytes: config.mcp.maxBodyBytes,
    acceptBareRequests: config.mcp.acceptBareRequests,
    authenticator: createAuthenticator({ store, verifier, access }),
    modern: {
      identity: {
        name: parts.name,
        version: config.server.version,
        instructions: config.server.instructions,
      },
      metadataUrl: config.oauth.enabled ? urls.resourceMetadata : undefined,
      access,
      invoke: { tools, access, clock: store.clock, emit },
      isDeveloping: parts.isDeveloping,
    },
    emit,
  });
}

interface SiteOptions {
  parts: AppParts;
  urls: ServerUrls;
  verifier: AccessTokenVerifier;
  renderer: Renderer;
}

/** Everything but `/mcp`, on Koa. */
function siteHandler({ parts, urls, verifier, renderer }: SiteOptions) {
  const { config, store, emit } = parts;
  const callers = new WeakMap<IncomingMessage, Caller>();
  const site: SiteParts = {
    renderer,
    toolCount: () => parts.tools().sorted.length,
    mcpEnabled: config.mcp.enabled,
    isReady: () => isReady(store),
  };
  const app = new Koa({ proxy: true });
  app.silent = true;
  app.on('error', (error: unknown) =>
    emit({ type: 'server.error', where: 'http', message: messageOf(error) }),
  );
  app.use(async (ctx, next) => {
    ctx.state['requestId'] = randomBytes(8).toString('hex');
    ctx.set('x-request-id', ctx.state['requestId']);
    await next();
    if (ctx.status === 404 && ctx.body === undefined) notFound(site, ctx);
  });
  app.use(createSiteRouter(site).routes());
  if (config.oauth.enabled) {
    const server = createAuthorizationServer({
      config,
      urls,
      name: parts.name,
      store,
      keys: parts.keys,
      verifier,
      renderer,
      tools: parts.tools,
      access: parts.access,
      emit,
      fetchPorts: parts.fetchPorts ?? systemFetchPorts,
      callerOf: (ctx) =>
        callers.get(ctx.req) ??
        callers.get(Object.getPrototypeOf(ctx.req) as IncomingMessage) ??
        UNKNOWN,
    });
    app.keys = server.cookieKeys;
    app.use(server.router.routes());
    app.use(server.router.allowedMethods());
  }
  const handle = app.callback();
  return (request: IncomingMessage, response: ServerResponse, caller: Caller): void => {
    callers.set(request, caller);
    presentAsPublic(request, urls.origin, caller);
    void handle(request, response);
  };
}

const UNKNOWN: Caller = { address: 'unknown', isSafe: false };

/** What was said about forwarding has been judged; from here on only the public URL counts. */
function presentAsPublic(request: IncomingMessage, origin: string, caller: Caller): void {
  const url = new URL(origin);
  for (const name of Object.keys(request.headers)) {
    if (name === 'forwarded' || name.startsWith('x-forwarded-') || name === 'x-real-ip')
      delete request.headers[name];
  }
  request.headers['x-forwarded-for'] = caller.address;
  request.headers['x-forwarded-proto'] = url.protocol.slice(0, -1);
  request.headers['x-forwarded-host'] = url.host;
  request.headers.host = url.host;
}

async function isReady(store: Store): Promise<boolean> {
  try {
    await store.db.selectFrom('schema_version').select('version').executeTakeFirstOrThrow();
    return true;
  } catch {
    return false;
  }
}

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

function lowerCase(values: readonly string[]): string[] {
  return values.map((value) => value.toLowerCase());
}
