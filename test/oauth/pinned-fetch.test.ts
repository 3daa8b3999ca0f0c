import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { AppError } from '#src/errors.ts';
import { isPublicAddress, pinnedFetch, type FetchPorts } from '#src/oauth/pinned-fetch.ts';
import { startDocumentHosts, type Answering, type DocumentHosts } from '../support/documents.ts';

const PUBLIC = [
  '1.1.1.1',
  '93.184.215.14',
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '192.0.1.1',
  '2606:4700:4700::1111',
  '2a00:1450:4001::1',
];

const NOT_PUBLIC: [what: string, addresses: string[]][] = [
  ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
  [
    'private',
    ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1'],
  ],
  ['link-local', ['169.254.169.254', 'fe80::1', 'febf::1']],
  ['site-local', ['fec0::1']],
  ['shared by a carrier', ['100.64.0.1', '100.127.255.255']],
  ['nowhere', ['0.0.0.0', '0.1.2.3', '::']],
  ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1']],
  ['broadcast and reserved', ['255.255.255.255', '240.0.0.1']],
  ['for documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
  ['for benchmarks', ['198.18.0.1', '198.19.255.255', '2001:2::1']],
  [
    'for protocols',
    ['192.0.0.1', '192.0.0.170', '192.88.99.1', '192.31.196.1', '192.52.193.1', '192.175.48.1'],
  ],
  ['mapped into IPv6', ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:1.1.1.1', '::ffff:7f00:1']],
  ['compatible with IPv4', ['::127.0.0.1', '::7f00:1']],
  ['translated', ['64:ff9b::7f00:1', '64:ff9b::1.1.1.1', '64:ff9b:1::1', '::ffff:0:127.0.0.1']],
  ['6to4 and Teredo', ['2002:7f00:1::', '2002:101:101::1', '2001::1', '2001:0:7f00:1::']],
  [
    'ORCHID, discard and segment routing',
    ['2001:10::1', '2001:20::1', '100::1', '100:0:0:1::1', '5f00::1'],
  ],
  ['outside of global unicast', ['4000::1', 'e000::1', '1::1']],
  [
    'no address',
    ['', 'localhost', '1.1.1', '1.1.1.1.1', '0x7f.0.0.1', '017700000001', 'fe80::1%eth0'],
  ],
];

describe('public addresses', () => {
  for (const address of PUBLIC) {
    it(`${address} is one`, () => assert.ok(isPublicAddress(address)));
  }
  for (const [what, addresses] of NOT_PUBLIC) {
    it(`${what} is none`, () => {
      for (const address of addresses) assert.equal(isPublicAddress(address), false, address);
    });
  }
});

describe('fetching what strangers name', () => {
  let hosts: DocumentHosts;
  before(async () => {
    hosts = await startDocumentHosts();
  });
  after(() => hosts[Symbol.asyncDispose]());
  beforeEach(() => {
    hosts.requests.length = 0;
    hosts.connections.length = 0;
  });

  const URL = 'https://app.clients.example/document';

  async function failure(url: string, ports: FetchPorts = hosts.ports): Promise<string> {
    const error = await pinnedFetch({ deadlineMs: 2_000, ...ports }, url, 5_120).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof AppError, String(error));
    return error.code;
  }

  it('returns status, headers and body', async () => {
    hosts.answer(URL, { status: 404, headers: { 'x-header': 'yes' }, body: 'nothing here' });
    const { status, headers, body } = await pinnedFetch(hosts.ports, URL, 5_120);
    assert.deepEqual(
      [status, headers.get('x-header'), body.toString()],
      [404, 'yes', 'nothing here'],
    );
    assert.deepEqual(hosts.requests, ['app.clients.example/document']);
  });

  it('says little about itself', async () => {
    let sent: Record<string, unknown> = {};
    hosts.answer(URL, (request, response) => {
      sent = request.headers;
      response.end();
    });
    await pinnedFetch(hosts.ports, URL, 5_120);
    assert.deepEqual(sent, {
      host: 'app.clients.example',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'Castellan',
      connection: 'close',
    });
  });

  const NEVER_ASKED = [
    'http://app.clients.example/document',
    'ftp://app.clients.example/document',
    'https://app.clients.example:8443/document',
    'https://user@app.clients.example/document',
    'https://127.0.0.1/document',
    'https://[::1]/document',
    'https://2130706433/document',
    'https://0x7f.1/document',
    'https://1.1.1.1/document',
    'https://localhost/document',
    'https://intranet/document',
    'https://app.clients.example./document',
    'not a url',
  ];
  for (const url of NEVER_ASKED) {
    it(`does not go to ${url}`, async () => {
      hosts.lookups.length = 0;
      assert.equal(await failure(url), 'client_document_invalid');
      assert.deepEqual([hosts.lookups, hosts.connections], [[], []]);
    });
  }

  for (const [what, addresses] of NOT_PUBLIC.slice(0, -1)) {
    it(`does not connect to an address that is ${what}`, async () => {
      for (const address of addresses) {
        const family = address.includes(':') ? 6 : 4;
        hosts.resolveTo('inside.clients.example', [{ address, family }]);
        assert.equal(
          await failure('https://inside.clients.example/x'),
          'client_document_invalid',
          address,
        );
        hosts.resolveTo('inside.clients.example', [
          { address: '1.1.1.1', family: 4 },
          { address, family },
        ]);
        assert.equal(
          await failure('https://inside.clients.example/x'),
          'client_document_invalid',
          `1.1.1.1, ${address}`,
        );
      }
      assert.deepEqual(hosts.connections, []);
    });
  }

  it('connects to the address that was checked, whatever the name says next', async () => {
    hosts.answer('https://rebind.clients.example/x', { body: '{}' });
    const answers = [[{ address: '1.1.1.1', family: 4 }], [{ address: '127.0.0.1', family: 4 }]];
    hosts.resolveTo('rebind.clients.example', async () => answers.shift() ?? []);
    await pinnedFetch(hosts.ports, 'https://rebind.clients.example/x', 5_120);
    assert.deepEqual(hosts.connections, [{ address: '1.1.1.1', family: 4 }]);
    assert.equal(answers.length, 1, 'one lookup for one fetch');
    assert.equal(await failure('https://rebind.clients.example/x'), 'client_document_invalid');
  });

  it('believes no certificate but of a known authority and for the name', async () => {
    hosts.answer('https://elsewhere.example/x', { body: '{}' });
    assert.equal(await failure('https://elsewhere.example/x'), 'client_document_unreachable');
    const { ca: _, ...usual } = hosts.ports;
    assert.equal(await failure(URL, usual), 'client_document_unreachable');
    assert.deepEqual(hosts.requests, []);
  });

  it('does not follow redirects', async () => {
    hosts.answer(URL, { status: 302, headers: { location: 'https://app.clients.example/other' } });
    const { status } = await pinnedFetch(hosts.ports, URL, 5_120);
    assert.equal(status, 302);
    assert.equal(hosts.requests.length, 1);
  });

  const tooLarge = 'x'.repeat(5_121);
  const ANSWERS: [what: string, answering: Answering, code: string][] = [
    ['is too large', { body: tooLarge }, 'client_document_invalid'],
    [
      'is too large and says so',
      { headers: { 'content-length': '5121' }, body: tooLarge },
      'client_document_invalid',
    ],
    [
      'is compressed',
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync('x'.repeat(1_000_000)) },
      'client_document_invalid',
    ],
    [
      'is smaller than it says',
      (_request, response) =>
        response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}'),
      'client_document_unreachable',
    ],
    [
      'breaks off',
      (_request, response) => response.socket?.destroy(),
      'client_document_unreachable',
    ],
    [
      'is no HTTP',
      (_request, response) => response.socket?.end('hello\r\n\r\n'),
      'client_document_unreachable',
    ],
    [
      'has headers without end',
      (_request, response) =>
        response.socket?.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`),
      'client_document_unreachable',
    ],
  ];
  for (const [what, answering, code] of ANSWERS) {
    it(`refuses an answer that ${what}`, async () => {
      hosts.answer(URL, answering);
      assert.equal(await failure(URL), code);
    });
  }

  it('takes no more of an answer than it says that there is', async () => {
    hosts.answer(URL, (_request, response) =>
      response.socket?.end(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}${tooLarge}`),
    );
    const fetched = await pinnedFetch(hosts.ports, URL, 5_120).catch((error: unknown) => error);
    if (fetched instanceof AppError) assert.equal(fetched.code, 'client_document_unreachable');
    else assert.equal((fetched as { body: Buffer }).body.toString(), '{}');
  });

  it('takes what is exactly as large as it may be', async () => {
    hosts.answer(URL, { body: 'x'.repeat(5_120) });
    assert.equal((await pinnedFetch(hosts.ports, URL, 5_120)).body.length, 5_120);
  });

  describe('has one deadline for everything', () => {
    const quick = (): FetchPorts => ({ ...hosts.ports, deadlineMs: 60 });

    it('for a name that is never resolved', async () => {
      hosts.resolveTo('slow.clients.example', () => new Promise(() => {}));
      assert.equal(
        await failure('https://slow.clients.example/x', quick()),
        'client_document_unreachable',
      );
    });

    it('for a host that accepts and says nothing', async () => {
      const sockets: Socket[] = [];
      const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})));
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const { port } = silent.address() as AddressInfo;
      const ports = { ...quick(), route: () => ({ address: '127.0.0.1', port }) };
      assert.equal(await failure(URL, ports), 'client_document_unreachable');
      for (const socket of sockets) socket.destroy();
      silent.close();
    });

    it('for a body that drips', async () => {
      hosts.answer(URL, (_request, response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write(' '), 5);
        response.once('close', () => clearInterval(drip));
      });
      assert.equal(await failure(URL, quick()), 'client_document_unreachable');
    });
  });

  it('reports a name that does not exist and a host that is down as unreachable', async () => {
    hosts.resolveTo('gone.clients.example', async () => Promise.reject(new Error('ENOTFOUND')));
    assert.equal(await failure('https://gone.clients.example/x'), 'client_document_unreachable');
    hosts.resolveTo('empty.clients.example', []);
    assert.equal(await failure('https://empty.clients.example/x'), 'client_document_unreachable');
    hosts.unplug();
    assert.equal(await failure(URL), 'client_document_unreachable');
    hosts.plugIn();
  });
});
