import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { AppError } from '#src/errors.ts';

/*
 * Who is calling: the address behind trusted proxies, and whether the way here was safe. Headers
 * about forwarding count only from addresses that the configuration trusts.
 */

export interface Caller {
  /** The caller's address in its shortest form; IPv4 also when it came mapped into IPv6. */
  address: string;
  /** The caller's request came over TLS (to us or to a trusted proxy), or from this very machine. */
  isSafe: boolean;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

const MAX_HOPS = 20;

/** Compiles the trusted ranges. @throws `config_invalid` when one of them is no address or range. */
export function createCallerReader(
  trustedProxies: readonly string[],
): (request: IncomingMessage) => Caller {
  const trusted = trustedProxies.map(parseRange);
  return (request) => {
    const peer = parseAddress(request.socket.remoteAddress ?? '');
    const encrypted = 'encrypted' in request.socket && request.socket.encrypted === true;
    if (peer === undefined) return { address: 'unknown', isSafe: false };
    if (!isWithin(peer, trusted)) {
      return { address: peer.toString(), isSafe: encrypted || isLoopback(peer) };
    }
    const forwarded = header(request, 'x-forwarded-for');
    const proto = header(request, 'x-forwarded-proto')?.split(',').at(-1)?.trim().toLowerCase();
    // A trusted proxy that says nothing is a direct call from that machine.
    const direct = forwarded === undefined && proto === undefined;
    const address = forwarded === undefined ? peer : rightmostUntrusted(peer, forwarded, trusted);
    // TLS between the proxy and us says nothing about the caller's own way to it.
    const isSafe = direct ? encrypted || isLoopback(peer) : proto === 'https';
    return { address: address.toString(), isSafe };
  };
}

/**
 * How the address at the other end of a connection is counted: as one, or not at all (undefined) when
 * it speaks for many: a trusted proxy, or this machine.
 * @throws `config_invalid` as `createCallerReader` does.
 */
export function createPeerReader(
  trustedProxies: readonly string[],
): (remoteAddress: string | undefined) => string | undefined {
  const trusted = trustedProxies.map(parseRange);
  return (remoteAddress) => {
    const peer = parseAddress(remoteAddress ?? '');
    if (peer === undefined || isLoopback(peer) || isWithin(peer, trusted)) return undefined;
    return throttleAddress(peer.toString());
  };
}

/** The key under which an address is counted: IPv6 by /64, because a household holds that much. */
export function throttleAddress(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === undefined || parsed.kind() === 'ipv4') return address;
  const prefix = (parsed as ipaddr.IPv6).parts.slice(0, 4).map((part) => part.toString(16));
  return `${prefix.join(':')}::/64`;
}

/** Whether an address or host name means this machine. */
export function isLoopbackHost(host: string): boolean {
  if (host === 'localhost') return true;
  const parsed = parseAddress(host.replace(/^\[|\]$/g, ''));
  return parsed !== undefined && isLoopback(parsed);
}

function rightmostUntrusted(peer: Address, forwarded: string, trusted: readonly Range[]): Address {
  let found = peer;
  for (const hop of forwarded.split(',').slice(-MAX_HOPS).toReversed()) {
    const parsed = parseAddress(hop.trim());
    // What stands left of an entry that cannot be read was not written by a proxy of ours.
    if (parsed === undefined) return found;
    found = parsed;
    if (!isWithin(parsed, trusted)) return found;
  }
  return found;
}

function parseAddress(text: string): Address | undefined {
  // Stricter than ipaddr.js, which also reads 1, 010.0.0.1 and 0x7f.1 as addresses.
  if (isIP(text) === 0) return undefined;
  return ipaddr.process(text.replace(/%.*$/, ''));
}

function parseRange(text: string): Range {
  const [start = '', length, ...more] = text.split('/');
  const address = isIP(start) === 0 || start.includes('%') ? undefined : ipaddr.parse(start);
  const size = address?.kind() === 'ipv4' ? 32 : 128;
  const bits = length === undefined ? size : Number(length);
  if (address === undefined || more.length > 0 || !/^\d{1,3}$/.test(length ?? '0') || bits > size) {
    throw new AppError(
      'config_invalid',
      `trustedProxies: "${text}" is not an IP address or range`,
      {
        hint: 'Write an address such as 10.0.0.7, or a range such as 10.0.0.0/8.',
      },
    );
  }
  // Callers' addresses are compared as IPv4 where they are mapped, so such a range is one of IPv4.
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96) {
    return [address.toIPv4Address(), bits - 96];
  }
  return [address, bits];
}

function isWithin(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some(([base, bits]) => address.kind() === base.kind() && address.match(base, bits));
}

function isLoopback(address: Address): boolean {
  return address.range() === 'loopback';
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}
