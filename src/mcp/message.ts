import { RPC, type RpcFailure } from './rpc-error.ts';

/** JSON-RPC messages as they come in. */

export type RequestIdValue = string | number;

export interface RpcRequest {
  id: RequestIdValue;
  method: string;
  params: Record<string, unknown>;
}

export type Message =
  | { kind: 'request'; request: RpcRequest }
  | { kind: 'notification'; method: string; params: Record<string, unknown> }
  /** To a request of ours; only sessions have them. */
  | { kind: 'response'; id: RequestIdValue; result: unknown }
  | { kind: 'invalid'; failure: RpcFailure };

/** What one body holds. Only one revision has batches. */
export type Incoming = Message | { kind: 'batch'; messages: Message[] };

const MAX_METHOD_LENGTH = 128;
const MAX_ID_LENGTH = 256;

const MOST_IN_BATCH = 50;
/** Far deeper than honest messages; whoever walks a value that is nested without end overflows. */
const MOST_LEVELS = 200;

/** Reads a body's text. */
export function readIncoming(text: string | undefined): Incoming {
  let value: unknown;
  try {
    if (text === undefined) throw new SyntaxError('not UTF-8');
    value = JSON.parse(text);
  } catch {
    return invalid(RPC.parseError, 'Parse error');
  }
  if (isDeeper(text, MOST_LEVELS))
    return invalid(
      RPC.invalidRequest,
      `Invalid Request: it is nested deeper than ${MOST_LEVELS} levels`,
    );
  if (!Array.isArray(value)) return readMessage(value);
  if (value.length === 0 || value.length > MOST_IN_BATCH)
    return invalid(
      RPC.invalidRequest,
      `Invalid Request: a batch has 1 to ${MOST_IN_BATCH} messages`,
    );
  return { kind: 'batch', messages: value.map(readMessage) };
}

/** Whether JSON is nested deeper than this: how many brackets are open at once, outside of its texts. */
function isDeeper(json: string, levels: number): boolean {
  // Too short for so many brackets, as most messages are.
  if (json.length <= 2 * levels) return false;
  let open = 0;
  let isText = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (isText) {
      if (character === '\\') at += 1;
      else if (character === '"') isText = false;
    } else if (character === '"') isText = true;
    else if (character === '{' || character === '[') open += 1;
    else if (character === '}' || character === ']') open -= 1;
    if (open > levels) return true;
  }
  return false;
}

/** What a body that is no request is answered outside of a session. */
export function notOneRequest(): RpcFailure {
  const message = 'Invalid Request: one JSON-RPC request or notification is expected';
  return { status: 400, code: RPC.invalidRequest, message };
}

function readMessage(value: unknown): Message {
  if (!isObject(value))
    return invalid(RPC.invalidRequest, 'Invalid Request: one JSON-RPC message is expected');
  const { jsonrpc, method, params, id } = value;
  if (jsonrpc === '2.0' && method === undefined && isRequestId(id) && isAnswer(value))
    return { kind: 'response', id, result: value['result'] };
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method.length > MAX_METHOD_LENGTH) {
    return invalid(
      RPC.invalidRequest,
      'Invalid Request: a JSON-RPC 2.0 request with a method is expected',
    );
  }
  if (params !== undefined && !isObject(params)) {
    return invalid(RPC.invalidRequest, 'Invalid Request: params is an object');
  }
  if (!Object.hasOwn(value, 'id')) return { kind: 'notification', method, params: params ?? {} };
  if (!isRequestId(id))
    return invalid(RPC.invalidRequest, 'Invalid Request: id is a string or an integer');
  return { kind: 'request', request: { id, method, params: params ?? {} } };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isRequestId(value: unknown): value is RequestIdValue {
  return typeof value === 'string' ? value.length <= MAX_ID_LENGTH : Number.isSafeInteger(value);
}

function isAnswer(value: Record<string, unknown>): boolean {
  return Object.hasOwn(value, 'result') !== Object.hasOwn(value, 'error');
}

function invalid(code: number, message: string): Extract<Message, { kind: 'invalid' }> {
  return { kind: 'invalid', failure: { status: 400, code, message } };
}
