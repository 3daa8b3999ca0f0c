import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { UnsecuredJWT } from 'jose';
import { DAY, MINUTE, toSeconds } from '#src/clock.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { startDocumentHosts, type DocumentHosts } from '../support/documents.ts';
import { CHATGPT_DOCUMENT } from '../support/known-clients.ts';
import {
  callTool,
  createOAuthClient,
  obtainTokens,
  registerClient,
  WEB_METADATA,
  type ClientOptions,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import {
  ASSERTION_TYPE,
  assertionOf,
  makeSigner,
  type AssertionChanges,
  type Signer,
} from '../support/signer.ts';

for (const dialect of DIALECTS) {
  describe(`clients that sign their requests on ${dialect}`, () => {
    const signer = makeSigner('key-1', 'RS256');
    const { id, keysUrl, metadata } = CHATGPT_DOCUMENT;
    let clock: TestClock;
    let hosts: DocumentHosts;
    let app: TestApp;
    let client: OAuthClient;
    before(async () => {
      clock = createTestClock();
      hosts = await startDocumentHosts();
      app = await startTestApp({ dialect, clock, fetchPorts: hosts.ports });
      hosts.publish(id, metadata);
      publishKeys(signer);
      client = signedBy(signer);
    });
    after(async () => {
      await app[Symbol.asyncDispose]();
      await hosts[Symbol.asyncDispose]();
    });

    function publishKeys(...signers: Signer[]): void {
      hosts.answer(keysUrl, {
        body: JSON.stringify({ keys: signers.map((one) => one.publicJwk) }),
      });
    }

    function proof(
      by: Signer,
      changes: AssertionChanges = {},
    ): NonNullable<ClientOptions['assert']> {
      return async () => ({
        client_assertion_type: ASSERTION_TYPE,
        client_assertion: await assertionOf(
          by,
          { clientId: id, audience: `${app.origin}/mcp/oauth/token` },
          changes,
        ),
      });
    }

    function signedBy(by: Signer, changes: AssertionChanges = {}): OAuthClient {
      return createOAuthClient(app, {
        id,
        redirectUri: metadata.redirect_uris[0],
        assert: proof(by, changes),
      });
    }

    const keyFetches = (): number =>
      hosts.requests.filter((one) => one.endsWith('/jwks.json')).length;

    it('log in, refresh and revoke, with one fetch of their keys', async () => {
      const fetches = keyFetches();
      const tokens = await obtainTokens(createPerson(app), client);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
      const refreshed = await client.refresh(tokens.refreshToken);
      assert.equal(refreshed.status, 200, refreshed.text);
      assert.equal((await client.revoke(refreshed.refreshToken)).status, 200);
      assert.equal((await callTool(app, refreshed.accessToken)).status, 401);
      assert.equal(keyFetches() - fetches, 1);
    });

    it('may leave out the signature when their document lists none', async () => {
      const plain = createOAuthClient(app, { id, redirectUri: metadata.redirect_uris[0] });
      const tokens = await obtainTokens(createPerson(app), plain);
      assert.equal((await plain.refresh(tokens.refreshToken)).status, 200);
    });

    it('may not where it does not', async () => {
      const strictId = 'https://strict.clients.example/client.json';
      hosts.publish(strictId, { ...metadata, token_endpoint_auth_methods_supported: undefined });
      const plain = createOAuthClient(app, {
        id: strictId,
        redirectUri: metadata.redirect_uris[0],
      });
      const answer = await plain.refresh('x'.repeat(43));
      assert.deepEqual([answer.status, answer.error], [401, 'invalid_client']);
    });

    it('may name the issuer as the audience, and leave client_id out of the form', async () => {
      for (const changes of [
        { claims: { aud: `${app.origin}/mcp` } },
        { claims: { aud: [`${app.origin}/mcp`, 'https://other.example'] } },
      ]) {
        const answer = await signedBy(signer, changes).token({
          client_id: null,
          grant_type: 'refresh_token',
          refresh_token: 'x'.repeat(43),
        });
        assert.equal(answer.error, 'invalid_grant', answer.text);
      }
    });

    it('may give fractions of seconds', async () => {
      const exp = Date.now() / 1_000 + 60.25;
      const answer = await signedBy(signer, { claims: { exp } }).refresh('x'.repeat(43));
      assert.equal(answer.error, 'invalid_grant', answer.text);
    });

    const now = toSeconds(Date.now());
    const WRONG: [what: string, changes: AssertionChanges][] = [
      ['another audience', { claims: { aud: 'https://other.example/token' } }],
      ['no audience', { claims: { aud: undefined } }],
      ['another issuer', { claims: { iss: 'https://other.example' } }],
      ['another subject', { claims: { sub: 'cli_0' } }],
      ['no jti', { claims: { jti: undefined } }],
      ['no exp', { claims: { exp: undefined } }],
      ['an exp that has passed', { claims: { exp: now - 300 } }],
      ['an nbf to come', { claims: { nbf: now + 600 } }],
      ['a life of more than a day', { claims: { exp: now + 2 * 86_400 } }],
      ['a life without end', { claims: { exp: 1e300 } }],
      ['an unknown key', { header: { kid: 'other' } }],
    ];
    it('are refused with a wrong assertion', async () => {
      for (const [what, changes] of WRONG) {
        const answer = await signedBy(signer, changes).refresh('x'.repeat(43));
        assert.ok(
          answer.status === 401 || (what === 'another subject' && answer.status === 400),
          `${what}: ${answer.status} ${answer.text}`,
        );
      }
      for (const by of [makeSigner('key-1', 'RS256'), makeSigner('key-1', 'ES256')]) {
        assert.equal((await signedBy(by).refresh('x'.repeat(43))).status, 401);
      }
      const unsigned = new UnsecuredJWT({
        iss: id,
        sub: id,
        aud: `${app.origin}/mcp`,
        jti: 'x',
        exp: now + 60,
      }).encode();
      const answer = await client.refresh('x'.repeat(43), { client_assertion: unsigned });
      assert.equal(answer.status, 401);
    });

    it('are refused with an assertion that was used before', async () => {
      const used = await proof(signer)();
      const show = (): Promise<TokenAnswer> => client.refresh('x'.repeat(43), used);
      assert.equal((await show()).error, 'invalid_grant');
      assert.equal((await show()).error, 'invalid_client');
      const fresh = await proof(signer)();
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => client.refresh('x'.repeat(43), fresh)),
      );
      assert.equal(answers.filter((answer) => answer.error === 'invalid_grant').length, 1);
    });

    it('still get in while the host of their keys is down', async () => {
      const tokens = await obtainTokens(createPerson(app), client);
      hosts.unplug();
      clock.advance(10 * MINUTE);
      const refreshed = await client.refresh(tokens.refreshToken);
      assert.equal(refreshed.status, 200, refreshed.text);
      await app.restart();
      assert.equal((await client.refresh(refreshed.refreshToken)).status, 200);
      hosts.plugIn();
      clock.advance(2 * MINUTE);
    });

    it('can change their keys at any time, and the old ones count no more', async () => {
      const next = makeSigner('key-2');
      const renewed = signedBy(next);
      assert.equal((await renewed.refresh('x'.repeat(43))).error, 'invalid_client');
      publishKeys(next);
      clock.advance(2 * MINUTE);
      assert.equal((await renewed.refresh('x'.repeat(43))).error, 'invalid_grant', 'known at once');
      assert.equal((await client.refresh('x'.repeat(43))).error, 'invalid_client');
      const fetches = keyFetches();
      for (let count = 0; count < 5; count += 1) await client.refresh('x'.repeat(43));
      assert.ok(keyFetches() - fetches <= 1, 'an unknown key does not make us fetch every time');
      publishKeys(signer);
      clock.advance(DAY);
      assert.equal((await client.refresh('x'.repeat(43))).error, 'invalid_grant');
    });

    it('may show an assertion that lives for a day, in the time of the store', async () => {
      clock.advance(2 * DAY);
      for (const [left, error] of [
        [DAY - MINUTE, 'invalid_grant'],
        [DAY + MINUTE, 'invalid_client'],
      ] as const) {
        const claims = { exp: toSeconds(clock.now() + left) };
        const answer = await signedBy(signer, { claims }).refresh('x'.repeat(43));
        assert.equal(answer.error, error, answer.text);
      }
    });

    it('get 503 when their keys were never fetched and cannot be now', async () => {
      const newId = 'https://nokeys.clients.example/client.json';
      hosts.publish(newId, { ...metadata, jwks_uri: 'https://nokeys.clients.example/keys' });
      hosts.answer('https://nokeys.clients.example/keys', { status: 500 });
      const stranger = createOAuthClient(app, {
        id: newId,
        redirectUri: metadata.redirect_uris[0],
        assert: async () => ({
          client_assertion_type: ASSERTION_TYPE,
          client_assertion: await assertionOf(signer, {
            clientId: newId,
            audience: `${app.origin}/mcp`,
          }),
        }),
      });
      const answer = await stranger.refresh('x'.repeat(43));
      assert.deepEqual([answer.status, answer.error], [503, 'temporarily_unavailable']);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      hosts.resolveTo('inside.clients.example', [{ address: '169.254.169.254', family: 4 }]);
      const insideId = 'https://nokeys.clients.example/inside.json';
      hosts.publish(insideId, { ...metadata, jwks_uri: 'https://inside.clients.example/keys' });
      const inside = await createOAuthClient(app, {
        id: insideId,
        redirectUri: metadata.redirect_uris[0],
        assert: async () => ({
          client_assertion_type: ASSERTION_TYPE,
          client_assertion: await assertionOf(signer, {
            clientId: insideId,
            audience: `${app.origin}/mcp`,
          }),
        }),
      }).refresh('x'.repeat(43));
      assert.deepEqual([inside.status, inside.error], [401, 'invalid_client']);
      assert.ok(!hosts.connections.some((one) => one.address === '169.254.169.254'));
    });

    it('can register with their keys', async () => {
      for (const alg of ['RS256', 'ES256', 'EdDSA'] as const) {
        const own = makeSigner('own', alg);
        const registered = await registerClient(app, {
          ...WEB_METADATA,
          token_endpoint_auth_method: 'private_key_jwt',
          jwks: { keys: [own.publicJwk] },
        });
        assert.equal(registered.secret, undefined);
        const assert_ = async (): Promise<Record<string, string>> => ({
          client_assertion_type: ASSERTION_TYPE,
          client_assertion: await assertionOf(own, {
            clientId: registered.id,
            audience: `${app.origin}/mcp/oauth/token`,
          }),
        });
        const signed = createOAuthClient(app, {
          id: registered.id,
          redirectUri: registered.redirectUri,
          assert: assert_,
        });
        const tokens = await obtainTokens(createPerson(app), signed);
        assert.equal(
          (await registered.refresh(tokens.refreshToken)).error,
          'invalid_client',
          'unsigned',
        );
        assert.equal((await signed.refresh(tokens.refreshToken)).status, 200);
      }
    });
  });
}
