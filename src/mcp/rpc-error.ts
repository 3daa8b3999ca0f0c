import { AppError } from '#src/errors.ts';

/** What goes wrong on the way to a tool, as JSON-RPC and HTTP have it. */
export interface RpcFailure {
  status: number;
  code: number;
  message: string;
  data?: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** JSON-RPC 2.0 codes, and those of the MCP specification (2026-07-28). */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
  unauthorized: -32001,
  forbidden: -32003,
  unavailable: -32000,
} as const;

const INTERNAL: RpcFailure = { status: 500, code: RPC.internalError, message: 'Internal error' };
const RETRY_AFTER_SECONDS = '5';

/** A thrown value as a failure; what is not ours to show becomes an internal error. */
export function toRpcFailure(error: unknown): RpcFailure {
  if (!(error instanceof AppError)) return INTERNAL;
  const { message } = error;
  switch (error.code) {
    case 'body_too_large':
      return { status: 413, code: RPC.invalidRequest, message };
    case 'body_not_json':
      return { status: 415, code: RPC.invalidRequest, message };
    case 'body_incomplete':
      return { status: 400, code: RPC.invalidRequest, message };
    case 'too_many_requests':
      return {
        status: 503,
        code: RPC.unavailable,
        message,
        headers: {
          'retry-after': RETRY_AFTER_SECONDS,
        },
      };
    case 'store_unavailable':
      return {
        status: 503,
        code: RPC.unavailable,
        message: 'Service unavailable, try again shortly',
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
      };
    case 'config_invalid':
    case 'roles_invalid':
    case 'keys_unsafe':
    case 'keys_invalid':
    case 'state_too_new':
    case 'state_outdated':
    case 'port_in_use':
    case 'usage':
    case 'not_found':
    case 'nothing_matched':
    case 'conflict':
    case 'invalid_input':
    case 'body_not_form':
    case 'forbidden':
    case 'expired':
    case 'client_metadata_invalid':
    case 'client_blocked':
    case 'login_unavailable':
    case 'client_document_unreachable':
    case 'client_document_invalid':
    case 'invalid_target':
    case 'internal':
      return INTERNAL;
  }
}
