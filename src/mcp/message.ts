import { RPC, type RpcFailure } from './rpc-error.ts';

/** JSON-RPC messages as they come in: one request or one notification. */

export type RequestIdValue = string | number;

export interface RpcRequest {
  id: RequestIdValue;
  method: string;
  params: Record<string, unknown>;
}

export type Incoming =
  | { kind: 'request'; request: RpcRequest }
  | { kind: 'notification'; method: string }
  | { kind: 'invalid'; failure: RpcFailure };

const MAX_METHOD_LENGTH = 128;
const MAX_ID_LENGTH = 256;

/** Reads one message out of a body's text. Batches and responses are not served. */
export function readMessage(text: string | undefined): Incoming {
  let value: unknown;
  try {
    if (text === undefined) throw new SyntaxError('not UTF-8');
    value = JSON.parse(text);
  } catch {
    return invalid(RPC.parseError, 'Parse error');
  }
  if (!isObject(value))
    return invalid(RPC.invalidRequest, 'Invalid Request: one JSON-RPC message is expected');
  const { jsonrpc, method, params, id } = value;
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method.length > MAX_METHOD_LENGTH) {
    return invalid(
      RPC.invalidRequest,
      'Invalid Request: a JSON-RPC 2.0 request with a method is expected',
    );
  }
  if (params !== undefined && !isObject(params)) {
    return invalid(RPC.invalidRequest, 'Invalid Request: params is an object');
  }
  if (!Object.hasOwn(value, 'id')) return { kind: 'notification', method };
  if (!isRequestId(id))
    return invalid(RPC.invalidRequest, 'Invalid Request: id is a string or an integer');
  return { kind: 'request', request: { id, method, params: params ?? {} } };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRequestId(value: unknown): value is RequestIdValue {
  return typeof value === 'string' ? value.length <= MAX_ID_LENGTH : Number.isSafeInteger(value);
}

function invalid(code: number, message: string): Incoming {
  return { kind: 'invalid', failure: { status: 400, code, message } };
}
