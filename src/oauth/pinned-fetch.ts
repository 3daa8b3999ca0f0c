import { lookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { AppError, messageOf } from '#src/errors.ts';

/*
 * Fetches what strangers name: metadata documents and key sets. Only https on the usual port, only
 * public addresses, and the connection goes to an address that was checked, so that a second answer of
 * the name server changes nothing. No redirects, no compression, bounded in bytes and in time.
 */

export interface ResolvedAddress {
  address: string;
  family: number;
}

/** What the outside world is reached by. */
export interface FetchPorts {
  /** All addresses of a host name. */
  resolve(host: string): Promise<ResolvedAddress[]>;
  /** The certificate authorities to believe, instead of the usual ones. */
  ca?: string | undefined;
  /** Where a checked address is found; itself, at port 443, but in tests. */
  route?: ((pinned: ResolvedAddress) => { address: string; port: number }) | undefined;
  /** One deadline for everything, in milliseconds; 5 seconds but in tests. */
  deadlineMs?: number | undefined;
}

export interface Fetched {
  status: number;
  headers: Headers;
  body: Buffer;
}

const DEADLINE_MS = 5_000;
const USER_AGENT = 'Castellan';

export const systemFetchPorts: FetchPorts = {
  resolve: (host) => lookup(host, { all: true, order: 'verbatim' }),
};

/**
 * GETs a public https URL.
 * @param limit the largest body, in bytes.
 * @throws `client_document_invalid` when the URL or its address is not one we go to, or the answer is
 * too large; `client_document_unreachable` when the network fails or the deadline passes.
 */
export async function pinnedFetch(ports: FetchPorts, url: string, limit: number): Promise<Fetched> {
  const target = publicTarget(url);
  const signal = AbortSignal.timeout(ports.deadlineMs ?? DEADLINE_MS);
  const addresses = await beforeAbort(ports.resolve(target.hostname), signal);
  const refused = addresses.find((one) => !isPublicAddress(one.address));
  if (refused !== undefined) throw invalid('its address is not public');
  const pinned = addresses[0];
  if (pinned === undefined) throw unreachable('its host has no address');
  return get(target, { pinned, signal, limit, ports });
}

/** Whether an address belongs to the public internet: not loopback, private, shared, mapped or reserved. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed.kind() === 'ipv4')
    return !EXTRA_IPV4.some((range) => parsed.match(ipaddr.parseCIDR(range)));
  const inGlobal = parsed.match(ipaddr.parseCIDR('2000::/3'));
  return inGlobal && !EXTRA_IPV6.some((range) => parsed.match(ipaddr.parseCIDR(range)));
}

/** Special-purpose ranges (IANA registries) that ipaddr.js counts as unicast. */
const EXTRA_IPV4 = [
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '240.0.0.0/4',
];
const EXTRA_IPV6 = [
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
];

function publicTarget(url: string): URL {
  const target = URL.parse(url);
  if (target === null || target.protocol !== 'https:') throw invalid('it is not an https URL');
  if (target.port !== '' || target.username !== '' || target.password !== '') {
    throw invalid('it names a port or a user');
  }
  const host = target.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 || !host.includes('.') || host.endsWith('.'))
    throw invalid('its host is not a public name');
  return target;
}

interface GetOptions {
  pinned: ResolvedAddress;
  signal: AbortSignal;
  limit: number;
  ports: FetchPorts;
}

function get(target: URL, options: GetOptions): Promise<Fetched> {
  const { pinned, signal, limit, ports } = options;
  const { address, port } = ports.route?.(pinned) ?? { address: pinned.address, port: 443 };
  const { promise, resolve, reject } = Promise.withResolvers<Fetched>();
  const request = httpsRequest(target, {
    method: 'GET',
    signal,
    agent: false,
    headers: {
      host: target.host,
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': USER_AGENT,
    },
    port,
    lookup: pinnedLookup({ address, family: isIP(address) }),
    ...(ports.ca === undefined ? {} : { ca: ports.ca }),
  });
  const fail = (error: Error): void => {
    reject(error instanceof AppError ? error : networkFailure(error));
    request.destroy();
  };
  request.on('error', fail);
  request.on('response', (response) => {
    response.on('error', fail);
    readAnswer(response, limit).then(resolve, fail);
  });
  request.end();
  return promise;
}

async function readAnswer(response: IncomingMessage, limit: number): Promise<Fetched> {
  const encoding = response.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw invalid('it is compressed');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw invalid(`it is larger than ${limit} bytes`);
    chunks.push(chunk);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value));
  return { status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks, size) };
}

/** Hands the connection the address that was checked, whatever the name server says now. */
function pinnedLookup(pinned: ResolvedAddress): NonNullable<RequestOptions['lookup']> {
  return (_host, options, callback) => {
    if (options.all) callback(null, [pinned]);
    else callback(null, pinned.address, pinned.family);
  };
}

async function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(unreachable('it took too long')), { once: true });
  try {
    return await Promise.race([work, promise]);
  } catch (error) {
    throw error instanceof AppError ? error : networkFailure(error);
  }
}

function invalid(why: string): AppError {
  return new AppError('client_document_invalid', `The document cannot be used: ${why}`);
}

/** What exactly went wrong is for the log. */
function networkFailure(error: unknown): AppError {
  const why =
    error instanceof Error && error.name === 'TimeoutError'
      ? 'it took too long'
      : 'its host cannot be reached';
  return new AppError('client_document_unreachable', `The document cannot be fetched: ${why}`, {
    cause: error,
    detail: { reason: messageOf(error) },
  });
}

function unreachable(why: string): AppError {
  return new AppError('client_document_unreachable', `The document cannot be fetched: ${why}`);
}
