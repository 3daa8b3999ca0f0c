import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import Koa from 'koa';
import type { Access } from '#src/access/access.ts';
import type { Config } from './config.ts';
import { AccessTokenVerifier } from '#src/credentials/access-token.ts';
import {
  createAuthenticator,
  type Authenticator,
  type TokenInspector,
} from '#src/credentials/authenticate.ts';
import type { KeyRing } from '#src/credentials/key-ring.ts';
import { SECOND } from './clock.ts';
import { messageOf } from './errors.ts';
import type { Emit } from './events.ts';
import { digest } from '#src/ids.ts';
import { AtOnce } from '#src/limits/at-once.ts';
import { BodyBudget } from '#src/http/body.ts';
import { createCallerReader, isLoopbackHost, type Caller } from '#src/http/caller.ts';
import { isHostServed, normalizeTarget } from '#src/http/request-target.ts';
import { createRenderer, type Renderer } from '#src/http/render.ts';
import { createSiteRouter, notFound, type SiteParts } from '#src/http/site-routes.ts';
import { BINARY_PATH, createBinaryHandler } from '#src/mcp/binaries.ts';
import { createMcpEndpoint, type McpHandler } from '#src/mcp/endpoint.ts';
import { Mailbox } from '#src/mcp/mailbox.ts';
import type { TransportRules } from '#src/mcp/ladder.ts';
import { createRequestStateCodec } from '#src/mcp/request-state.ts';
import { createSeats } from '#src/mcp/seats.ts';
import { McpSwitch } from '#src/mcp/switch.ts';
import { createAuthorizationServer } from '#src/oauth/authorization-server.ts';
import { systemFetchPorts, type FetchPorts } from '#src/oauth/pinned-fetch.ts';
import { serverUrls, type ServerUrls } from '#src/oauth/urls.ts';
import { claimArtifact } from '#src/storage/browser-sessions.ts';
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
  /** Aborted when the server is ending, so that streams which stay open end too. */
  closing?: AbortSignal | undefined;
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

const VIEWS = fileURLToPath(new URL('../views', import.meta.url));
/** Of one person in one client, in this process. */
const STREAMS_AT_ONCE = 16;
const CALLS_AT_ONCE = 64;
const READY_WITHIN_MS = 900;
const MIB = 1024 * 1024;
/** What bodies at /mcp may hold at once, of callers with a token of ours and of everybody else. */
const CALLERS_BODIES_BYTES = 64 * MIB;
const STRANGERS_BODIES_BYTES = 16 * MIB;
/** Probes come from other machines over plain HTTP and learn nothing. */
const HEALTH_PATHS = new Set(['/healthz', '/readyz']);
const MCP_PATHS = new Set(['/mcp', '/mcp/']);
const LONGEST_PATH = 200;

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
  const { store, access } = parts;
  const mcpSwitch = new McpSwitch(store, config.mcp.enabled);
  const rules = transportRules(config, urls, mcpSwitch);
  const authenticator = createAuthenticator({ store, verifier, access });
  const mcp = mcpEndpoint(parts, { urls, authenticator, rules });
  const site = siteHandler({ parts, urls, verifier, inspector: authenticator, renderer, rules });
  const binary = createBinaryHandler({ store, origin: urls.origin, emit });
  const readCaller = createCallerReader(config.trustedProxies);
  return (request, response) => {
    const caller = readCaller(request);
    const refusal = refusalOf(request, caller, rules);
    if (refusal !== undefined) {
      const path = pathOf(request).slice(0, LONGEST_PATH);
      emit({ type: 'http.refused', reason: refusal.reason, address: caller.address, path });
      refuse(response, refusal);
      return;
    }
    const path = pathOf(request);
    if (MCP_PATHS.has(path)) void mcp(request, response, caller);
    else if (path.startsWith(BINARY_PATH)) void binary(request, response);
    else site(request, response, caller);
  };
}

interface Refusal {
  status: 400 | 403 | 404;
  /** For the log. */
  reason: string;
  /** Sent as JSON; without one there is no body. */
  description?: string;
}

/** Why a request reaches neither the endpoint nor the site, or undefined. Brings its target into form. */
function refusalOf(
  request: IncomingMessage,
  caller: Caller,
  rules: TransportRules,
): Refusal | undefined {
  if (!normalizeTarget(request)) {
    const description = 'The request target is not a path or an http(s) URL';
    return { status: 400, reason: 'bad request target', description };
  }
  const path = pathOf(request);
  if (HEALTH_PATHS.has(path)) return undefined;
  const isMcp = MCP_PATHS.has(path);
  // A password or a token must not have come this way; nothing is answered that could invite one.
  if (!caller.isSafe && !(isMcp && rules.allowInsecureHttp))
    return { status: 404, reason: 'plain HTTP' };
  // The endpoint answers another Host in its own words.
  if (isMcp || isHostServed(rules, request)) return undefined;
  return { status: 403, reason: 'Host', description: 'This Host is not served here' };
}

function refuse(response: ServerResponse, { status, description }: Refusal): void {
  if (description === undefined) {
    response.writeHead(status, { 'content-length': '0' }).end();
    return;
  }
  const error = status === 403 ? 'forbidden' : 'invalid_request';
  const text = JSON.stringify({ error, error_description: description });
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

/** Which ways to `/mcp` are served; of them the Host counts for everything else too. */
function transportRules(config: Config, urls: ServerUrls, mcpSwitch: McpSwitch): TransportRules {
  return {
    isEnabled: () => mcpSwitch.isOn,
    allowInsecureHttp: config.allowInsecureHttp,
    allowedHosts: new Set(lowerCase(config.mcp.allowedHosts ?? [new URL(urls.origin).host])),
    allowedOrigins: new Set(config.mcp.allowedOrigins ?? [urls.origin]),
    allowLoopback: isLoopbackHost(config.listen.host),
  };
}

interface McpOptions {
  urls: ServerUrls;
  authenticator: Authenticator;
  rules: TransportRules;
}

function mcpEndpoint(parts: AppParts, { urls, authenticator, rules }: McpOptions): McpHandler {
  const { config, emit, access, tools, store } = parts;
  const { clock, random } = store;
  const { name } = parts;
  const { version, instructions } = config.server;
  const common = {
    identity: { name, version, instructions },
    metadataUrl: config.oauth.enabled ? urls.resourceMetadata : undefined,
    access,
    invoke: { tools, access, clock, emit },
    binaries: { store, origin: urls.origin, emit },
    streams: new AtOnce(STREAMS_AT_ONCE),
    closing: parts.closing ?? new AbortController().signal,
  };
  const mailbox = new Mailbox(store, (error) => {
    emit({ type: 'server.error', where: 'sessions', message: messageOf(error) });
  });
  return createMcpEndpoint({
    rules,
    maxBodyBytes: config.mcp.maxBodyBytes,
    budgets: {
      strangers: new BodyBudget(STRANGERS_BODIES_BYTES),
      callers: new BodyBudget(Math.max(CALLERS_BODIES_BYTES, 2 * config.mcp.maxBodyBytes)),
    },
    acceptBareRequests: config.mcp.acceptBareRequests,
    authenticator,
    seats: createSeats({
      store,
      idleMs: config.mcp.accessSessionIdleSeconds * SECOND,
      seats: config.mcp.maxSessions,
      requestsPerMinute: config.quotas.requestsPerMinutePerSession,
      onSession: config.mcp.onSession,
      emit,
    }),
    modern: {
      ...common,
      ask: {
        codec: createRequestStateCodec({ keys: parts.keys, clock, random }),
        spend: (nonce, expiresAt) =>
          claimArtifact(store.db, { kind: 'ask', digest: digest(nonce), expiresAt }),
      },
      isDeveloping: parts.isDeveloping,
    },
    sessions: {
      store,
      idleMs: config.mcp.protocolSessionIdleSeconds * SECOND,
      methods: { ...common, ask: { mailbox, clock, random }, calls: new AtOnce(CALLS_AT_ONCE) },
    },
    emit,
  });
}

interface SiteOptions {
  rules: TransportRules;
  parts: AppParts;
  urls: ServerUrls;
  verifier: AccessTokenVerifier;
  inspector: TokenInspector;
  renderer: Renderer;
}

/** Everything but `/mcp`, on Koa. */
function siteHandler({ parts, urls, verifier, inspector, renderer, rules }: SiteOptions) {
  const { config, store, emit } = parts;
  const callers = new WeakMap<IncomingMessage, Caller>();
  const site: SiteParts = {
    renderer,
    toolCount: () => parts.tools().sorted.length,
    isMcpEnabled: rules.isEnabled,
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
      inspector,
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

/** Whether the store answers, and soon: a probe that hangs is no answer to who asks. */
async function isReady(store: Store): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), READY_WITHIN_MS);
  const query = store.db.selectFrom('schema_version').select('version').executeTakeFirstOrThrow();
  const answer = query.then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
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
