import { BASE_SCOPE } from '#src/access/roles.ts';
import { isOurResource, type ServerUrls } from './urls.ts';

/*
 * Authorization and token requests as real clients send them, made into what the provider accepts.
 * What is left out here the provider never sees; what is doubled stays doubled, so that it refuses it.
 */

/** Carries the privileges that were asked for through the provider; a client cannot set it. */
export const PRIVILEGES_PARAMETER = 'castellan_privileges';

const AUTHORIZE_PARAMETERS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'state',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'login_hint',
];
/** They would change what a request means, and are not served: the provider says so. */
const UNSUPPORTED_PARAMETERS = ['request', 'request_uri', 'registration'];
/** No response mode is called so. */
const UNSUPPORTED_MODE = 'unsupported';
const MAX_SCOPES = 100;

/** The query for the provider: one base scope, our resource or the sender's wrong one. */
export function repairAuthorizeQuery(
  query: URLSearchParams,
  options: { urls: ServerUrls; privileges: ReadonlySet<string> },
): URLSearchParams {
  const repaired = new URLSearchParams();
  for (const name of [...AUTHORIZE_PARAMETERS, ...UNSUPPORTED_PARAMETERS]) {
    for (const value of query.getAll(name)) repaired.append(name, value);
  }
  // The provider knows more modes than are advertised.
  for (const mode of query.getAll('response_mode')) {
    if (mode !== '') repaired.append('response_mode', mode === 'query' ? mode : UNSUPPORTED_MODE);
  }
  const scopes = query.getAll('scope');
  repaired.set('scope', BASE_SCOPE);
  for (const name of new Set(query.keys())) {
    // What is doubled is the provider's to refuse, also where we would not look at it.
    if (name === 'resource' || name === 'response_mode' || query.getAll(name).length === 1)
      continue;
    repaired.delete(name);
    for (const value of query.getAll(name)) repaired.append(name, value);
  }
  const asked = splitScope(scopes[0] ?? '').filter((scope) => options.privileges.has(scope));
  repaired.delete(PRIVILEGES_PARAMETER);
  if (asked.length > 0) repaired.set(PRIVILEGES_PARAMETER, asked.join(' '));
  for (const resource of foreignResources(query, options.urls))
    repaired.append('resource', resource);
  return repaired;
}

/** The privileges that an authorization asked for; empty for all. */
export function requestedPrivileges(params: Record<string, unknown>): string[] {
  const value = params[PRIVILEGES_PARAMETER];
  return typeof value === 'string' ? splitScope(value) : [];
}

/** `resource` values that do not mean this server. */
export function foreignResources(parameters: URLSearchParams, urls: ServerUrls): string[] {
  return parameters
    .getAll('resource')
    .filter((value) => value !== '' && !isOurResource(value, urls));
}

/** Splits a scope on any white space, without doubles. */
export function splitScope(scope: string): string[] {
  return [...new Set(scope.split(/\s+/).filter((one) => one !== ''))].slice(0, MAX_SCOPES);
}
