import assert from 'node:assert/strict';
import pg from 'pg';
import { after, before, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import {
  callTool,
  obtainTokens,
  register,
  registerClient,
  CLI_METADATA,
  INTROSPECT_PATH,
  send,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson, formWith, type Page, type Person } from '../support/person.ts';

/** Without its store the server lets nobody in, says 503, and goes on when the store is back. */
describe('while the state store does not answer', () => {
  let app: TestApp;
  let client: OAuthClient;
  let tokens: TokenAnswer;
  let person: Person;
  let consent: Page;
  before(async () => {
    app = await startTestApp({ dialect: 'postgres' });
    client = await registerClient(app);
    tokens = await obtainTokens(createPerson(app), client);
    person = createPerson(app);
    consent = await person.logIn(await person.follow(client.authorize().url), { name: 'walter' });
    await setConnections(app, false);
  });
  after(() => app[Symbol.asyncDispose]());

  it('the token endpoint answers 503 with Retry-After', async () => {
    for (const answer of [
      await client.refresh(tokens.refreshToken),
      await client.token({
        grant_type: 'authorization_code',
        code: 'x',
        code_verifier: 'v'.repeat(43),
        redirect_uri: client.redirectUri,
      }),
      await client.revoke(tokens.refreshToken),
      await client.revoke(tokens.accessToken),
      await register(app, { ...CLI_METADATA, client_name: 'New' }),
      await send(app, INTROSPECT_PATH, {
        method: 'POST',
        body: new URLSearchParams({ client_id: 'x', client_secret: 'x', token: 'x' }),
      }),
    ]) {
      assert.deepEqual(
        [answer.status, answer.body['error']],
        [503, 'temporarily_unavailable'],
        answer.text,
      );
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
    }
  });

  it('pages say so and grant nothing', async () => {
    const login = await createPerson(app).follow(client.authorize().url);
    const form = formWith(consent, 'decision');
    const allowed = await person.submit(consent, form, {
      fields: [
        ['grant', 'writer'],
        ['decision', 'allow'],
      ],
    });
    for (const page of [login, allowed, await person.follow(consent.url)]) {
      assert.equal(page.status, 503, page.html);
      assert.equal(page.leftFor, undefined);
      assert.ok(Number(page.headers.get('retry-after')) > 0);
      assert.ok(!page.html.includes('postgres') && !page.html.includes('connect'), page.html);
    }
  });

  it('a tool call fails closed', async () => {
    assert.equal((await callTool(app, tokens.accessToken)).status, 503);
  });

  it('everything works again when the store is back', async () => {
    await setConnections(app, true);
    const refreshed = await client.refresh(tokens.refreshToken);
    assert.equal(refreshed.status, 200, refreshed.text);
    assert.equal((await callTool(app, refreshed.accessToken)).status, 200);
    assert.ok((await person.allow(consent)).leftFor?.searchParams.has('code'));
  });
});

/** Lets the database refuse everybody and throws out who is there; or lets them in again. */
async function setConnections({ state }: TestApp, allowed: boolean): Promise<void> {
  const url = new URL(state);
  const name = url.pathname.slice(1);
  url.pathname = '/postgres';
  const admin = new pg.Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`ALTER DATABASE ${pg.escapeIdentifier(name)} ALLOW_CONNECTIONS ${allowed}`);
  if (!allowed)
    await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
      name,
    ]);
  await admin.end();
}
