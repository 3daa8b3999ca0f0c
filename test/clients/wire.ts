import assert from 'node:assert/strict';
import { send, type Answer, type Send } from '../support/oauth-client.ts';
import type { Site } from '../support/person.ts';

/*
 * How a client's requests leave it: straight from a program, or from a page through a browser, which
 * asks first and hands over only what CORS allows.
 */

/** Requests of a program, all with these headers. */
export function fromProgram(site: Site, headers: Record<string, string>): Send {
  return (path, init = {}) => send(site, path, { ...init, headers: merge(headers, init) });
}

/** Requests of the scripts of a page; what a browser would withhold fails or is not there. */
export function fromPage(site: Site, origin: string, headers: Record<string, string>): Send {
  return async (path, init = {}) => {
    const sent = merge(headers, init);
    const method = init.method ?? 'GET';
    const unsafe = Object.keys(sent).filter((name) => !isSafelisted(name, sent[name] ?? ''));
    if (unsafe.length > 0 || !SIMPLE_METHODS.has(method)) {
      await askFirst(site, path, { origin, method, unsafe });
    }
    const answer = await send(site, path, { ...init, headers: { ...sent, origin } });
    assertAllowed(answer, origin, `${method} ${path}`);
    return { ...answer, headers: visibleOf(answer.headers) };
  };
}

/** The path with which a URL of this site is asked for. Fails for a URL that leads elsewhere. */
export function pathOf(site: Site, url: string): string {
  assert.ok(url.startsWith(`${site.origin}/`), `${url} is not at ${site.origin}`);
  return url.slice(site.origin.length);
}

const SIMPLE_METHODS = new Set(['GET', 'HEAD', 'POST']);
const SAFE_HEADERS = new Set(['accept', 'accept-language', 'content-language', 'user-agent']);
const SAFE_TYPES = /^(application\/x-www-form-urlencoded|multipart\/form-data|text\/plain)(;|$)/;
const VISIBLE_HEADERS = ['cache-control', 'content-length', 'content-type', 'expires'];

/** Whether a page may send this header without a preflight (Fetch, CORS-safelisted). */
function isSafelisted(name: string, value: string): boolean {
  return SAFE_HEADERS.has(name) || (name === 'content-type' && SAFE_TYPES.test(value));
}

async function askFirst(
  site: Site,
  path: string,
  { origin, method, unsafe }: { origin: string; method: string; unsafe: string[] },
): Promise<void> {
  const what = `the preflight of ${method} ${path}`;
  const answer = await send(site, path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': unsafe.toSorted().join(','),
    },
  });
  assert.ok(answer.status >= 200 && answer.status < 300, `${what}: ${answer.status}`);
  assertAllowed(answer, origin, what);
  const methods = listOf(answer.headers, 'access-control-allow-methods');
  assert.ok(SIMPLE_METHODS.has(method) || methods.has(method.toLowerCase()), what);
  const allowed = listOf(answer.headers, 'access-control-allow-headers');
  for (const name of unsafe) assert.ok(allowed.has(name), `${what} does not allow ${name}`);
}

function assertAllowed(answer: Answer, origin: string, what: string): void {
  const allowed = answer.headers.get('access-control-allow-origin');
  assert.ok(allowed === '*' || allowed === origin, `${what}: a page may not read this`);
}

/** The headers that a page may look at. */
function visibleOf(headers: Headers): Headers {
  const exposed = listOf(headers, 'access-control-expose-headers');
  return new Headers(
    [...headers].filter(([name]) => VISIBLE_HEADERS.includes(name) || exposed.has(name)),
  );
}

function listOf(headers: Headers, name: string): Set<string> {
  const names = (headers.get(name) ?? '').split(',').map((one) => one.trim().toLowerCase());
  return new Set(names.filter((one) => one !== ''));
}

/** With the type that `fetch` adds by itself, because it decides about preflights. */
function merge(headers: Record<string, string>, init: RequestInit): Record<string, string> {
  const type =
    init.body instanceof URLSearchParams
      ? { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }
      : {};
  return { ...headers, ...type, ...Object.fromEntries(new Headers(init.headers)) };
}
