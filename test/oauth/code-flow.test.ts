import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { HOUR, MINUTE } from '#src/clock.ts';
import { listGrants } from '#src/storage/grants.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  callTool,
  challengeOf,
  CLI_METADATA,
  obtainCode,
  registerClient,
  type Changes,
  type OAuthClient,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

for (const dialect of DIALECTS) {
  describe(`the code flow on ${dialect}`, () => {
    let app: TestApp;
    let clock: TestClock;
    let client: OAuthClient;
    before(async () => {
      clock = createTestClock();
      app = await startTestApp({ dialect, clock });
      const redirect_uris = [...CLI_METADATA.redirect_uris, 'https://app.example/callback'];
      client = await registerClient(app, { ...CLI_METADATA, redirect_uris });
    });
    after(() => app[Symbol.asyncDispose]());

    it('goes from registration to a tool call, and survives a restart', async () => {
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      assert.equal(returned.origin + returned.pathname, client.redirectUri);
      assert.deepEqual([...returned.searchParams.keys()].toSorted(), ['code', 'iss', 'state']);
      assert.equal(returned.searchParams.get('iss'), `${app.origin}/mcp`);
      assert.equal(returned.searchParams.get('state'), authorization.state);
      await app.restart();
      const tokens = await client.redeem(authorization, returned);
      assert.equal(tokens.status, 200, tokens.text);
      assert.equal(tokens.headers.get('cache-control'), 'no-store');
      const { access_token: _access, refresh_token: _refresh, ...rest } = tokens.body;
      assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 900, scope: 'mcp writer' });
      await app.restart();
      const called = await callTool(app, tokens.accessToken);
      assert.equal(called.status, 200, called.text);
    });

    it('gives an access token that says who, for what and how long, and nothing else', async () => {
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      const tokens = await client.redeem(authorization, returned);
      const [header = '', payload = ''] = tokens.accessToken
        .split('.')
        .map((part) => Buffer.from(part, 'base64url').toString());
      assert.deepEqual(JSON.parse(header), {
        alg: 'HS256',
        typ: 'at+jwt',
        kid: app.keys.activeKid,
      });
      const { sub, gid, iat, exp, jti, ...rest } = JSON.parse(payload) as Record<string, unknown>;
      assert.deepEqual(rest, {
        iss: `${app.origin}/mcp`,
        aud: `${app.origin}/mcp`,
        client_id: client.id,
      });
      assert.equal(sub, (await app.findUser('walter')).id);
      assert.match(String(gid), /^gr_/);
      assert.equal(Number(exp) - Number(iat), 900);
      assert.ok(typeof jti === 'string' && jti.length > 20);
    });

    const REFUSED: [what: string, changes: Changes, status: number, error: string][] = [
      ['no code', { code: null }, 400, 'invalid_request'],
      ['an unknown code', { code: 'x'.repeat(43) }, 400, 'invalid_grant'],
      ['no verifier', { code_verifier: null }, 400, 'invalid_grant'],
      ['another verifier', { code_verifier: 'v'.repeat(43) }, 400, 'invalid_grant'],
      [
        'the challenge in place of the verifier',
        { code_verifier: challengeOf('x'.repeat(43)) },
        400,
        'invalid_grant',
      ],
      ['no redirect URI', { redirect_uri: null }, 400, 'invalid_request'],
      [
        'another redirect URI',
        { redirect_uri: 'http://127.0.0.1:7001/callback' },
        400,
        'invalid_grant',
      ],
      ['another resource', { resource: 'https://other.example/mcp' }, 400, 'invalid_target'],
      [
        'our resource and another',
        { resource: ['OURS', 'https://other.example/mcp'] },
        400,
        'invalid_target',
      ],
      ['a code twice', { code: ['a', 'b'] }, 400, 'invalid_request'],
      ['a verifier twice', { code_verifier: ['a', 'b'] }, 400, 'invalid_request'],
      [
        'a grant type twice',
        { grant_type: ['authorization_code', 'refresh_token'] },
        400,
        'invalid_request',
      ],
      ['a scope twice', { scope: ['mcp', 'mcp'] }, 400, 'invalid_request'],
      ['a client id twice', { client_id: ['a', 'a'] }, 400, 'invalid_request'],
      ['no client id', { client_id: null }, 400, 'invalid_request'],
      ['an unknown client', { client_id: 'cli_0' }, 401, 'invalid_client'],
      ['a client id that no database could look up', { client_id: 'a\0b' }, 401, 'invalid_client'],
      ['no grant type', { grant_type: null }, 400, 'invalid_request'],
      [
        'the grant type client_credentials',
        { grant_type: 'client_credentials' },
        400,
        'unsupported_grant_type',
      ],
      ['the grant type implicit', { grant_type: 'implicit' }, 400, 'unsupported_grant_type'],
    ];
    it('refuses what is wrong with a redemption, and the code is still good', async () => {
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      for (const [what, changes, status, error] of REFUSED) {
        const sent = JSON.parse(
          JSON.stringify(changes).replaceAll('OURS', `${app.origin}/mcp`),
        ) as Changes;
        const answer = await client.redeem(authorization, returned, sent);
        assert.deepEqual([what, answer.status, answer.error], [what, status, error]);
      }
      const other = await registerClient(app, {
        client_name: 'Other',
        redirect_uris: [client.redirectUri],
      });
      const stolen = await other.redeem(authorization, returned);
      assert.deepEqual([stolen.status, stolen.error], [400, 'invalid_grant']);
      assert.equal((await client.redeem(authorization, returned)).status, 200);
    });

    it('ends the grant when a code is redeemed twice', async () => {
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      const tokens = await client.redeem(authorization, returned);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
      const again = await client.redeem(authorization, returned);
      assert.deepEqual([again.status, again.error], [400, 'invalid_grant']);
      assert.equal((await callTool(app, tokens.accessToken)).status, 401);
      assert.equal((await client.refresh(tokens.refreshToken)).error, 'invalid_grant');
      const [row] = (await app.audit('grant.revoked')).slice(-1);
      assert.equal(row?.detail['reason'], 'code_reuse');
    });

    it('ends the grant also when the second time is late', async () => {
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      const tokens = await client.redeem(authorization, returned);
      clock.advance(5 * MINUTE);
      assert.equal((await client.redeem(authorization, returned)).error, 'invalid_grant');
      assert.equal((await callTool(app, tokens.accessToken)).status, 401);
    });

    it('lets at most one of many at the same moment redeem a code, and then nothing works', async () => {
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => client.redeem(authorization, returned)),
      );
      const good = answers.filter((answer) => answer.status === 200);
      assert.ok(good.length <= 1, `${good.length} of 6 got tokens`);
      for (const answer of answers)
        if (answer.status !== 200) assert.equal(answer.error, 'invalid_grant');
      for (const tokens of good) {
        assert.equal((await callTool(app, tokens.accessToken)).status, 401);
        assert.equal((await client.refresh(tokens.refreshToken)).error, 'invalid_grant');
      }
    });

    it('takes a code for 60 seconds', async () => {
      const soon = await obtainCode(createPerson(app), client);
      clock.advance(50_000);
      assert.equal((await client.redeem(soon.authorization, soon.returned)).status, 200);
      const late = await obtainCode(createPerson(app), client);
      clock.advance(61_000);
      assert.equal((await client.redeem(late.authorization, late.returned)).error, 'invalid_grant');
    });

    for (const hours of [-3, 3]) {
      it(`works where the store's time is ${hours} hours away from the machine's`, async () => {
        const elsewhere = createTestClock();
        elsewhere.advance(hours * HOUR);
        await using skewed = await startTestApp({ dialect, clock: elsewhere });
        const there = await registerClient(skewed);
        const { authorization, returned } = await obtainCode(createPerson(skewed), there);
        const tokens = await there.redeem(authorization, returned);
        assert.equal(tokens.body['expires_in'], 900, tokens.text);
        assert.equal((await callTool(skewed, tokens.accessToken)).status, 200);
        const refreshed = await there.refresh(tokens.refreshToken);
        assert.equal((await callTool(skewed, refreshed.accessToken)).status, 200);
      });
    }

    it('gives no tokens when the grant was revoked meanwhile', async () => {
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      await app.store.transaction((work) =>
        revokeGrants(work, {
          actor: 'test',
          reason: 'administrator',
          where: { clientId: client.id },
        }),
      );
      assert.equal((await client.redeem(authorization, returned)).error, 'invalid_grant');
    });

    it('keeps a grant for each authorization', async () => {
      const first = await obtainCode(createPerson(app), client);
      const second = await obtainCode(createPerson(app), client);
      const tokens = await client.redeem(first.authorization, first.returned);
      await client.redeem(second.authorization, second.returned);
      await client.revoke(tokens.refreshToken);
      const grants = await listGrants(app.store.db, { clientId: client.id });
      const [newest, before] = grants;
      assert.equal(newest?.revokedAt, null);
      assert.equal(before?.revokedReason, 'client_revoked');
    });
  });
}
