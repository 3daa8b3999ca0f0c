import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import {
  createCallerReader,
  createPeerReader,
  isLoopbackHost,
  throttleAddress,
} from '#src/http/caller.ts';

type Headers = Record<string, string>;

/** The parts of a request that say where it came from. */
function requestFrom(
  remoteAddress: string | undefined,
  headers: Headers,
  encrypted = false,
): IncomingMessage {
  return { headers, socket: { remoteAddress, encrypted } } as unknown as IncomingMessage;
}

const TRUSTED = ['10.0.0.0/8', '192.0.2.1', '2001:db8:aa::/48', '::1'];
const read = createCallerReader(TRUSTED);
const believeNobody = createCallerReader([]);

describe('the address of a caller', () => {
  const forwarded = (list: string): Headers => ({
    'x-forwarded-for': list,
    'x-forwarded-proto': 'https',
  });
  const cases: [name: string, peer: string, headers: Headers, address: string][] = [
    ['a stranger', '203.0.113.5', {}, '203.0.113.5'],
    ['a stranger who says otherwise', '203.0.113.5', forwarded('10.0.0.1'), '203.0.113.5'],
    ['a stranger next to the trusted one', '192.0.2.2', forwarded('8.8.8.8'), '192.0.2.2'],
    ['a trusted proxy itself', '10.1.2.3', {}, '10.1.2.3'],
    ['behind a trusted proxy', '10.1.2.3', forwarded('203.0.113.9'), '203.0.113.9'],
    ['behind a single trusted address', '192.0.2.1', forwarded('203.0.113.9'), '203.0.113.9'],
    ['behind two trusted proxies', '10.1.2.3', forwarded('203.0.113.9, 10.9.9.9'), '203.0.113.9'],
    [
      'one who wrote addresses in front',
      '10.1.2.3',
      forwarded('127.0.0.1, 8.8.8.8, 203.0.113.9'),
      '203.0.113.9',
    ],
    [
      'one who wrote a trusted address in front',
      '10.1.2.3',
      forwarded('10.0.0.1, 203.0.113.9, 10.2.2.2'),
      '203.0.113.9',
    ],
    ['all trusted', '10.1.2.3', forwarded('10.0.0.1, 10.0.0.2'), '10.0.0.1'],
    ['without spaces', '10.1.2.3', forwarded('8.8.8.8,203.0.113.9'), '203.0.113.9'],
    ['IPv6 behind IPv4', '10.1.2.3', forwarded('2001:DB8::0001'), '2001:db8::1'],
    ['behind IPv6', '2001:db8:aa:1::9', forwarded('203.0.113.9'), '203.0.113.9'],
    ['IPv6 beside the trusted range', '2001:db8:ab::9', forwarded('8.8.8.8'), '2001:db8:ab::9'],
    ['a mapped stranger', '::ffff:203.0.113.5', {}, '203.0.113.5'],
    ['behind a mapped proxy', '::ffff:10.1.2.3', forwarded('203.0.113.9'), '203.0.113.9'],
    ['mapped behind a proxy', '10.1.2.3', forwarded('::ffff:203.0.113.9'), '203.0.113.9'],
    ['link-local, with its zone', 'fe80::1%eth0', {}, 'fe80::1'],
    ['an empty header', '10.1.2.3', forwarded(''), '10.1.2.3'],
    ['garbage', '10.1.2.3', forwarded('unknown'), '10.1.2.3'],
    ['garbage in front', '10.1.2.3', forwarded('"><script>, 203.0.113.9'), '203.0.113.9'],
    ['garbage in between', '10.1.2.3', forwarded('203.0.113.9, _hidden, 10.2.2.2'), '10.2.2.2'],
    ['an octal address', '10.1.2.3', forwarded('0177.0.0.1'), '10.1.2.3'],
    ['a hexadecimal address', '10.1.2.3', forwarded('0x7f.1'), '10.1.2.3'],
    ['a number', '10.1.2.3', forwarded('2130706433'), '10.1.2.3'],
    ['a host name', '10.1.2.3', forwarded('localhost'), '10.1.2.3'],
  ];
  for (const [name, peer, headers, address] of cases) {
    it(`is ${address}: ${name}`, () => {
      assert.equal(read(requestFrom(peer, headers)).address, address);
    });
  }

  it('is looked for in the last 20 hops only', () => {
    const long = ['203.0.113.9', ...Array.from({ length: 20 }, () => '10.0.0.1')].join(', ');
    assert.equal(read(requestFrom('10.1.2.3', { 'x-forwarded-for': long })).address, '10.0.0.1');
  });

  it('is never believed when nobody is trusted, not even on this machine', () => {
    for (const peer of ['127.0.0.1', '::1', '10.1.2.3']) {
      const headers = { 'x-forwarded-for': '203.0.113.9', 'x-real-ip': '203.0.113.9' };
      assert.equal(believeNobody(requestFrom(peer, headers)).address, peer);
    }
  });

  it('is unknown, and unsafe, when the connection has gone', () => {
    assert.deepEqual(read(requestFrom(undefined, {})), { address: 'unknown', isSafe: false });
  });
});

describe('the way here', () => {
  const https = { 'x-forwarded-proto': 'https' };
  const cases: [name: string, peer: string, headers: Headers, isSafe: boolean][] = [
    ['plain HTTP from elsewhere', '203.0.113.5', {}, false],
    ['plain HTTP with a claim of TLS', '203.0.113.5', https, false],
    [
      'plain HTTP with a claim to be local',
      '203.0.113.5',
      { 'x-forwarded-for': '127.0.0.1' },
      false,
    ],
    ['this machine', '127.0.0.1', {}, true],
    ['this machine, another of its addresses', '127.8.8.8', {}, true],
    ['this machine, mapped', '::ffff:127.0.0.1', {}, true],
    ['TLS to a trusted proxy', '10.1.2.3', https, true],
    ['TLS to a trusted proxy, in capitals', '10.1.2.3', { 'x-forwarded-proto': 'HTTPS' }, true],
    ['plain HTTP to a trusted proxy', '10.1.2.3', { 'x-forwarded-proto': 'http' }, false],
    ['a trusted proxy that says nothing', '10.1.2.3', {}, false],
    ['a proxy that does not say how', '10.1.2.3', { 'x-forwarded-for': '8.8.8.8' }, false],
    ['a claim in front of the proxy', '10.1.2.3', { 'x-forwarded-proto': 'https, http' }, false],
    ['this machine, trusted, calling itself', '::1', {}, true],
    ['a local proxy without TLS', '::1', { 'x-forwarded-proto': 'http' }, false],
    ['a local proxy that does not say how', '::1', { 'x-forwarded-for': '127.0.0.1' }, false],
  ];
  for (const [name, peer, headers, isSafe] of cases) {
    it(`is ${isSafe ? 'safe' : 'not safe'}: ${name}`, () => {
      assert.equal(read(requestFrom(peer, headers)).isSafe, isSafe);
    });
  }

  it('is safe over TLS to this server', () => {
    assert.equal(read(requestFrom('203.0.113.5', {}, true)).isSafe, true);
    assert.equal(read(requestFrom('10.1.2.3', {}, true)).isSafe, true);
    assert.equal(
      read(requestFrom('203.0.113.5', { 'x-forwarded-proto': 'http' }, true)).isSafe,
      true,
    );
  });

  it('is what a trusted proxy says of it, also when the proxy itself speaks TLS to this server', () => {
    const over = (headers: Headers): boolean => read(requestFrom('10.1.2.3', headers, true)).isSafe;
    assert.equal(over(https), true);
    assert.equal(over({ 'x-forwarded-proto': 'http' }), false);
    assert.equal(over({ 'x-forwarded-for': '8.8.8.8' }), false);
  });
});

describe('trusted ranges', () => {
  const hop = { 'x-forwarded-for': '203.0.113.9' };
  const cases: [range: string, peer: string, trusted: boolean][] = [
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.7', '10.0.0.7', true],
    ['10.0.0.7', '10.0.0.8', false],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '8.8.8.8', false],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '11.1.2.3', false],
    ['::ffff:10.0.0.7', '10.0.0.7', true],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
  ];
  for (const [range, peer, trusted] of cases) {
    it(`${range} ${trusted ? 'holds' : 'does not hold'} ${peer}`, () => {
      const { address } = createCallerReader([range])(requestFrom(peer, hop));
      assert.equal(address, trusted ? '203.0.113.9' : peer);
    });
  }

  const wrong = ['', 'localhost', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::/129'];
  for (const range of [...wrong, '10.0.0.0/-1', '10.0.0.0/8.5', '010.0.0.1', 'fe80::1%eth0']) {
    it(`${JSON.stringify(range)} is refused by name`, () => {
      assert.throws(() => createCallerReader(['10.0.0.0/8', range]), {
        code: 'config_invalid',
        message: `trustedProxies: "${range}" is not an IP address or range`,
      });
    });
  }
});

describe('what is counted as one caller', () => {
  const cases: [address: string, key: string][] = [
    ['203.0.113.5', '203.0.113.5'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1', 'fe80:0:0:0::/64'],
    ['unknown', 'unknown'],
  ];
  for (const [address, key] of cases) {
    it(`${address} as ${key}`, () => assert.equal(throttleAddress(address), key));
  }
});

describe('whose connections are counted', () => {
  const peerOf = createPeerReader(TRUSTED);
  const cases: [remoteAddress: string | undefined, peer: string | undefined][] = [
    ['203.0.113.5', '203.0.113.5'],
    ['::ffff:203.0.113.5', '203.0.113.5'],
    ['2001:db8:1:2:3::4', '2001:db8:1:2::/64'],
    ['10.1.2.3', undefined],
    ['::ffff:10.1.2.3', undefined],
    ['127.0.0.1', undefined],
    ['::ffff:127.0.0.1', undefined],
    ['::1', undefined],
    [undefined, undefined],
  ];
  for (const [remoteAddress, peer] of cases) {
    it(`${remoteAddress}: ${peer ?? 'nobody'}`, () => assert.equal(peerOf(remoteAddress), peer));
  }
});

describe('a host name', () => {
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]', '::ffff:127.0.0.1']) {
    it(`means this machine: ${host}`, () => assert.ok(isLoopbackHost(host)));
  }
  const others = ['', '0.0.0.0', '10.0.0.1', 'localhost.evil.example', '127.0.0.1.evil.example'];
  for (const host of [...others, 'evil.example', '127.1', '2130706433', '[::2]', '::']) {
    it(`means another one: ${host}`, () => assert.equal(isLoopbackHost(host), false));
  }
});
