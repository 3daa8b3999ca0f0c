import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MINUTE } from '#src/clock.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  callTool,
  CLI_METADATA,
  obtainCode,
  obtainTokens,
  registerClient,
  REVOKE_PATH,
  send,
  WEB_METADATA,
  type Changes,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

for (const dialect of DIALECTS) {
  describe(`revocation on ${dialect}`, () => {
    let clock: TestClock;
    let app: TestApp;
    let client: OAuthClient;
    before(async () => {
      clock = createTestClock();
      app = await startTestApp({ dialect, clock });
      client = await registerClient(app);
    });
    after(() => app[Symbol.asyncDispose]());

    const logIn = (): Promise<TokenAnswer> => obtainTokens(createPerson(app), client);

    async function assertEnded(tokens: TokenAnswer): Promise<void> {
      assert.equal((await callTool(app, tokens.accessToken)).status, 401);
      assert.equal((await client.refresh(tokens.refreshToken)).error, 'invalid_grant');
    }

    async function assertAlive(tokens: TokenAnswer): Promise<void> {
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
      const again = await client.refresh(tokens.refreshToken);
      assert.equal(again.status, 200, again.text);
    }

    const WAYS: [what: string, token: (tokens: TokenAnswer) => string, changes: Changes][] = [
      ['a refresh token', (tokens) => tokens.refreshToken, {}],
      [
        'a refresh token with its hint',
        (tokens) => tokens.refreshToken,
        { token_type_hint: 'refresh_token' },
      ],
      [
        'a refresh token with the wrong hint',
        (tokens) => tokens.refreshToken,
        { token_type_hint: 'access_token' },
      ],
      [
        'a refresh token with an unknown hint',
        (tokens) => tokens.refreshToken,
        { token_type_hint: 'id_token' },
      ],
      ['an access token', (tokens) => tokens.accessToken, {}],
      [
        'an access token with its hint',
        (tokens) => tokens.accessToken,
        { token_type_hint: 'access_token' },
      ],
      [
        'an access token with the wrong hint',
        (tokens) => tokens.accessToken,
        { token_type_hint: 'refresh_token' },
      ],
    ];
    for (const [what, tokenOf, changes] of WAYS) {
      it(`ends the grant of ${what}`, async () => {
        const [tokens, other] = [await logIn(), await logIn()];
        const answer = await client.revoke(tokenOf(tokens), changes);
        assert.deepEqual([answer.status, answer.text], [200, '']);
        await assertEnded(tokens);
        await assertAlive(other);
        const [row] = (await app.audit('grant.revoked')).slice(-1);
        assert.equal(row?.detail['reason'], 'client_revoked');
        assert.equal(
          (await client.revoke(tokenOf(tokens), changes)).status,
          200,
          'again is no error',
        );
      });
    }

    it('ends the grant of a refresh token that was used', async () => {
      const tokens = await logIn();
      const next = await client.refresh(tokens.refreshToken);
      assert.equal((await client.revoke(tokens.refreshToken)).status, 200);
      await assertEnded(next);
    });

    const UNKNOWN = [
      'x',
      'x'.repeat(43),
      'x'.repeat(5_000),
      'a.b.c',
      'eyJhbGciOiJub25lIn0.e30.',
      '..',
      'a\0b',
      '🐎',
    ];
    it('is no error for a token that nobody has', async () => {
      for (const token of UNKNOWN) {
        for (const changes of [
          {},
          { token_type_hint: 'access_token' },
          { token_type_hint: 'refresh_token' },
        ]) {
          const answer = await client.revoke(token, changes);
          assert.deepEqual([answer.status, answer.text], [200, ''], token.slice(0, 50));
        }
      }
    });

    it("changes nothing for somebody else's token", async () => {
      const other = await registerClient(app, { ...CLI_METADATA, client_name: 'Stranger' });
      const tokens = await logIn();
      for (const token of [tokens.refreshToken, tokens.accessToken]) {
        assert.equal((await other.revoke(token)).status, 200);
      }
      await assertAlive(tokens);
    });

    it('does not take a code for a token', async () => {
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      assert.equal((await client.revoke(returned.searchParams.get('code') ?? '')).status, 200);
      assert.equal((await client.redeem(authorization, returned)).status, 200);
    });

    it('knows an access token that has expired', async () => {
      const tokens = await logIn();
      clock.advance(16 * MINUTE);
      assert.equal((await client.revoke(tokens.accessToken)).status, 200);
      assert.equal(
        (await client.refresh(tokens.refreshToken)).status,
        200,
        'it is worth nothing any more',
      );
    });

    it('needs the secret of a client that has one', async () => {
      const web = await registerClient(app, {
        ...WEB_METADATA,
        token_endpoint_auth_method: 'client_secret_basic',
      });
      const tokens = await obtainTokens(createPerson(app), web);
      const answer = await send(app, REVOKE_PATH, {
        method: 'POST',
        body: new URLSearchParams({ client_id: web.id, token: tokens.refreshToken }),
      });
      assert.deepEqual([answer.status, answer.body['error']], [401, 'invalid_client']);
      const refreshed = await web.refresh(tokens.refreshToken);
      assert.equal(refreshed.status, 200);
      assert.equal((await web.revoke(refreshed.refreshToken)).status, 200);
      assert.equal((await web.refresh(refreshed.refreshToken)).error, 'invalid_grant');
    });

    const REFUSED: [what: string, changes: Changes, status: number, error: string][] = [
      ['no token', { token: null }, 400, 'invalid_request'],
      ['two tokens', { token: ['a', 'b'] }, 400, 'invalid_request'],
      ['no client', { client_id: null }, 400, 'invalid_request'],
      ['an unknown client', { client_id: 'cli_0' }, 401, 'invalid_client'],
    ];
    for (const [what, changes, status, error] of REFUSED) {
      it(`refuses ${what}`, async () => {
        const answer = await client.revoke('x', changes);
        assert.deepEqual([answer.status, answer.body['error']], [status, error]);
      });
    }

    it('refuses JSON', async () => {
      const answer = await send(app, REVOKE_PATH, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_id: client.id, token: 'x' }),
      });
      assert.deepEqual([answer.status, answer.body['error']], [400, 'invalid_request']);
    });
  });
}
