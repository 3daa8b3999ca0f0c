import type { IncomingMessage } from 'node:http';
import { isLoopbackHost } from './caller.ts';

/** What a request asks for: its target, and the host that it believes to be talking to. */

export interface HostRules {
  /** `host` or `host:port`, lower case. */
  allowedHosts: ReadonlySet<string>;
  /** Loopback hosts count too, while listening on loopback. */
  allowLoopback: boolean;
}

/**
 * Brings the target of a request to path and query. An absolute one (RFC 9112, section 3.2.2) is
 * reduced to them, and its host takes the place of the Host header.
 * @returns whether there was one; `*`, and what is no http(s) URL, is none.
 */
export function normalizeTarget(request: IncomingMessage): boolean {
  const target = request.url ?? '';
  if (target.startsWith('/')) return true;
  const url = /^https?:\/\//i.test(target) ? URL.parse(target) : null;
  if (url === null || url.username !== '' || url.password !== '') return false;
  request.url = url.pathname + url.search;
  request.headers.host = url.host;
  return true;
}

/**
 * Whether the Host of a request is one of ours. A page elsewhere whose name was made to point here
 * (DNS rebinding) brings its own.
 */
export function isHostServed(rules: HostRules, request: IncomingMessage): boolean {
  const host = request.headers.host?.toLowerCase();
  if (host === undefined || isRepeated(request, 'host')) return false;
  const name = host.replace(/:\d+$/, '');
  if (rules.allowedHosts.has(host) || rules.allowedHosts.has(name)) return true;
  return rules.allowLoopback && isLoopbackHost(name);
}

/**
 * Whether a header is there more than once. Node keeps the first of some; a proxy in front may have
 * judged the last.
 */
export function isRepeated(request: IncomingMessage, name: string): boolean {
  const { rawHeaders } = request;
  let seen = false;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index];
    if (raw?.length !== name.length || raw.toLowerCase() !== name) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}
