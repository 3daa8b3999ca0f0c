import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import {
  createOAuthClient,
  obtainTokens,
  registerClient,
  WEB_METADATA,
  type ClientOptions,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

for (const dialect of DIALECTS) {
  describe(`clients with a secret on ${dialect}`, () => {
    let app: TestApp;
    before(async () => {
      app = await startTestApp({ dialect });
    });
    after(() => app[Symbol.asyncDispose]());

    for (const method of ['client_secret_basic', 'client_secret_post']) {
      it(`may send it either way when they registered ${method}`, async () => {
        const registered = await registerClient(app, {
          ...WEB_METADATA,
          token_endpoint_auth_method: method,
        });
        const { id, secret, redirectUri } = registered;
        const tokens = await obtainTokens(createPerson(app), registered);
        let refreshToken = tokens.refreshToken;
        for (const auth of ['basic', 'post'] as const) {
          const answer = await createOAuthClient(app, { id, secret, redirectUri, auth }).refresh(
            refreshToken,
          );
          assert.equal(answer.status, 200, `${auth}: ${answer.text}`);
          refreshToken = answer.refreshToken;
        }
        const wrong: ClientOptions[] = [
          { id, redirectUri },
          { id, redirectUri, auth: 'post', secret: 'wrong' },
          { id, redirectUri, auth: 'basic', secret: 'wrong' },
          { id, redirectUri, auth: 'basic', secret: '' },
          { id, redirectUri, auth: 'post', secret: '' },
          { id, redirectUri, auth: 'basic', secret: `${secret}x` },
        ];
        for (const options of wrong) {
          const answer = await createOAuthClient(app, options).refresh(refreshToken);
          assert.deepEqual(
            [answer.status, answer.error],
            [401, 'invalid_client'],
            JSON.stringify(options),
          );
        }
        const basic = await createOAuthClient(app, {
          id,
          redirectUri,
          auth: 'basic',
          secret: 'wrong',
        }).refresh(refreshToken);
        assert.match(basic.headers.get('www-authenticate') ?? '', /^Basic /);
        assert.equal((await registered.refresh(refreshToken)).status, 200, 'nothing was consumed');
      });
    }

    it('cannot be played by one that knows the digest of the secret', async () => {
      const registered = await registerClient(app, {
        ...WEB_METADATA,
        token_endpoint_auth_method: 'client_secret_post',
      });
      const row = await app.store.db
        .selectFrom('clients')
        .select('secret_digest')
        .where('id', '=', registered.id)
        .executeTakeFirstOrThrow();
      const thief = createOAuthClient(app, {
        id: registered.id,
        redirectUri: registered.redirectUri,
        auth: 'post',
        secret: row.secret_digest ?? '',
      });
      assert.equal((await thief.refresh('x'.repeat(43))).status, 401);
    });

    it('are not the ones that have none', async () => {
      const open = await registerClient(app);
      const tokens = await obtainTokens(createPerson(app), open);
      const { id, redirectUri } = open;
      const withSecret = createOAuthClient(app, {
        id,
        redirectUri,
        auth: 'basic',
        secret: 'made up',
      });
      assert.equal((await withSecret.refresh(tokens.refreshToken)).status, 401);
      const emptyBasic = createOAuthClient(app, { id, redirectUri, auth: 'basic', secret: '' });
      assert.equal(
        (await emptyBasic.refresh(tokens.refreshToken)).status,
        200,
        'an empty secret is none',
      );
      const emptyPost = createOAuthClient(app, { id, redirectUri, auth: 'post', secret: '' });
      const again = await emptyPost.refresh(tokens.refreshToken);
      assert.equal(again.status, 200);
    });
  });
}
