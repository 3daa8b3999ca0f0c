import type { IncomingMessage } from 'node:http';
import { mediaType } from '#src/http/body.ts';
import { isLoopbackHost, type Caller } from '#src/http/caller.ts';
import { isHostServed, type HostRules } from '#src/http/request-target.ts';
import { RPC, type RpcFailure } from './rpc-error.ts';

/*
 * The first rungs of a request's ladder, before its body is read: the way here, Host, method, Origin,
 * content type. The first check that fails answers.
 */

export interface TransportRules extends HostRules {
  /** Whether the endpoint is there now. */
  isEnabled: () => boolean;
  allowInsecureHttp: boolean;
  /** Where loopback hosts are served, loopback origins may call. */
  allowedOrigins: ReadonlySet<string>;
}

export type TransportDecision =
  | { kind: 'pass' }
  /** No body is read: the stream of a session, or its end. */
  | { kind: 'session'; method: 'GET' | 'DELETE' }
  | { kind: 'preflight' }
  /** Answered without a body. */
  | { kind: 'refuse'; status: 404 | 405; headers?: Record<string, string> }
  | { kind: 'failure'; failure: RpcFailure };

const METHODS = 'POST';
const SESSION_METHODS = 'POST, GET, DELETE';
const MAX_HEADER_LIST = 500;

/** Decides whether the body of this request will be read. */
export function decideTransport(
  rules: TransportRules,
  request: IncomingMessage,
  caller: Caller,
): TransportDecision {
  if (!rules.isEnabled() || !(caller.isSafe || rules.allowInsecureHttp))
    return { kind: 'refuse', status: 404 };
  if (!isHostServed(rules, request)) return forbidden('Host');
  if (request.method === 'OPTIONS') return { kind: 'preflight' };
  const { method, headers } = request;
  const isOfSession =
    (method === 'GET' || method === 'DELETE') && headers['mcp-session-id'] !== undefined;
  if (method !== 'POST' && !isOfSession)
    return { kind: 'refuse', status: 405, headers: { allow: METHODS } };
  if (!originAllowed(rules, headers.origin)) return forbidden('Origin');
  if (isOfSession) return { kind: 'session', method };
  if (mediaType(request) !== 'application/json') {
    const message = 'The body must be application/json';
    return { kind: 'failure', failure: { status: 415, code: RPC.invalidRequest, message } };
  }
  return { kind: 'pass' };
}

/** CORS headers for a browser client whose origin is allowed; none for the others. */
export function corsHeaders(
  rules: TransportRules,
  request: IncomingMessage,
): Record<string, string> {
  const { origin } = request.headers;
  if (origin === undefined || !originAllowed(rules, origin)) return {};
  const headers: Record<string, string> = {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate, X-Request-Id, Retry-After, Mcp-Session-Id',
    vary: 'Origin',
  };
  if (request.method !== 'OPTIONS') return headers;
  const asked = request.headers['access-control-request-headers'] ?? '';
  return {
    ...headers,
    'access-control-allow-methods': SESSION_METHODS,
    'access-control-allow-headers': safeHeaderList(asked),
    'access-control-max-age': '3600',
  };
}

function originAllowed(rules: TransportRules, origin: string | undefined): boolean {
  if (origin === undefined) return true;
  if (rules.allowedOrigins.has(origin)) return true;
  const parsed = URL.parse(origin);
  if (parsed === null || parsed.origin !== origin) return false;
  return rules.allowLoopback && isLoopbackHost(parsed.hostname);
}

function forbidden(what: 'Host' | 'Origin'): TransportDecision {
  const message = `Forbidden: this ${what} is not served here`;
  return { kind: 'failure', failure: { status: 403, code: RPC.forbidden, message } };
}

/** The asked-for header names, when they are nothing but names. */
function safeHeaderList(asked: string): string {
  return asked.length <= MAX_HEADER_LIST && /^[A-Za-z0-9-]+(, ?[A-Za-z0-9-]+)*$/.test(asked)
    ? asked
    : 'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id';
}
