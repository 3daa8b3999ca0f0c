import { BASE_SCOPE } from '#src/access/roles.ts';
import type { Principal } from '#src/credentials/principal.ts';
import { RPC, type RpcFailure } from './rpc-error.ts';

/*
 * WWW-Authenticate (RFC 6750, RFC 9728): where to log in, and for what. Only values of our own and
 * names that can be scopes are put into it, so nothing can break out of a quoted string.
 */

/** A scope token (RFC 6749, section 3.3). */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** @param metadataUrl undefined while OAuth is off. */
export function unauthorized(metadataUrl: string | undefined, tokenSent: boolean): RpcFailure {
  const parameters = [
    ...(tokenSent ? ['error="invalid_token"'] : []),
    ...(metadataUrl === undefined ? [] : [`resource_metadata="${metadataUrl}"`]),
    `scope="${BASE_SCOPE}"`,
  ];
  return {
    status: 401,
    code: RPC.unauthorized,
    message: tokenSent ? 'Unauthorized: the token is not valid' : 'Unauthorized: log in first',
    headers: { 'www-authenticate': `Bearer ${parameters.join(', ')}` },
  };
}

/** A wider consent would do: names all that the operation needs beside what the grant has. */
export function insufficientScope(
  metadataUrl: string | undefined,
  principal: Principal,
  missing: readonly string[],
): RpcFailure {
  const names = new Set([BASE_SCOPE, ...principal.granted, ...missing]);
  const scope = [...names].filter((name) => SCOPE_TOKEN.test(name)).join(' ');
  const parameters = [
    'error="insufficient_scope"',
    `scope="${scope}"`,
    ...(metadataUrl === undefined ? [] : [`resource_metadata="${metadataUrl}"`]),
  ];
  return {
    status: 403,
    code: RPC.forbidden,
    message: `Insufficient scope: this needs ${missing.join(' ')}`,
    data: { scope },
    headers: { 'www-authenticate': `Bearer ${parameters.join(', ')}` },
  };
}
