import type { IncomingHttpHeaders } from 'node:http';
import { decodeText } from '#src/http/body.ts';
import { decodeBase64 } from '#src/tools/base64.ts';
import { isObject, type RpcRequest } from './message.ts';
import { RPC, type RpcFailure } from './rpc-error.ts';

/*
 * The envelope of the modern era (2026-07-28): `_meta` in the body, the same facts in headers. The
 * headers are what proxies route by, so they must say what the body says.
 */

export const MODERN_VERSION = '2026-07-28';
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

const METHODS = new Set(['server/discover', 'tools/list', 'tools/call', 'subscriptions/listen']);
/** Which parameter names the target of a method, and so stands in `Mcp-Name` too. */
const NAME_PARAMETER = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** Names of revisions are dates, so that later ones sort after earlier ones. */
const REVISION = /^\d{4}-\d{2}-\d{2}$/;

export type Era = 'modern' | 'session' | 'bare' | 'unknown';

/**
 * Which era a request speaks. `initialize` without `_meta` opens a session, whatever its header says.
 * A bare request has no mark of any era.
 */
export function eraOf(request: RpcRequest, headers: IncomingHttpHeaders): Era {
  if (headers['mcp-session-id'] !== undefined) return 'session';
  if (!isBare(request)) return 'modern';
  if (request.method === 'initialize') return 'session';
  const version = header(headers, 'mcp-protocol-version');
  if (version === undefined) return 'bare';
  return REVISION.test(version) && version >= MODERN_VERSION ? 'modern' : 'unknown';
}

/**
 * The first thing wrong with the envelope of a modern request, or undefined.
 * @param acceptBare serve requests without `_meta`, and `ping`.
 */
export function envelopeProblem(
  request: RpcRequest,
  headers: IncomingHttpHeaders,
  acceptBare: boolean,
): RpcFailure | undefined {
  // What a bare request says in headers counts all the same; what it leaves out does not.
  const bare = acceptBare && isBare(request);
  if (!bare) {
    const incomplete = metaProblem(request, headers);
    if (incomplete !== undefined) return incomplete;
  }
  const different = headerThatDiffers(request, headers, bare);
  if (different !== undefined) return headerMismatch(different);
  const version = header(headers, 'mcp-protocol-version') ?? MODERN_VERSION;
  if (version !== MODERN_VERSION) return unsupportedVersion(version);
  const isServed = METHODS.has(request.method) || (acceptBare && request.method === 'ping');
  return isServed ? undefined : methodNotFound(request.method);
}

/** -32022 with what is supported and what was asked for. */
function unsupportedVersion(requested: unknown): RpcFailure {
  const asked = typeof requested === 'string' ? requested.slice(0, 64) : null;
  return {
    status: 400,
    code: RPC.unsupportedVersion,
    message: `Unsupported protocol version; this server speaks ${MODERN_VERSION}`,
    data: { supported: [MODERN_VERSION], requested: asked },
  };
}

/** -32020 for a request that belongs to no era. */
export function noEra(): RpcFailure {
  return {
    status: 400,
    code: RPC.headerMismatch,
    message: `Send MCP-Protocol-Version: ${MODERN_VERSION} with _meta, or open a session with initialize`,
  };
}

/** A header value, decoded from `=?base64?...?=` where it says so; undefined when that is broken. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!(value.startsWith('=?base64?') && value.endsWith('?='))) return value;
  const bytes = decodeBase64(value.slice('=?base64?'.length, -'?='.length));
  return bytes === undefined ? undefined : decodeText(bytes);
}

/** Whether a request has no mark of the modern era. */
export function isBare(request: RpcRequest): boolean {
  const meta = request.params['_meta'];
  return !isObject(meta) || !Object.hasOwn(meta, META.protocolVersion);
}

/** What `_meta` lacks, or a version in it that is not the one in the header. */
function metaProblem(request: RpcRequest, headers: IncomingHttpHeaders): RpcFailure | undefined {
  const meta = request.params['_meta'];
  if (!isObject(meta)) return missing(META.protocolVersion);
  const version = meta[META.protocolVersion];
  if (typeof version !== 'string') return missing(META.protocolVersion);
  if (!isObject(meta[META.clientCapabilities])) return missing(META.clientCapabilities);
  return header(headers, 'mcp-protocol-version') === version
    ? undefined
    : headerMismatch('MCP-Protocol-Version');
}

/** The first of the headers by which proxies route that does not say what the body says. */
function headerThatDiffers(
  request: RpcRequest,
  headers: IncomingHttpHeaders,
  mayBeMissing: boolean,
): string | undefined {
  const method = header(headers, 'mcp-method');
  if (method === undefined ? !mayBeMissing : method !== request.method) return 'Mcp-Method';
  const parameter = NAME_PARAMETER.get(request.method);
  if (parameter === undefined) return undefined;
  const value = header(headers, 'mcp-name');
  if (value === undefined) return mayBeMissing ? undefined : 'Mcp-Name';
  const name = decodeHeaderValue(value);
  return name !== undefined && name === request.params[parameter] ? undefined : 'Mcp-Name';
}

function methodNotFound(method: string): RpcFailure {
  return { status: 404, code: RPC.methodNotFound, message: `Method not found: ${method}` };
}

function missing(field: string): RpcFailure {
  return { status: 400, code: RPC.invalidParams, message: `Invalid params: _meta lacks ${field}` };
}

/** -32020 for a header that is missing or does not say what the body says. */
export function headerMismatch(name: string): RpcFailure {
  return {
    status: 400,
    code: RPC.headerMismatch,
    message: `Header mismatch: ${name} is missing or differs from the body`,
  };
}

/** A header without the white space around it. */
export function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return (Array.isArray(value) ? value.join(',') : value)?.trim();
}
