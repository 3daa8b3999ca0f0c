import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { compileAccess } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';
import type { Authentication, Authenticator, Denial } from '#src/credentials/authenticate.ts';
import type { Principal } from '#src/credentials/principal.ts';
import type { Event } from '#src/events.ts';
import { AtOnce } from '#src/limits/at-once.ts';
import { BodyBudget } from '#src/http/body.ts';
import { createCallerReader, type Caller } from '#src/http/caller.ts';
import type { AccessSessionId, ClientId, GrantId, UserId } from '#src/ids.ts';
import { createMcpEndpoint, type EndpointParts } from '#src/mcp/endpoint.ts';
import { tool, type Tool } from '#src/tools/define.ts';
import { compileTool, toolSet } from '#src/tools/tool-set.ts';
import { listening, type Listening } from '../http/listening.ts';
import { TestClock } from '../support/stores.ts';

/** The endpoint on a real port, with tools and callers that the test chooses. */

export const METADATA = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp';
export const VERSION = '2026-07-28';

export const ACCESS = compileAccess(
  rolesSchema.parse({
    privileges: [{ privilege: 'reader' }, { privilege: 'writer' }, { privilege: 'admin' }],
    permissions: {
      allowed: [
        { applyTo: 'echo', type: 'tool', execute: ['reader'] },
        { applyTo: 'change', type: 'tool', execute: ['writer'] },
        { applyTo: 'wipe', type: 'tool', execute: ['admin'] },
      ],
    },
  }),
);

/** Who sends `Bearer good`: may read, could be allowed to write, is no administrator. */
export const ANNA: Principal = {
  user: { id: 'usr_1' as UserId, name: 'anna', roles: ['clerk'] },
  client: { id: 'cli_1' as ClientId, name: 'App' },
  grantId: 'gr_1' as GrantId,
  granted: ['reader'],
  effective: new Set(['reader']),
  attainable: new Set(['reader', 'writer']),
  session: { id: 'acs_1' as AccessSessionId, isOpen: true, expiresAt: Number.MAX_SAFE_INTEGER },
};

const SESSION = 'acs_1' as AccessSessionId;
const NO_STORAGE = {
  get: () => assert.fail('nothing is kept'),
  set: () => assert.fail('nothing is kept'),
  delete: () => assert.fail('nothing is kept'),
};

/** Knows one credential; every other one has expired. Its grant counts unless `recheck` says otherwise. */
export function authenticatorFor(
  principal: Principal,
  recheck: () => Promise<Denial | undefined> = async () => undefined,
): Authenticator {
  return {
    looksGenuine: async (authorization) => authorization === 'Bearer good',
    async authenticate(authorization): Promise<Authentication> {
      if (authorization === 'Bearer good')
        return { ok: true, principal, recheck, reread: async () => principal };
      return authorization === undefined
        ? { ok: false, reason: 'no_credential', credentialSent: false }
        : { ok: false, reason: 'expired', credentialSent: true };
    },
  };
}

const echo = tool({
  name: 'echo',
  description: 'Use it to hear what you said.',
  input: z.object({ text: z.string().optional() }),
  run: ({ text: said }) => said ?? 'nothing',
});

/** Three tools that nobody but the right caller sees. */
export const TOOLS: readonly Tool[] = [
  echo,
  ...['change', 'wipe'].map((name) =>
    tool({ name, input: z.object({}), run: () => assert.fail(`${name} ran`) }),
  ),
];

type Rules = EndpointParts['rules'];

export interface ServerOptions {
  rules?: Partial<Rules>;
  tools?: readonly Tool[];
  access?: typeof ACCESS;
  authenticator?: Authenticator;
  acceptBareRequests?: boolean;
  maxBodyBytes?: number;
  budgets?: Partial<EndpointParts['budgets']>;
  metadataUrl?: string | undefined;
  isDeveloping?: boolean;
  instructions?: string;
  /** What the proxy in front would say of every caller. */
  caller?: Caller;
  /** Shown every answer before it is written. */
  onResponse?: (response: ServerResponse) => void;
  /** Told every event when it comes. */
  onEvent?: (event: Event) => void;
}

export interface McpServer extends Listening {
  events: Event[];
  send(request: Sent): Promise<Answer>;
}

export async function mcpServer(options: ServerOptions = {}): Promise<McpServer> {
  const events: Event[] = [];
  const emit = (event: Event): void => {
    events.push(event);
    options.onEvent?.(event);
  };
  const endpoint = createMcpEndpoint(partsOf(options, emit));
  const readCaller = createCallerReader([]);
  const server = await listening((request, response) => {
    options.onResponse?.(response);
    void endpoint(request, response, options.caller ?? readCaller(request));
  });
  return Object.assign(server, { events, send: (one: Sent) => send(server.port, one) });
}

function partsOf(options: ServerOptions, emit: EndpointParts['emit']): EndpointParts {
  const compiled = (options.tools ?? TOOLS).map((one) => {
    const result = compileTool(one);
    assert.ok('compiled' in result, JSON.stringify(result));
    return result.compiled;
  });
  const set = toolSet(compiled, false);
  const access = () => options.access ?? ACCESS;
  const { instructions = '', isDeveloping = false } = options;
  return {
    rules: {
      isEnabled: () => true,
      allowInsecureHttp: false,
      allowedHosts: new Set(['mcp.example.com', 'other.example:8443']),
      allowedOrigins: new Set(['https://mcp.example.com']),
      allowLoopback: true,
      ...options.rules,
    },
    maxBodyBytes: options.maxBodyBytes ?? 10_000,
    budgets: {
      strangers: options.budgets?.strangers ?? new BodyBudget(64_000_000),
      callers: options.budgets?.callers ?? new BodyBudget(64_000_000),
    },
    acceptBareRequests: options.acceptBareRequests ?? false,
    authenticator: options.authenticator ?? authenticatorFor(ANNA),
    modern: {
      identity: { name: 'Test house', version: '1.2.3', instructions },
      metadataUrl: 'metadataUrl' in options ? options.metadataUrl : METADATA,
      access,
      invoke: { tools: () => set, access, clock: new TestClock(), emit },
      get binaries(): never {
        return assert.fail('bytes were returned');
      },
      closing: new AbortController().signal,
      streams: new AtOnce(100),
      ask: {
        // Whoever asks starts a whole server, with a store: ask.test.ts.
        codec: { seal: () => assert.fail(), unseal: () => 'altered' },
        spend: () => assert.fail(),
      },
      isDeveloping,
    },
    seats: {
      admit: async () => ({
        ok: true,
        session: SESSION,
        storage: NO_STORAGE,
        charge: async () => undefined,
      }),
    },
    sessions: {
      // Whoever opens sessions starts a whole server, with a store: session.test.ts.
      get store(): never {
        return assert.fail('a session was asked for');
      },
      idleMs: 300_000,
      get methods(): never {
        return assert.fail('a session was asked for');
      },
    },
    emit,
  };
}

/** One HTTP request, as it goes out. */
export interface Sent {
  method?: string;
  /** undefined leaves out a header that would be there. */
  headers?: Record<string, string | string[] | undefined>;
  body?: string | Buffer;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON, or an empty object. */
  json: {
    id?: unknown;
    result?: Result;
    error?: { code: number; message: string; data?: unknown };
  };
}

export type Result = Record<string, unknown>;

async function send(port: number, { method = 'POST', headers = {}, body }: Sent): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method,
    headers: Object.fromEntries(given),
  });
  request.once('error', reject);
  request.once('response', (response) => {
    text(response).then((read) => {
      const isJson = response.headers['content-type'] === 'application/json';
      const json = (isJson ? JSON.parse(read) : {}) as Answer['json'];
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: read, json });
    }, reject);
  });
  request.end(body);
  return promise;
}

const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
};

export interface Wishes {
  id?: unknown;
  /** Laid over the `_meta` that a good request has; undefined takes a field out. */
  meta?: Record<string, unknown>;
  headers?: Sent['headers'];
  /** Laid over the whole message. */
  message?: Record<string, unknown>;
}

/** A good request of the modern era, but for what the test wishes. */
export function modern(method: string, params: object = {}, wishes: Wishes = {}): Sent {
  const name = 'name' in params ? String(params.name) : undefined;
  const message = {
    jsonrpc: '2.0',
    id: 'id' in wishes ? wishes.id : 1,
    method,
    params: { ...params, _meta: { ...META, ...wishes.meta } },
    ...wishes.message,
  };
  return {
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer good',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      'mcp-name': name,
      ...wishes.headers,
    },
    body: JSON.stringify(message),
  };
}

/** A call of `echo`, which a good answer repeats. */
export const echoCall = (wishes: Wishes = {}): Sent =>
  modern('tools/call', { name: 'echo', arguments: { text: 'hi' } }, wishes);
