import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { DAY, HOUR, MINUTE } from '#src/clock.ts';
import { DIALECTS, forwardedFrom, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  DOCUMENT_METADATA,
  startDocumentHosts,
  type Answering,
  type DocumentHosts,
} from '../support/documents.ts';
import { KNOWN_DOCUMENTS } from '../support/known-clients.ts';
import {
  callTool,
  createOAuthClient,
  obtainTokens,
  type OAuthClient,
} from '../support/oauth-client.ts';
import { createPerson, type Page, type Site } from '../support/person.ts';

const REDIRECT_URI = 'https://app.clients.example/callback';

function clientOf(site: Site, id: string, redirectUri = REDIRECT_URI): OAuthClient {
  return createOAuthClient(site, { id, redirectUri });
}

/** What a person sees who follows the client's link. */
function open(site: Site, id: string, headers?: Record<string, string>): Promise<Page> {
  return createPerson(site).follow(clientOf(site, id).authorize().url, headers);
}

function isLogin(page: Page): boolean {
  return page.status === 200 && page.html.includes('name="password"');
}

for (const dialect of DIALECTS) {
  describe(`metadata documents on ${dialect}`, () => {
    let clock: TestClock;
    let hosts: DocumentHosts;
    let app: TestApp;
    let other: TestApp;
    before(async () => {
      clock = createTestClock();
      hosts = await startDocumentHosts();
      app = await startTestApp({ dialect, clock, fetchPorts: hosts.ports });
      const { state, keysFolder, origin } = app;
      const config = { publicUrl: origin };
      other = await startTestApp({
        dialect,
        clock,
        state,
        keysFolder,
        config,
        fetchPorts: hosts.ports,
      });
    });
    after(async () => {
      await other[Symbol.asyncDispose]();
      await app[Symbol.asyncDispose]();
      await hosts[Symbol.asyncDispose]();
    });
    beforeEach(() => {
      hosts.requests.length = 0;
      hosts.plugIn();
    });

    it('describe a client that never registered', async () => {
      const id = hosts.publish('https://app.clients.example/client.json', DOCUMENT_METADATA);
      const client = clientOf(app, id);
      const tokens = await obtainTokens(createPerson(app), client);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
      const refreshed = await client.refresh(tokens.refreshToken);
      assert.equal(refreshed.status, 200, refreshed.text);
      assert.deepEqual(
        hosts.requests,
        ['app.clients.example/client.json'],
        'fetched once for all of it',
      );
      const page = await open(app, id);
      assert.ok(page.html.includes('app.clients.example'), 'the domain is shown');
    });

    for (const { client: name, id, metadata, uses } of KNOWN_DOCUMENTS) {
      it(`let ${name} in`, async () => {
        hosts.publish(id, metadata);
        for (const redirectUri of uses) {
          const tokens = await obtainTokens(createPerson(app), clientOf(app, id, redirectUri));
          assert.equal((await callTool(app, tokens.accessToken)).status, 200);
        }
        const evil = createOAuthClient(app, { id, redirectUri: 'https://evil.example/callback' });
        assert.equal((await createPerson(app).follow(evil.authorize().url)).status, 400);
      });
    }

    it('are kept in the store, for all processes and over restarts', async () => {
      const id = hosts.publish('https://kept.clients.example/client.json', DOCUMENT_METADATA);
      assert.ok(isLogin(await open(app, id)));
      assert.ok(isLogin(await open(other, id)));
      await app.restart();
      assert.ok(isLogin(await open(app, id)));
      assert.equal(hosts.requests.length, 1);
    });

    const FRESH: [what: string, headers: Record<string, string>, ms: number][] = [
      ['five minutes by default', {}, 5 * MINUTE],
      ['five minutes when less is asked', { 'cache-control': 'max-age=1' }, 5 * MINUTE],
      ['five minutes when none is asked', { 'cache-control': 'no-store' }, 5 * MINUTE],
      ['as long as max-age says', { 'cache-control': 'public, max-age=3600' }, HOUR],
      ['a day at most', { 'cache-control': 'max-age=31536000' }, DAY],
    ];
    for (const [what, headers, ms] of FRESH) {
      it(`are fresh for ${what}`, async () => {
        const id = hosts.publish(
          `https://fresh.clients.example/${what.replaceAll(' ', '-')}`,
          DOCUMENT_METADATA,
          headers,
        );
        assert.ok(isLogin(await open(app, id)));
        clock.advance(ms - 20_000);
        assert.ok(isLogin(await open(app, id)));
        assert.equal(hosts.requests.length, 1);
        clock.advance(40_000);
        assert.ok(isLogin(await open(app, id)));
        assert.equal(hosts.requests.length, 2);
      });
    }

    it('obey Expires where there is no max-age', async () => {
      const expires = new Date(clock.now() + 2 * HOUR).toUTCString();
      const id = hosts.publish('https://expires.clients.example/x', DOCUMENT_METADATA, { expires });
      assert.ok(isLogin(await open(app, id)));
      clock.advance(HOUR);
      assert.ok(isLogin(await open(app, id)));
      assert.equal(hosts.requests.length, 1);
      clock.advance(HOUR + MINUTE);
      assert.ok(isLogin(await open(app, id)));
      assert.equal(hosts.requests.length, 2);
    });

    it('are served stale while their host is down or answers nonsense, for 30 days', async () => {
      const id = hosts.publish('https://down.clients.example/client.json', DOCUMENT_METADATA);
      const client = clientOf(app, id);
      const tokens = await obtainTokens(createPerson(app), client);
      clock.advance(10 * MINUTE);
      hosts.unplug();
      assert.ok(isLogin(await open(app, id)));
      const refreshed = await client.refresh(tokens.refreshToken);
      assert.equal(refreshed.status, 200, refreshed.text);
      hosts.plugIn();
      for (const answering of [{ status: 403 }, { status: 404 }, { body: 'maintenance' }]) {
        clock.advance(2 * MINUTE);
        hosts.answer(id, answering);
        assert.ok(isLogin(await open(app, id)), JSON.stringify(answering));
      }
      clock.advance(29 * DAY);
      assert.ok(isLogin(await open(app, id)));
      clock.advance(DAY);
      assert.equal((await open(app, id)).status, 400);
      hosts.publish(id, DOCUMENT_METADATA);
      clock.advance(2 * MINUTE);
      assert.ok(isLogin(await open(app, id)));
    });

    it('are not asked for again within 60 seconds of a failure', async () => {
      const id = 'https://failing.clients.example/client.json';
      hosts.answer(id, { status: 500 });
      for (const at of [app, other, app]) assert.equal((await open(at, id)).status, 503);
      assert.equal(hosts.requests.length, 1);
      hosts.publish(id, DOCUMENT_METADATA);
      clock.advance(50_000);
      assert.equal((await open(app, id)).status, 503);
      clock.advance(11_000);
      assert.ok(isLogin(await open(app, id)));
    });

    it('are fetched once when many ask at the same moment', async () => {
      const id = hosts.publish('https://crowd.clients.example/client.json', DOCUMENT_METADATA);
      const pages = await Promise.all(Array.from({ length: 10 }, () => open(app, id)));
      assert.ok(pages.every(isLogin));
      assert.equal(hosts.requests.length, 1);
    });
  });
}

describe('metadata documents that cannot be used', () => {
  let hosts: DocumentHosts;
  let app: TestApp;
  before(async () => {
    hosts = await startDocumentHosts();
    app = await startTestApp({
      dialect: 'sqlite',
      fetchPorts: { ...hosts.ports, deadlineMs: 1_000 },
    });
  });
  after(async () => {
    await app[Symbol.asyncDispose]();
    await hosts[Symbol.asyncDispose]();
  });

  const document = (id: string, changes: Record<string, unknown> = {}): Answering => ({
    body: JSON.stringify({ client_id: id, ...DOCUMENT_METADATA, ...changes }),
  });

  const CASES: [what: string, status: 400 | 503, answering: (id: string) => Answering][] = [
    ['403', 503, () => ({ status: 403 })],
    ['429', 503, () => ({ status: 429 })],
    ['500', 503, () => ({ status: 500 })],
    ['503', 503, () => ({ status: 503 })],
    ['a connection that breaks', 503, () => (_request, response) => response.socket?.destroy()],
    [
      'a body that drips',
      503,
      () => (_request, response) => void response.writeHead(200).write('{'),
    ],
    ['404', 400, () => ({ status: 404 })],
    ['410', 400, () => ({ status: 410 })],
    ['401', 400, () => ({ status: 401 })],
    ['204', 400, () => ({ status: 204 })],
    [
      'a redirect',
      400,
      () => ({ status: 302, headers: { location: 'https://app.clients.example/client.json' } }),
    ],
    ['too large a body', 400, (id) => document(id, { client_name: 'x'.repeat(6_000) })],
    ['a compressed body', 400, () => ({ headers: { 'content-encoding': 'gzip' }, body: 'x' })],
    ['HTML', 400, () => ({ body: '<html></html>' })],
    ['a list', 400, () => ({ body: '[]' })],
    ['null', 400, () => ({ body: 'null' })],
    ['no client_id', 400, (id) => document(id, { client_id: undefined })],
    [
      'the client_id of another',
      400,
      (id) => document(id, { client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata' }),
    ],
    ['a client_id with a slash more', 400, (id) => document(id, { client_id: `${id}/` })],
    ['a secret', 400, (id) => document(id, { client_secret: 'x' })],
    [
      'a method with a shared secret',
      400,
      (id) => document(id, { token_endpoint_auth_method: 'client_secret_post' }),
    ],
    [
      'an unknown method',
      400,
      (id) => document(id, { token_endpoint_auth_method: 'tls_client_auth' }),
    ],
    [
      'private_key_jwt without keys',
      400,
      (id) => document(id, { token_endpoint_auth_method: 'private_key_jwt' }),
    ],
    ['no redirect URIs', 400, (id) => document(id, { redirect_uris: [] })],
    [
      'javascript: as a redirect URI',
      400,
      (id) => document(id, { redirect_uris: ['javascript:alert(1)'] }),
    ],
  ];
  for (const [index, [what, status, answering]] of CASES.entries()) {
    it(`are answered with ${status} when their host sends ${what}`, async () => {
      const id = `https://bad.clients.example/${index}`;
      hosts.answer(id, answering(id));
      const page = await open(app, id);
      assert.equal(page.status, status, page.html);
      assert.equal(page.leftFor, undefined);
      assert.ok(page.html.includes('bad.clients.example'));
      assert.equal(page.headers.get('retry-after'), status === 503 ? '60' : null);
      const asked = await open(app, id, { accept: 'application/json' });
      assert.equal(asked.status, status);
      const body = JSON.parse(asked.html) as Record<string, unknown>;
      assert.equal(body['error'], status === 503 ? 'temporarily_unavailable' : 'invalid_client');
      assert.ok(!('registration_endpoint' in body), 'this client has no use for it');
      const token = await clientOf(app, id).refresh('x'.repeat(43));
      assert.equal(token.status, status === 503 ? 503 : 401);
      assert.equal(token.headers.get('retry-after') !== null, status === 503);
    });
  }

  it('are never asked for from an address inside', async () => {
    for (const address of [
      '127.0.0.1',
      '10.1.2.3',
      '169.254.169.254',
      '::1',
      '::ffff:10.0.0.1',
      'fd00::1',
    ]) {
      const name = `n${address.replaceAll(/[.:]/g, '-')}.clients.example`;
      hosts.resolveTo(name, [{ address, family: address.includes(':') ? 6 : 4 }]);
      hosts.connections.length = 0;
      const page = await open(app, `https://${name}/client.json`);
      assert.deepEqual([page.status, hosts.connections.length], [400, 0], address);
    }
  });

  const NO_DOCUMENTS = [
    'http://app.clients.example/client.json',
    'https://app.clients.example',
    'https://app.clients.example/',
    'https://app.clients.example/client.json?x=1',
    'https://app.clients.example/client.json#x',
    'https://app.clients.example:8443/client.json',
    'https://app.clients.example:443/client.json',
    'https://user@app.clients.example/client.json',
    'https://app.clients.example/a/../client.json',
    'https://APP.clients.example/client.json',
    'https://127.0.0.1/client.json',
    'https://[::1]/client.json',
    'https://localhost/client.json',
    'https://intranet/client.json',
    'https://app.clients.example./client.json',
    `https://app.clients.example/${'x'.repeat(500)}`,
  ];
  for (const id of NO_DOCUMENTS) {
    it(`do not have ids like ${id.slice(0, 60)}`, async () => {
      hosts.lookups.length = 0;
      const rows = await app.store.db.selectFrom('metadata_documents').selectAll().execute();
      assert.equal((await open(app, id)).status, 400);
      assert.deepEqual(hosts.lookups, []);
      const after = await app.store.db.selectFrom('metadata_documents').selectAll().execute();
      assert.equal(after.length, rows.length, 'nothing is stored about it');
    });
  }
});

describe('what an operator says about metadata documents', () => {
  it('pins, allows and blocks by client id', async () => {
    await using hosts = await startDocumentHosts();
    const pinned = 'https://claude.ai/oauth/mcp-oauth-client-metadata';
    const allowed = hosts.publish('https://allowed.clients.example/c', DOCUMENT_METADATA);
    const blocked = hosts.publish('https://blocked.clients.example/c', DOCUMENT_METADATA);
    const unlisted = hosts.publish('https://unlisted.clients.example/c', DOCUMENT_METADATA);
    const metadataDocuments = {
      pinned: { [pinned]: DOCUMENT_METADATA },
      allow: [pinned, allowed, blocked],
      block: [blocked],
    };
    await using app = await startTestApp({
      dialect: 'sqlite',
      config: { oauth: { metadataDocuments } },
      fetchPorts: hosts.ports,
    });
    assert.ok(isLogin(await open(app, pinned)));
    assert.deepEqual(hosts.requests, [], 'a pinned document is never fetched');
    assert.ok(isLogin(await open(app, allowed)));
    assert.equal((await open(app, blocked)).status, 403);
    assert.equal((await open(app, unlisted)).status, 403);
    assert.deepEqual(hosts.requests, ['allowed.clients.example/c']);
    assert.equal((await clientOf(app, blocked).refresh('x'.repeat(43))).status, 401);
  });
});

describe('a flood of metadata documents', () => {
  it('ends for the one who sends it, and for nobody else', async () => {
    await using hosts = await startDocumentHosts();
    const config = { trustedProxies: ['127.0.0.1'] };
    await using app = await startTestApp({ dialect: 'sqlite', config, fetchPorts: hosts.ports });
    const known = hosts.publish('https://known.clients.example/c', DOCUMENT_METADATA);
    assert.ok(isLogin(await open(app, known, forwardedFrom('198.18.7.1'))));
    let refused = 0;
    for (let count = 0; count < 70; count += 1) {
      const page = await open(
        app,
        `https://flood.clients.example/${count}`,
        forwardedFrom('198.18.7.2'),
      );
      if (page.status !== 429) continue;
      refused += 1;
      assert.ok(Number(page.headers.get('retry-after')) > 0);
    }
    assert.equal(refused, 10);
    assert.equal(hosts.requests.length, 61);
    assert.ok(
      isLogin(await open(app, known, forwardedFrom('198.18.7.2'))),
      'what is known is still served',
    );
    const fresh = hosts.publish('https://fresh.clients.example/c', DOCUMENT_METADATA);
    assert.ok(isLogin(await open(app, fresh, forwardedFrom('198.18.7.3'))));
  });

  it('that asks for one a thousand times is one fetch', async () => {
    await using hosts = await startDocumentHosts();
    const config = { trustedProxies: ['127.0.0.1'] };
    await using app = await startTestApp({ dialect: 'sqlite', config, fetchPorts: hosts.ports });
    const id = hosts.publish('https://popular.clients.example/c', DOCUMENT_METADATA);
    const statuses = new Set<number>();
    const ask = async (address: string): Promise<void> => {
      const { url } = clientOf(app, id).authorize();
      const headers = forwardedFrom(address);
      statuses.add((await createPerson(app).request(url, { headers })).status);
    };
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 50 }, (_, host) => ask(`198.18.9.${host}`)));
    }
    assert.deepEqual([...statuses], [303], 'each is led on to the login');
    assert.equal(hosts.requests.length, 1);
  });
});
