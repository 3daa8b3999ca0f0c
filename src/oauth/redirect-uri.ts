/*
 * Redirect URIs: which may be registered, and which presented one a registration covers (RFC 8252,
 * RFC 9700 section 2.1). Compared as text: what is not written the same is not the same, but for the
 * port of a loopback address.
 */

export type RedirectKind = 'web' | 'loopback' | 'private-use';

const MAX_LENGTH = 2_000;
/** Printable ASCII without space, backslash and the wildcard. */
const PLAIN = /^[\x21-\x29\x2b-\x5b\x5d-\x7e]+$/;
const WEB = /^https:\/\/[^/]/;
/** User information, also an empty one. */
const USER_INFORMATION = /^[^/?]*\/\/[^/?]*@/;
/** Never a way back, whatever the configuration lists: a browser runs, opens or fetches them itself. */
const FORBIDDEN_SCHEMES = new Set(
  'about blob data file filesystem ftp javascript mailto vbscript view-source ws wss'.split(' '),
);
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?((?:[/?].*)?)$/;

/**
 * What is wrong with a redirect URI, or undefined.
 * @param schemes private-use schemes that the configuration allows, without colon.
 */
export function redirectUriProblem(uri: unknown, schemes: readonly string[]): string | undefined {
  if (typeof uri !== 'string' || uri.length > MAX_LENGTH || !PLAIN.test(uri)) {
    return 'must be an absolute URI of plain characters';
  }
  if (uri.includes('#')) return 'must not have a fragment';
  const parsed = URL.parse(uri);
  if (parsed === null) return 'must be an absolute URI';
  if (USER_INFORMATION.test(uri)) return 'must not have user information';
  return redirectKind(uri, schemes) === undefined
    ? 'must be https, http on a loopback address, or an allowed private-use scheme'
    : undefined;
}

/** What sort of place a well-formed redirect URI leads to; undefined when it may not be used. */
export function redirectKind(uri: string, schemes: readonly string[]): RedirectKind | undefined {
  const parsed = URL.parse(uri);
  if (parsed === null) return undefined;
  const scheme = parsed.protocol.slice(0, -1);
  switch (scheme) {
    case 'https':
      return WEB.test(uri) ? 'web' : undefined;
    case 'http':
      return LOOPBACK.test(uri) ? 'loopback' : undefined;
    default:
      return schemes.includes(scheme) && !FORBIDDEN_SCHEMES.has(scheme) ? 'private-use' : undefined;
  }
}

/** Whether a presented URI is one of the registered ones; a loopback address may have any port. */
export function redirectUriMatches(registered: readonly string[], presented: string): boolean {
  if (registered.includes(presented)) return true;
  if (!LOOPBACK.test(presented)) return false;
  const wanted = withoutLoopbackPort(presented);
  return registered.some((uri) => LOOPBACK.test(uri) && withoutLoopbackPort(uri) === wanted);
}

/** The URI without the port of its loopback address; other URIs as they are. */
export function withoutLoopbackPort(uri: string): string {
  const match = LOOPBACK.exec(uri);
  return match === null ? uri : `http://${match[1] ?? ''}${match[3] ?? ''}`;
}
