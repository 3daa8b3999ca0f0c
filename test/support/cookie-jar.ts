/** Cookies as a browser keeps them (RFC 6265), for one site. */

export interface Cookie {
  name: string;
  value: string;
  path: string;
  isSecure: boolean;
  isHttpOnly: boolean;
  sameSite: string | undefined;
  /** Undefined for a session cookie. */
  expiresAt: number | undefined;
}

export class CookieJar {
  readonly #cookies = new Map<string, Cookie>();

  /** Keeps what an answer from `url` sets; a cookie whose time has passed goes. */
  store(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const cookie = readCookie(line, url);
      if (cookie === undefined) continue;
      // A plain-HTTP answer cannot set what only goes over TLS, but for loopback, which is trusted.
      if (cookie.isSecure && url.protocol !== 'https:' && url.hostname !== 'localhost') continue;
      const key = `${cookie.name} ${cookie.path}`;
      if (cookie.expiresAt !== undefined && cookie.expiresAt <= Date.now())
        this.#cookies.delete(key);
      else this.#cookies.set(key, cookie);
    }
  }

  /** The value of the Cookie header for a request to `url`; empty when there is none to send. */
  header(url: URL): string {
    return this.all()
      .filter((cookie) => pathMatches(cookie.path, url.pathname))
      .filter((cookie) => !cookie.isSecure || url.protocol === 'https:')
      .toSorted((a, b) => b.path.length - a.path.length)
      .map((cookie) => `${cookie.name}=${cookie.value}`)
      .join('; ');
  }

  all(): Cookie[] {
    return [...this.#cookies.values()];
  }

  /** The value of the first cookie of this name. */
  value(name: string): string | undefined {
    return this.all().find((cookie) => cookie.name === name)?.value;
  }

  delete(name: string): void {
    for (const [key, cookie] of this.#cookies) if (cookie.name === name) this.#cookies.delete(key);
  }
}

function readCookie(line: string, url: URL): Cookie | undefined {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const cut = pair.indexOf('=');
  if (cut < 1) return undefined;
  const given = new Map(attributes.map((one) => split(one)));
  const path = given.get('path');
  return {
    name: pair.slice(0, cut),
    value: pair.slice(cut + 1),
    path: path?.startsWith('/') ? path : url.pathname.replace(/\/[^/]*$/, '') || '/',
    isSecure: given.has('secure'),
    isHttpOnly: given.has('httponly'),
    sameSite: given.get('samesite'),
    expiresAt: readExpiry(given.get('max-age'), given.get('expires')),
  };
}

function readExpiry(maxAge: string | undefined, expires: string | undefined): number | undefined {
  if (maxAge !== undefined) return Date.now() + Number(maxAge) * 1_000;
  const time = Date.parse(expires ?? '');
  return Number.isNaN(time) ? undefined : time;
}

function split(attribute: string): [string, string] {
  const cut = attribute.indexOf('=');
  return cut === -1
    ? [attribute.toLowerCase(), '']
    : [attribute.slice(0, cut).toLowerCase(), attribute.slice(cut + 1)];
}

/** RFC 6265 section 5.1.4. */
function pathMatches(cookiePath: string, requested: string): boolean {
  if (requested === cookiePath) return true;
  return (
    requested.startsWith(cookiePath) &&
    (cookiePath.endsWith('/') || requested[cookiePath.length] === '/')
  );
}
