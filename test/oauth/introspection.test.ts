import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import * as oauth from 'oauth4webapi';
import { MINUTE } from '#src/clock.ts';
import { fileKeys } from '#src/credentials/key-file.ts';
import { rotateKeys } from '#src/credentials/rotate-keys.ts';
import { digest, type ClientId } from '#src/ids.ts';
import {
  findClient,
  insertClient,
  removeClient,
  setClientStatus,
  type StoredClient,
} from '#src/storage/clients.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { disableUser } from '#src/storage/users.ts';
import { DIALECTS, startTestApp, type Dialect, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  callTool,
  createOAuthClient,
  INTROSPECT_PATH,
  obtainCode,
  obtainTokens,
  registerClient,
  send,
  WEB_METADATA,
  type Answer,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

const ID = 'cli_asker' as ClientId;
const SECRET = 'the secret of a resource server';

interface House extends AsyncDisposable {
  app: TestApp;
  clock: TestClock;
  client: OAuthClient;
}

async function openHouse(dialect: Dialect): Promise<House> {
  const clock = createTestClock();
  const app = await startTestApp({ dialect, clock });
  await addClient(app, { id: ID, kind: 'resource-server', secret: SECRET });
  const client = await registerClient(app);
  const house: House = {
    app,
    clock,
    client,
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
  return house;
}

async function addClient(
  app: TestApp,
  { id, kind, secret }: { id: ClientId; kind: StoredClient['kind']; secret: string },
): Promise<void> {
  const metadata = { ...WEB_METADATA, token_endpoint_auth_method: 'client_secret_basic' };
  const client = { id, kind, name: 'Asker', metadata, secretDigest: digest(secret) };
  await app.store.transaction((work) => insertClient(work, client, 'cli'));
}

function basic(id: string, secret: string): Record<string, string> {
  return {
    authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`,
  };
}

/** Asks with these headers and fields, as the resource server unless told otherwise. */
function ask(
  app: TestApp,
  fields: Record<string, string> | [string, string][],
  headers: Record<string, string> = basic(ID, SECRET),
): Promise<Answer> {
  return send(app, INTROSPECT_PATH, { method: 'POST', headers, body: new URLSearchParams(fields) });
}

async function assertInactive(app: TestApp, token: string, what: string): Promise<void> {
  for (const hint of [
    {},
    { token_type_hint: 'access_token' },
    { token_type_hint: 'refresh_token' },
  ]) {
    const answer = await ask(app, { token, ...hint });
    assert.deepEqual([answer.status, answer.text], [200, '{"active":false}'], what);
  }
}

/** What ends the worth of a good access token. */
const ENDINGS: Record<string, (house: House, tokens: TokenAnswer) => Promise<void> | void> = {
  'its grant is revoked': async ({ app }) => {
    const where = { clientId: (await onlyGrant(app)).client_id };
    const revocation = { actor: 'cli', reason: 'administrator' as const, where };
    await app.store.transaction((work) => revokeGrants(work, revocation));
  },
  'the client revokes it': async ({ client }, tokens) => {
    await client.revoke(tokens.accessToken);
  },
  'its user is disabled': async ({ app }) => {
    const user = await app.findUser('walter');
    await app.store.transaction((work) => disableUser(work, 'cli', user));
  },
  'its user has lost every privilege': async ({ app }) => setRoles(app, ['guests']),
  'its client is blocked': async ({ app, client }) => {
    await withClient(app, client, (work, stored) =>
      setClientStatus(work, 'cli', { client: stored, status: 'blocked' }),
    );
  },
  'its client is removed': async ({ app, client }) => {
    await withClient(app, client, (work, stored) => removeClient(work, 'cli', stored));
  },
  'its key is dropped': async ({ app }) => {
    await rotateKeys({
      folder: app.keysFolder,
      source: fileKeys(app.keysFolder),
      store: app.store,
      actor: 'test',
      accessTokenTtlSeconds: 900,
      now: true,
    });
  },
  'it expires': ({ clock }) => clock.advance(15 * MINUTE),
};

async function onlyGrant({
  store,
}: TestApp): Promise<{ client_id: string; last_used_at: number | null }> {
  return store.db
    .selectFrom('grants')
    .select(['client_id', 'last_used_at'])
    .executeTakeFirstOrThrow();
}

async function setRoles({ store }: TestApp, roles: string[]): Promise<void> {
  await store.db
    .updateTable('users')
    .set({ roles: JSON.stringify(roles) })
    .where('name', '=', 'walter')
    .execute();
}

async function withClient(
  { store }: TestApp,
  { id }: OAuthClient,
  change: (work: Parameters<typeof removeClient>[0], stored: StoredClient) => Promise<unknown>,
): Promise<void> {
  await store.transaction(async (work) => {
    const stored = await findClient(work.db, id);
    assert.ok(stored);
    await change(work, stored);
  });
}

for (const dialect of DIALECTS) {
  describe(`introspection on ${dialect}`, () => {
    it('describes an access token that counts, and is no use of it', async () => {
      await using house = await openHouse(dialect);
      const { app, client } = house;
      const tokens = await obtainTokens(createPerson(app), client);
      const claims = JSON.parse(
        Buffer.from(tokens.accessToken.split('.')[1] ?? '', 'base64url').toString(),
      ) as Record<string, unknown>;
      const expected = {
        active: true,
        scope: 'mcp reader writer',
        client_id: client.id,
        username: 'walter',
        token_type: 'Bearer',
        ...claims,
      };
      for (const [headers, fields] of [
        [basic(ID, SECRET), {}],
        [basic(ID, SECRET), { client_id: ID, token_type_hint: 'access_token' }],
        [{}, { client_id: ID, client_secret: SECRET, token_type_hint: 'refresh_token' }],
      ]) {
        const answer = await ask(app, { token: tokens.accessToken, ...fields }, headers);
        assert.deepEqual([answer.status, answer.body], [200, expected]);
        assert.equal(answer.headers.get('cache-control'), 'no-store');
        assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
      }
      assert.equal((await onlyGrant(app)).last_used_at, null);
    });

    it('says what the privileges come to with the roles of this moment', async () => {
      await using house = await openHouse(dialect);
      const { app, client } = house;
      const tokens = await obtainTokens(createPerson(app), client, { privileges: ['writer'] });
      const scope = async (): Promise<unknown> =>
        (await ask(app, { token: tokens.accessToken })).body['scope'];
      assert.equal(await scope(), 'mcp reader writer');
      await setRoles(app, ['readers']);
      assert.equal(await scope(), 'mcp reader');
      await setRoles(app, ['owners']);
      assert.equal(await scope(), 'mcp reader writer', 'never more than was consented to');
    });

    for (const [what, end] of Object.entries(ENDINGS)) {
      it(`says nothing about a token once ${what}`, async () => {
        await using house = await openHouse(dialect);
        const tokens = await obtainTokens(createPerson(house.app), house.client);
        assert.equal((await ask(house.app, { token: tokens.accessToken })).body['active'], true);
        await end(house, tokens);
        await assertInactive(house.app, tokens.accessToken, what);
        assert.notEqual((await callTool(house.app, tokens.accessToken)).status, 200);
      });
    }
  });
}

describe('introspection', () => {
  let house: House;
  let tokens: TokenAnswer;
  before(async () => {
    house = await openHouse('sqlite');
    tokens = await obtainTokens(createPerson(house.app), house.client);
  });
  after(() => house[Symbol.asyncDispose]());

  it('says nothing about what is no access token of ours', async () => {
    const { app, client } = house;
    await using foreign = await startTestApp({ dialect: 'sqlite' });
    const elsewhere = await obtainTokens(createPerson(foreign), await registerClient(foreign));
    const { returned } = await obtainCode(createPerson(app), client);
    const refreshed = await client.refresh(tokens.refreshToken);
    const [header, payload, signature = ''] = tokens.accessToken.split('.');
    const none = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
    const cases: Record<string, string> = {
      'a refresh token': refreshed.refreshToken,
      'a used refresh token': tokens.refreshToken,
      'a code': returned.searchParams.get('code') ?? '',
      'a token of another server': elsewhere.accessToken,
      'a changed signature': [header, payload, signature.toUpperCase()].join('.'),
      'no algorithm': `${none}.${payload}.`,
      'a secret': SECRET,
      'what is nothing': 'x',
      'what is too long': 'x'.repeat(20_000),
      'three parts': 'a.b.c',
      'odd characters': 'a\0🐎',
    };
    for (const [what, token] of Object.entries(cases)) await assertInactive(app, token, what);
  });

  it('answers nobody but a resource server', async () => {
    const { app, client } = house;
    const token = tokens.accessToken;
    const confidential = await registerClient(app, {
      ...WEB_METADATA,
      token_endpoint_auth_method: 'client_secret_post',
    });
    await addClient(app, { id: 'cli_static' as ClientId, kind: 'static', secret: SECRET });
    await addClient(app, { id: 'cli_out' as ClientId, kind: 'resource-server', secret: SECRET });
    await withClient(app, { ...client, id: 'cli_out' }, (work, stored) =>
      setClientStatus(work, 'cli', { client: stored, status: 'blocked' }),
    );
    const own = confidential.secret ?? '';
    const cases: [what: string, headers: Record<string, string>, fields: Record<string, string>][] =
      [
        ['nobody', {}, {}],
        ['an id alone', {}, { client_id: ID }],
        ['an empty secret', {}, { client_id: ID, client_secret: '' }],
        ['an empty secret in Basic', basic(ID, ''), {}],
        ['a wrong secret', {}, { client_id: ID, client_secret: `${SECRET}x` }],
        ['a wrong secret in Basic', basic(ID, `${SECRET}x`), {}],
        ['the digest of the secret', basic(ID, digest(SECRET)), {}],
        ['an unknown id', basic('cli_none', SECRET), {}],
        ['two ids', basic(ID, SECRET), { client_id: 'cli_static' }],
        ['a public client', {}, { client_id: client.id }],
        ['a registered client', basic(confidential.id, own), {}],
        ['a registered client in the body', {}, { client_id: confidential.id, client_secret: own }],
        ['a client of an administrator', basic('cli_static', SECRET), {}],
        ['a blocked resource server', basic('cli_out', SECRET), {}],
        ['the token itself', { authorization: `Bearer ${token}` }, {}],
        ['half a header', { authorization: 'Basic' }, {}],
        ['a header without a colon', { authorization: `Basic ${btoa(ID)}` }, {}],
        ['a badly written header', { authorization: `Basic ${btoa(`${ID}:%zz`)}` }, {}],
      ];
    for (const [what, headers, fields] of cases) {
      const answer = await ask(app, { token, ...fields }, headers);
      assert.deepEqual([answer.status, answer.body['error']], [401, 'invalid_client'], what);
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /);
      assert.ok(!('active' in answer.body));
    }
  });

  it('refuses what is no introspection request', async () => {
    const { app } = house;
    const twice: [string, string][] = [
      ['token', tokens.accessToken],
      ['token', 'x'],
    ];
    const both = { token: tokens.accessToken, client_id: ID, client_secret: SECRET };
    for (const fields of [{}, { token: '' }, twice, both]) {
      const answer = await ask(app, fields);
      assert.deepEqual([answer.status, answer.body['error']], [400, 'invalid_request']);
    }
    const json = await send(app, INTROSPECT_PATH, {
      method: 'POST',
      headers: { ...basic(ID, SECRET), 'content-type': 'application/json' },
      body: JSON.stringify({ token: tokens.accessToken }),
    });
    assert.deepEqual([json.status, json.body['error']], [400, 'invalid_request']);
    const large = await ask(app, { token: 'x'.repeat(70_000) });
    assert.equal(large.status, 413);
    for (const method of ['GET', 'PUT']) {
      const answer = await send(app, INTROSPECT_PATH, { method, headers: basic(ID, SECRET) });
      assert.equal(answer.status, 405, method);
    }
  });

  it('is not for pages of other origins', async () => {
    const { app } = house;
    const preflight = await send(app, INTROSPECT_PATH, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    const asked = await ask(
      app,
      { token: 'x' },
      { ...basic(ID, SECRET), origin: 'https://app.example' },
    );
    for (const answer of [preflight, asked])
      assert.equal(answer.headers.get('access-control-allow-origin'), null);
  });

  it('is all that a resource server can do', async () => {
    const { app } = house;
    const options = { id: ID, redirectUri: 'https://app.example/callback', secret: SECRET };
    const server = createOAuthClient(app, options);
    const page = await createPerson(app).follow(server.authorize().url);
    assert.deepEqual([page.status >= 400, page.leftFor], [true, undefined]);
    assert.match(page.html, /do not know this app/);
    const refused = [
      await server.token({ grant_type: 'client_credentials' }),
      await server.token({ grant_type: 'authorization_code', code: 'x', code_verifier: 'x' }),
      await server.refresh(tokens.refreshToken),
      await server.revoke(tokens.accessToken),
    ];
    for (const answer of refused)
      assert.deepEqual([answer.status, answer.body['error']], [401, 'invalid_client']);
    assert.equal((await callTool(app, tokens.accessToken)).status, 200, 'nothing was revoked');
  });

  it('is noted as a use of the resource server, and told without what was sent', async () => {
    const { app } = house;
    await ask(app, { token: tokens.accessToken });
    assert.notEqual((await findClient(app.store.db, ID))?.lastUsedAt ?? null, null);
    const told = JSON.stringify(app.events);
    assert.match(told, /"endpoint":"introspect"/);
    for (const secret of [SECRET, tokens.accessToken]) assert.ok(!told.includes(secret));
  });

  it('is what a strict client library expects', async () => {
    const { app } = house;
    const http = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(`${app.origin}/mcp`);
    const server = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { ...http, algorithm: 'oauth2' }),
    );
    const asker = { client_id: ID };
    const inspect = async (token: string, auth: oauth.ClientAuth) =>
      oauth.processIntrospectionResponse(
        server,
        asker,
        await oauth.introspectionRequest(server, asker, auth, token, http),
      );
    for (const auth of [oauth.ClientSecretBasic(SECRET), oauth.ClientSecretPost(SECRET)]) {
      const answer = await inspect(tokens.accessToken, auth);
      assert.deepEqual([answer.active, answer.username], [true, 'walter']);
      assert.equal((await inspect('x', auth)).active, false);
    }
  });
});
