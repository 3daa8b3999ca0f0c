import type { AppError } from '#src/errors.ts';

/** The one place where our error codes become HTTP. Exhaustive: a new code must say what it is here. */
export interface HttpError {
  status: number;
  /** The OAuth or RFC 7807-like code that clients read. */
  error: string;
  /** Shown as it is; undefined when it is nobody's business. */
  description: string | undefined;
  retryAfterSeconds: number | undefined;
}

const RETRY_SECONDS = 5;
const DOCUMENT_RETRY_SECONDS = 60;

export function toHttpError(error: AppError): HttpError {
  const answer = (status: number, code: string, retryAfterSeconds?: number): HttpError => ({
    status,
    error: code,
    description: error.message,
    retryAfterSeconds,
  });
  switch (error.code) {
    case 'invalid_input':
    case 'usage':
    case 'conflict':
      return answer(400, 'invalid_request');
    case 'body_too_large':
      return answer(413, 'invalid_request');
    case 'body_not_form':
    case 'body_not_json':
    case 'body_incomplete':
      return answer(400, 'invalid_request');
    case 'client_metadata_invalid': {
      const code = error.detail['error'];
      return answer(400, typeof code === 'string' ? code : 'invalid_client_metadata');
    }
    case 'client_blocked':
      return answer(403, 'invalid_client');
    case 'client_document_invalid':
      return answer(400, 'invalid_client');
    case 'client_document_unreachable':
      return answer(503, 'temporarily_unavailable', DOCUMENT_RETRY_SECONDS);
    case 'login_unavailable':
      return answer(503, 'temporarily_unavailable', RETRY_SECONDS);
    case 'invalid_target':
      return answer(400, 'invalid_target');
    case 'forbidden':
    case 'nothing_matched':
      return answer(403, 'access_denied');
    case 'expired':
      return answer(400, 'invalid_request');
    case 'too_many_requests':
      return answer(
        429,
        'too_many_requests',
        Number(error.detail['retryAfterSeconds']) || undefined,
      );
    case 'not_found':
      return answer(404, 'not_found');
    case 'store_unavailable':
      return {
        ...answer(503, 'temporarily_unavailable', RETRY_SECONDS),
        description: 'Try again shortly',
      };
    case 'config_invalid':
    case 'roles_invalid':
    case 'keys_unsafe':
    case 'keys_invalid':
    case 'state_too_new':
    case 'state_outdated':
    case 'port_in_use':
    case 'internal':
      return {
        status: 500,
        error: 'server_error',
        description: undefined,
        retryAfterSeconds: undefined,
      };
  }
}
