import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DAY, HOUR } from '#src/clock.ts';
import { digest } from '#src/ids.ts';
import { DIALECTS, forwardedFrom, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock } from '../support/clock.ts';
import { KNOWN_REGISTRATIONS } from '../support/known-clients.ts';
import {
  callTool,
  CLI_METADATA,
  createOAuthClient,
  obtainTokens,
  register,
  registerClient,
  REGISTER_PATH,
  send,
  WEB_METADATA,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/** Metadata of a public client that nobody has registered before. */
function newMetadata(name: string): typeof CLI_METADATA {
  return { ...CLI_METADATA, client_name: name };
}

for (const dialect of DIALECTS) {
  describe(`registration on ${dialect}`, () => {
    let app: TestApp;
    before(async () => {
      app = await startTestApp({
        dialect,
        config: { oauth: { registrationsPerAddressPerHour: 1_000 } },
      });
    });
    after(() => app[Symbol.asyncDispose]());

    it('echoes what was accepted, with defaults and without nulls', async () => {
      const answer = await register(app, {
        redirect_uris: ['http://localhost:1/cb'],
        client_name: 'Echo',
        logo_uri: null,
        scope: '',
        application_type: 'web',
        grant_types: [
          'authorization_code',
          'refresh_token',
          'urn:ietf:params:oauth:grant-type:device_code',
        ],
      });
      assert.equal(answer.status, 201, answer.text);
      const { client_id: id, client_id_issued_at: at, ...rest } = answer.body;
      assert.match(String(id), /^cli_[0-9a-f]{30}$/);
      assert.ok(Math.abs(Number(at) - Date.now() / 1_000) < 60);
      assert.deepEqual(rest, {
        redirect_uris: ['http://localhost:1/cb'],
        client_name: 'Echo',
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      });
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    });

    it('gives the same metadata the same id and echoes the redirect URIs of each request', async () => {
      const uris = ['http://localhost:1000/cb', 'https://app.example/cb'];
      const first = await register(app, { ...newMetadata('Twice'), redirect_uris: uris });
      const again = ['https://app.example/cb', 'http://localhost:2000/cb'];
      const second = await register(app, {
        ...newMetadata('Twice'),
        scope: '',
        redirect_uris: again,
      });
      assert.equal(second.status, 201);
      assert.equal(second.body['client_id'], first.body['client_id']);
      assert.equal(second.body['client_id_issued_at'], first.body['client_id_issued_at']);
      assert.deepEqual(second.body['redirect_uris'], again);
    });

    it('gives one id to twelve that register at the same moment', async () => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => register(app, newMetadata('Crowd'))),
      );
      assert.deepEqual([...new Set(answers.map((one) => one.status))], [201]);
      assert.equal(new Set(answers.map((one) => one.body['client_id'])).size, 1);
    });

    for (const method of ['client_secret_basic', 'client_secret_post']) {
      it(`gives a ${method} client a secret, and keeps its digest only`, async () => {
        const answer = await register(app, { ...WEB_METADATA, token_endpoint_auth_method: method });
        const secret = String(answer.body['client_secret']);
        assert.equal(Buffer.from(secret, 'base64url').length, 32);
        assert.equal(answer.body['client_secret_expires_at'], 0);
        const row = await app.store.db
          .selectFrom('clients')
          .selectAll()
          .where('id', '=', String(answer.body['client_id']))
          .executeTakeFirstOrThrow();
        assert.equal(row.secret_digest, digest(secret));
        assert.ok(!JSON.stringify(row).includes(secret));
      });
    }

    it('gives two clients with secrets two ids', async () => {
      const sent = { ...WEB_METADATA, token_endpoint_auth_method: 'client_secret_basic' };
      const [a, b] = await Promise.all([register(app, sent), register(app, sent)]);
      assert.notEqual(a.body['client_id'], b.body['client_id']);
      assert.notEqual(a.body['client_secret'], b.body['client_secret']);
    });

    it('keeps a name with control characters out of the rows', async () => {
      const answer = await register(app, newMetadata('Nul\0 and \u202eback'));
      assert.equal(answer.status, 201, answer.text);
      const client = createOAuthClient(app, {
        id: String(answer.body['client_id']),
        redirectUri: CLI_METADATA.redirect_uris[0] ?? '',
      });
      const tokens = await obtainTokens(createPerson(app), client);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
    });

    for (const { client, metadata, uses } of KNOWN_REGISTRATIONS) {
      it(`lets ${client} log in`, async () => {
        for (const redirectUri of uses) {
          const registered = await registerClient(app, metadata, { redirectUri });
          const tokens = await obtainTokens(createPerson(app), registered);
          const refreshed = await registered.refresh(tokens.refreshToken);
          assert.equal(refreshed.status, 200, refreshed.text);
        }
      });
    }
  });

  describe(`limits of registration on ${dialect}`, () => {
    const clock = createTestClock();
    let app: TestApp;
    before(async () => {
      const oauth = { registrationsPerAddressPerHour: 3, maxDynamicClients: 8, idleClientDays: 30 };
      app = await startTestApp({
        dialect,
        clock,
        config: { oauth, trustedProxies: ['127.0.0.1'] },
      });
    });
    after(() => app[Symbol.asyncDispose]());

    it('counts new clients of an address only, IPv6 by /64', async () => {
      const from = (address: string, name: string) =>
        register(app, newMetadata(name), forwardedFrom(address));
      for (const name of ['one', 'two', 'three', 'one', 'two', 'three', 'one']) {
        assert.equal((await from('2001:db9:1:2::1', name)).status, 201);
      }
      const refused = await from('2001:db9:1:2:ffff::9', 'four');
      assert.equal(refused.status, 429);
      assert.equal(refused.body['error'], 'too_many_requests');
      const retryAfter = Number(refused.headers.get('retry-after'));
      assert.ok(retryAfter > 3_500 && retryAfter <= 3_600, `${retryAfter}`);
      assert.equal(
        (await from('2001:db9:1:2::1', 'two')).status,
        201,
        'known ones are still answered',
      );
      assert.equal((await from('2001:db9:1:3::1', 'four')).status, 201, 'others are not held up');
      clock.advance(HOUR + 1_000);
      assert.equal((await from('2001:db9:1:2::1', 'five')).status, 201);
    });

    it('counts a client once that registers many times at the same moment', async () => {
      const oauth = { registrationsPerAddressPerHour: 3 };
      await using fresh = await startTestApp({ dialect, config: { oauth } });
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => register(fresh, newMetadata('crowd'))),
      );
      assert.deepEqual([...new Set(answers.map((one) => one.status))], [201]);
      for (const [name, status] of [
        ['second', 201],
        ['third', 201],
        ['fourth', 429],
      ] as const) {
        assert.equal((await register(fresh, newMetadata(name))).status, status, name);
      }
    });

    it('does not count what it refuses as invalid', async () => {
      const headers = forwardedFrom('198.18.0.1');
      for (let count = 0; count < 5; count += 1) {
        assert.equal(
          (await register(app, { redirect_uris: ['javascript:x'] }, headers)).status,
          400,
        );
      }
      assert.equal((await register(app, newMetadata('six'), headers)).status, 201);
    });

    it('is full at some point, and makes room by removing what nobody uses', async () => {
      const from = (n: number, name: string) =>
        register(app, newMetadata(name), forwardedFrom(`198.18.1.${n}`));
      assert.equal((await from(1, 'seven')).status, 201);
      const used = await registerClient(app, newMetadata('used'));
      await obtainTokens(createPerson(app), used);
      const full = await from(2, 'nine');
      assert.equal(full.status, 503);
      assert.equal(full.body['error'], 'temporarily_unavailable');
      assert.ok(Number(full.headers.get('retry-after')) > 0);
      assert.equal((await from(3, 'seven')).status, 201, 'known ones are still answered');
      clock.advance(31 * DAY);
      assert.equal((await from(4, 'nine')).status, 201);
      const left = await app.store.db
        .selectFrom('clients')
        .select('name')
        .orderBy('name')
        .execute();
      assert.deepEqual(
        left.map((row) => row.name),
        ['nine', 'used'],
        'a live grant keeps its client',
      );
      assert.equal((await app.audit('client.removed')).length, 7);
    });

    it('tells a client that was removed to register again', async () => {
      const gone = createOAuthClient(app, {
        id: 'cli_000000000000000000000000000000',
        redirectUri: 'http://127.0.0.1:7000/callback',
      });
      const answer = await gone.refresh('x'.repeat(43));
      assert.equal(answer.status, 401);
      assert.equal(answer.error, 'invalid_client');
    });
  });
}

describe('the registration endpoint', () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp({ dialect: 'sqlite' });
  });
  after(() => app[Symbol.asyncDispose]());

  const json = { 'content-type': 'application/json' };
  const REFUSED: [what: string, init: RequestInit, status: number, error: string][] = [
    ['a form', { body: new URLSearchParams({ client_name: 'x' }) }, 400, 'invalid_request'],
    ['no JSON', { headers: json, body: '{' }, 400, 'invalid_request'],
    ['a list', { headers: json, body: '[]' }, 400, 'invalid_request'],
    ['null', { headers: json, body: 'null' }, 400, 'invalid_request'],
    [
      'bytes that are no text',
      { headers: json, body: new Uint8Array([0x7b, 0xff, 0x7d]) },
      400,
      'invalid_request',
    ],
    [
      'more than 64 KiB',
      { headers: json, body: JSON.stringify({ x: 'y'.repeat(70_000) }) },
      413,
      'invalid_request',
    ],
    ['nothing', { headers: json, body: '{}' }, 400, 'invalid_redirect_uri'],
    [
      '__proto__',
      { headers: json, body: '{"__proto__":{"redirect_uris":["https://app.example/"]}}' },
      400,
      'invalid_redirect_uri',
    ],
    [
      'a bad redirect URI',
      { headers: json, body: '{"redirect_uris":["http://app.example/"]}' },
      400,
      'invalid_redirect_uri',
    ],
  ];
  for (const [what, init, status, error] of REFUSED) {
    it(`refuses ${what}`, async () => {
      const answer = await send(app, REGISTER_PATH, { method: 'POST', ...init });
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.body['error'], error);
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    });
  }

  it('takes JSON with a character set', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    assert.equal((await register(app, CLI_METADATA, headers)).status, 201);
  });

  for (const path of [`${REGISTER_PATH}/`, '/mcp/oauth/REGISTER', '/MCP/oauth/register']) {
    it(`is not at ${path}`, async () => {
      const init = { method: 'POST', headers: json, body: JSON.stringify(CLI_METADATA) };
      assert.equal((await send(app, path, init)).status, 404);
    });
  }

  it('can be switched off', async () => {
    await using closed = await startTestApp({
      dialect: 'sqlite',
      config: { oauth: { dynamicRegistration: false } },
    });
    assert.equal((await register(closed, CLI_METADATA)).status, 404);
    const metadata = await send(closed, '/.well-known/oauth-authorization-server');
    assert.ok(!('registration_endpoint' in metadata.body));
  });
});
