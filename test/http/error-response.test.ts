import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError, type ErrorCode } from '#src/errors.ts';
import { toHttpError } from '#src/http/error-response.ts';

const TEXT = 'what happened, with /a/path';

describe('our errors in HTTP', () => {
  const cases: Record<ErrorCode, [status: number, error: string, retryAfter?: number]> = {
    invalid_input: [400, 'invalid_request'],
    usage: [400, 'invalid_request'],
    conflict: [400, 'invalid_request'],
    body_too_large: [413, 'invalid_request'],
    body_not_form: [400, 'invalid_request'],
    body_not_json: [400, 'invalid_request'],
    body_incomplete: [400, 'invalid_request'],
    client_metadata_invalid: [400, 'invalid_client_metadata'],
    client_document_invalid: [400, 'invalid_client'],
    client_document_unreachable: [503, 'temporarily_unavailable', 60],
    invalid_target: [400, 'invalid_target'],
    client_blocked: [403, 'invalid_client'],
    forbidden: [403, 'access_denied'],
    nothing_matched: [403, 'access_denied'],
    expired: [400, 'invalid_request'],
    too_many_requests: [429, 'too_many_requests'],
    login_unavailable: [503, 'temporarily_unavailable', 5],
    not_found: [404, 'not_found'],
    store_unavailable: [503, 'temporarily_unavailable', 5],
    config_invalid: [500, 'server_error'],
    roles_invalid: [500, 'server_error'],
    keys_unsafe: [500, 'server_error'],
    keys_invalid: [500, 'server_error'],
    state_too_new: [500, 'server_error'],
    state_outdated: [500, 'server_error'],
    port_in_use: [500, 'server_error'],
    internal: [500, 'server_error'],
  };
  for (const [code, [status, error, retryAfter]] of Object.entries(cases)) {
    it(`${code}: ${status} ${error}`, () => {
      const answer = toHttpError(new AppError(code as ErrorCode, TEXT));
      assert.equal(answer.status, status);
      assert.equal(answer.error, error);
      assert.equal(answer.retryAfterSeconds, retryAfter);
    });
  }

  it('show nothing of what is wrong inside', () => {
    assert.equal(toHttpError(new AppError('internal', TEXT)).description, undefined);
    assert.equal(toHttpError(new AppError('keys_invalid', TEXT)).description, undefined);
    const gone = toHttpError(new AppError('store_unavailable', TEXT)).description;
    assert.equal(gone, 'Try again shortly');
  });

  it('keep the code that registration asked for', () => {
    const detail = { error: 'invalid_redirect_uri' };
    const error = new AppError('client_metadata_invalid', TEXT, { detail });
    assert.equal(toHttpError(error).error, 'invalid_redirect_uri');
  });
});
