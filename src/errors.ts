import { fileURLToPath } from 'node:url';

/** Every failure that this project raises on purpose. The code decides how a surface answers it. */
export type ErrorCode =
  | 'config_invalid'
  | 'roles_invalid'
  | 'keys_unsafe'
  | 'keys_invalid'
  | 'state_too_new'
  | 'state_outdated'
  | 'store_unavailable'
  | 'port_in_use'
  | 'usage'
  | 'not_found'
  | 'nothing_matched'
  | 'conflict'
  | 'invalid_input'
  | 'body_too_large'
  | 'body_not_form'
  | 'body_not_json'
  | 'body_incomplete'
  | 'forbidden'
  | 'expired'
  | 'too_many_requests'
  | 'login_unavailable'
  | 'client_metadata_invalid'
  | 'client_blocked'
  | 'client_document_unreachable'
  | 'client_document_invalid'
  | 'invalid_target'
  | 'internal';

interface AppErrorOptions {
  /** Facts for the log or the person, never a secret. */
  detail?: Record<string, unknown> | undefined;
  /** What to do next, as one sentence for a person at a terminal. */
  hint?: string | undefined;
  cause?: unknown;
}

/** The one error class. `message` is a sentence that may be shown to a person. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly detail: Record<string, unknown>;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.detail = options.detail ?? {};
    this.hint = options.hint;
  }
}

/** The `code` property that Node and drivers put on their errors, when there is one. */
export function systemCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/**
 * What an import threw, as a sentence; of a syntax error also where it is, as `file:line`. Node puts
 * that in a line of its own above the stack, and for some syntax errors of plain JavaScript nowhere.
 */
export function importProblem(error: unknown): string {
  const stack = error instanceof SyntaxError ? error.stack : undefined;
  const place = /^(?!SyntaxError\b)(.+?)(?:\?castellan=[^:]*)?:(\d+)\n/.exec(stack ?? '');
  if (place === null) return messageOf(error);
  const [, path = '', line = ''] = place;
  const file = path.startsWith('file:') ? fileURLToPath(path) : path;
  return `${messageOf(error)} (${file}:${line})`;
}

/** A sentence about any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
