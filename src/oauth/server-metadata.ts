import { BASE_SCOPE } from '#src/access/roles.ts';
import type { ServerUrls } from './urls.ts';

/*
 * The documents that clients discover us by. They advertise what works and nothing else.
 */

export const AUTH_METHODS = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const;
/** How a resource server proves itself: the two ways to show its secret. */
const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'];
export const ASSERTION_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const;

/** RFC 8414, and the same document for OpenID-style discovery. */
export function authorizationServerMetadata(
  urls: ServerUrls,
  options: { dynamicRegistration: boolean },
): Record<string, unknown> {
  return {
    issuer: urls.issuer,
    authorization_endpoint: `${urls.oauth}/authorize`,
    token_endpoint: `${urls.oauth}/token`,
    ...(options.dynamicRegistration ? { registration_endpoint: `${urls.oauth}/register` } : {}),
    revocation_endpoint: `${urls.oauth}/revoke`,
    jwks_uri: `${urls.oauth}/jwks`,
    scopes_supported: [BASE_SCOPE],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    introspection_endpoint: `${urls.oauth}/introspect`,
    introspection_endpoint_auth_methods_supported: SECRET_METHODS,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    // OpenID Connect Discovery requires these two; no ID tokens are issued (docs/divergences.md).
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
}

/** RFC 9728. */
export function protectedResourceMetadata(urls: ServerUrls, name: string): Record<string, unknown> {
  return {
    resource: urls.resource,
    authorization_servers: [urls.issuer],
    bearer_methods_supported: ['header'],
    scopes_supported: [BASE_SCOPE],
    resource_name: name,
  };
}
