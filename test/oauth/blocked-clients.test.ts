import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ClientId } from '#src/ids.ts';
import { findClient, insertClient, removeClient, setClientStatus } from '#src/storage/clients.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { DOCUMENT_METADATA, startDocumentHosts, type DocumentHosts } from '../support/documents.ts';
import {
  callTool,
  createOAuthClient,
  obtainCode,
  obtainTokens,
  registerClient,
  WEB_METADATA,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson, type Person } from '../support/person.ts';

/** What `clients block`, `unblock` and `remove` do to a client that is in use, at once and everywhere. */

for (const dialect of DIALECTS) {
  describe(`a client on ${dialect}`, () => {
    let app: TestApp;
    let other: TestApp;
    let hosts: DocumentHosts;
    before(async () => {
      hosts = await startDocumentHosts();
      const shared = { dialect, fetchPorts: hosts.ports };
      app = await startTestApp({
        ...shared,
        config: { oauth: { registrationsPerAddressPerHour: 1_000 } },
      });
      const { state, keysFolder, origin } = app;
      other = await startTestApp({ ...shared, state, keysFolder, config: { publicUrl: origin } });
    });
    after(async () => {
      await other[Symbol.asyncDispose]();
      await app[Symbol.asyncDispose]();
      await hosts[Symbol.asyncDispose]();
    });

    async function setStatus(id: string, status: 'active' | 'blocked'): Promise<void> {
      await app.store.transaction(async (work) => {
        const client = await findClient(work.db, id);
        assert.ok(client);
        assert.equal(await setClientStatus(work, 'cli', { client, status }), true);
      });
    }

    /** The same client, talking to the other process. */
    function elsewhere(client: OAuthClient): OAuthClient {
      const { id, secret, redirectUri } = client;
      return createOAuthClient({ origin: app.origin, url: other.url }, { id, secret, redirectUri });
    }

    async function assertRefused(client: OAuthClient, tokens: TokenAnswer): Promise<void> {
      for (const site of [app, other]) {
        const called = await callTool(site, tokens.accessToken);
        assert.equal(called.status, 401);
        assert.match(called.headers.get('www-authenticate') ?? '', /invalid_token/);
      }
      for (const one of [client, elsewhere(client)]) {
        const refreshed = await one.refresh(tokens.refreshToken);
        assert.deepEqual([refreshed.status, refreshed.error], [401, 'invalid_client']);
        const page = await createPerson(one.site).follow(one.authorize().url);
        assert.deepEqual([page.status, page.leftFor], [403, undefined]);
        assert.match(page.html, /not allowed here/);
      }
    }

    for (const secret of ['none', 'client_secret_basic']) {
      it(`is refused at the next request when it is blocked, and works when it is not (${secret})`, async () => {
        const client = await registerClient(app, {
          ...WEB_METADATA,
          token_endpoint_auth_method: secret,
        });
        const tokens = await obtainTokens(createPerson(app), client);
        assert.equal((await callTool(other, tokens.accessToken)).status, 200);
        await setStatus(client.id, 'blocked');
        await assertRefused(client, tokens);
        await setStatus(client.id, 'active');
        for (const site of [app, other]) {
          assert.equal((await callTool(site, tokens.accessToken)).status, 200);
        }
        const refreshed = await elsewhere(client).refresh(tokens.refreshToken);
        assert.equal(refreshed.status, 200, refreshed.text);
        assert.equal((await callTool(app, refreshed.accessToken)).status, 200);
      });
    }

    it('gets no code and no token when it is blocked while a person is deciding', async () => {
      const client = await registerClient(app);
      const person: Person = createPerson(app);
      const { authorization, returned } = await obtainCode(person, client);
      const consent = await person.follow(client.authorize().url);
      assert.equal(consent.status, 200);
      await setStatus(client.id, 'blocked');
      const redeemed = await client.redeem(authorization, returned);
      assert.deepEqual([redeemed.status, redeemed.error], [401, 'invalid_client']);
      const allowed = await person.allow(consent);
      assert.deepEqual([allowed.status, allowed.leftFor], [403, undefined]);
      await setStatus(client.id, 'active');
      assert.equal((await client.redeem(authorization, returned)).status, 200);
    });

    it('is refused when its document was blocked before anybody saw it', async () => {
      const id = hosts.publish('https://ahead.clients.example/client', DOCUMENT_METADATA);
      await app.store.transaction((work) =>
        insertClient(work, {
          id: id as ClientId,
          kind: 'document',
          name: 'ahead.clients.example',
          metadata: {},
          secretDigest: null,
        }),
      );
      await setStatus(id, 'blocked');
      const [redirectUri = ''] = DOCUMENT_METADATA.redirect_uris;
      const client = createOAuthClient(app, { id, redirectUri });
      const page = await createPerson(app).follow(client.authorize().url);
      assert.deepEqual([page.status, page.leftFor], [403, undefined]);
      assert.deepEqual(hosts.requests, [], 'nothing was fetched');
      await setStatus(id, 'active');
      const tokens = await obtainTokens(createPerson(app), client);
      await setStatus(id, 'blocked');
      await assertRefused(client, tokens);
    });

    it('is unknown when it is removed, with every token', async () => {
      const client = await registerClient(app, {
        ...WEB_METADATA,
        token_endpoint_auth_method: 'client_secret_basic',
      });
      const tokens = await obtainTokens(createPerson(app), client);
      await app.store.transaction(async (work) => {
        const stored = await findClient(work.db, client.id);
        assert.ok(stored);
        const revoked = await removeClient(work, 'cli', stored);
        assert.deepEqual(
          revoked.map((one) => one.tokens),
          [2],
        );
      });
      for (const site of [app, other]) {
        assert.equal((await callTool(site, tokens.accessToken)).status, 401);
      }
      for (const one of [client, elsewhere(client)]) {
        const refreshed = await one.refresh(tokens.refreshToken);
        assert.deepEqual([refreshed.status, refreshed.error], [401, 'invalid_client']);
      }
      const page = await createPerson(app).follow(client.authorize().url);
      assert.equal(page.leftFor, undefined);
      assert.match(page.html, /do not know this app/);
      const rows = (await app.audit()).filter((row) => row.clientId === client.id);
      assert.deepEqual(
        rows.slice(-2).map((row) => [row.action, row.subject]),
        [
          ['grant.revoked', 'walter'],
          ['client.removed', 'Test Web'],
        ],
      );
    });

    it('that an administrator added works like one that registered', async () => {
      const id = 'cli_added' as ClientId;
      await app.store.transaction((work) =>
        insertClient(
          work,
          {
            id,
            kind: 'static',
            name: 'Sales app',
            metadata: { ...WEB_METADATA, client_name: 'Sales app' },
            secretDigest: null,
          },
          'cli',
        ),
      );
      const client = createOAuthClient(app, { id, redirectUri: 'https://app.example/callback' });
      const person = createPerson(app);
      const login = await person.follow(client.authorize().url);
      const consent = await person.logIn(login, { name: 'walter' });
      assert.match(consent.html, /Sales app/);
      assert.match(consent.html, /administrator/);
      const tokens = await obtainTokens(person, client);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
      assert.equal((await client.refresh(tokens.refreshToken)).status, 200);
    });
  });
}
