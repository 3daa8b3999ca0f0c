import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DAY, MINUTE, SECOND } from '#src/clock.ts';
import { fileKeys } from '#src/credentials/key-file.ts';
import { rotateKeys } from '#src/credentials/rotate-keys.ts';
import { digest } from '#src/ids.ts';
import { findGrant } from '#src/storage/grants.ts';
import { disableUser } from '#src/storage/users.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  callTool,
  CLI_METADATA,
  obtainTokens,
  registerClient,
  send,
  TOKEN_PATH,
  type Changes,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/** The grant that an access token names. */
function grantOf(tokens: TokenAnswer): string {
  const [, payload = ''] = tokens.accessToken.split('.');
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { gid: string }).gid;
}

function assertRefused(answer: TokenAnswer, error = 'invalid_grant'): void {
  assert.deepEqual([answer.status, answer.error], [400, error], answer.text);
  assert.equal(answer.refreshToken, '');
  assert.equal(answer.accessToken, '');
}

for (const dialect of DIALECTS) {
  describe(`refresh on ${dialect}`, () => {
    let clock: TestClock;
    let app: TestApp;
    let client: OAuthClient;
    before(async () => {
      clock = createTestClock();
      app = await startTestApp({ dialect, clock });
      client = await registerClient(app);
    });
    after(() => app[Symbol.asyncDispose]());

    const logIn = (name = 'walter'): Promise<TokenAnswer> =>
      obtainTokens(createPerson(app), client, { name });

    async function good(answer: Promise<TokenAnswer>): Promise<TokenAnswer> {
      const tokens = await answer;
      assert.equal(tokens.status, 200, tokens.text);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
      return tokens;
    }

    async function assertGrantEnded(tokens: TokenAnswer, reason: string): Promise<void> {
      const grant = await findGrant(app.store.db, grantOf(tokens));
      assert.equal(grant?.revokedReason, reason);
      assert.equal((await callTool(app, tokens.accessToken)).status, 401);
      assertRefused(await client.refresh(tokens.refreshToken));
      const rows = (await app.audit('grant.revoked')).filter(
        (row) => row.grantId === grantOf(tokens),
      );
      assert.deepEqual(
        rows.map((row) => row.detail['reason']),
        [reason],
      );
    }

    it('gives a new token at every use', async () => {
      let tokens = await logIn();
      const seen = new Set([tokens.refreshToken]);
      for (let count = 0; count < 4; count += 1) {
        tokens = await good(client.refresh(tokens.refreshToken));
        assert.equal(tokens.body['scope'], 'mcp writer');
        assert.equal(tokens.body['token_type'], 'Bearer');
        assert.equal(tokens.body['expires_in'], 900);
        assert.equal(tokens.headers.get('cache-control'), 'no-store');
        seen.add(tokens.refreshToken);
      }
      assert.equal(seen.size, 5);
    });

    it('gives the same successor to a second use soon after, with a fresh access token', async () => {
      const first = await logIn();
      const second = await good(client.refresh(first.refreshToken));
      clock.advance(9 * SECOND);
      const repeated = await good(client.refresh(first.refreshToken));
      assert.equal(repeated.refreshToken, second.refreshToken);
      assert.notEqual(repeated.accessToken, second.accessToken);
      await good(client.refresh(second.refreshToken));
    });

    it('takes any other use of a used token for theft', async () => {
      const afterSuccessor = await logIn();
      const next = await good(client.refresh(afterSuccessor.refreshToken));
      const last = await good(client.refresh(next.refreshToken));
      assertRefused(await client.refresh(afterSuccessor.refreshToken));
      await assertGrantEnded(last, 'refresh_reuse');

      const afterWindow = await logIn();
      const successor = await good(client.refresh(afterWindow.refreshToken));
      clock.advance(11 * SECOND);
      assertRefused(await client.refresh(afterWindow.refreshToken));
      await assertGrantEnded(successor, 'refresh_reuse');
      const refusals = await app.audit('token.refresh_refused');
      assert.deepEqual(
        refusals.map((row) => [row.grantId, row.outcome, row.detail['reason']]),
        [
          [grantOf(last), 'refused', 'reuse'],
          [grantOf(successor), 'refused', 'reuse'],
        ],
      );
    });

    it('ends one grant only', async () => {
      const [mine, other] = [await logIn(), await logIn()];
      const next = await good(client.refresh(mine.refreshToken));
      await good(client.refresh(next.refreshToken));
      assertRefused(await client.refresh(mine.refreshToken));
      await good(client.refresh(other.refreshToken));
    });

    it('changes nothing when another client shows the token, used or not', async () => {
      const other = await registerClient(app, { ...CLI_METADATA, client_name: 'Thief' });
      const first = await logIn();
      assertRefused(await other.refresh(first.refreshToken));
      const second = await good(client.refresh(first.refreshToken));
      assertRefused(await other.refresh(first.refreshToken));
      await good(client.refresh(second.refreshToken));
      const rows = (await app.audit('token.refresh_refused')).filter(
        (row) => row.clientId === other.id,
      );
      assert.deepEqual(
        rows.map((row) => [row.grantId, row.detail['reason']]),
        [
          [grantOf(first), 'other_client'],
          [grantOf(first), 'other_client'],
        ],
      );
    });

    const MISTAKES: [what: string, changes: Changes, status: number, error: string][] = [
      ['another resource', { resource: 'https://other.example/mcp' }, 400, 'invalid_target'],
      ['a scope beyond the grant', { scope: 'mcp admin' }, 400, 'invalid_scope'],
      ['a scope twice', { scope: ['mcp', 'mcp'] }, 400, 'invalid_request'],
      ['the token twice', { refresh_token: ['a', 'b'] }, 400, 'invalid_request'],
      ['no token', { refresh_token: null }, 400, 'invalid_request'],
      ['no client', { client_id: null }, 400, 'invalid_request'],
      ['an unknown client', { client_id: 'cli_0' }, 401, 'invalid_client'],
      ['a client id twice', { client_id: ['a', 'b'] }, 400, 'invalid_request'],
      ['another grant type', { grant_type: 'refresh' }, 400, 'unsupported_grant_type'],
      ['a client secret that nobody gave it', { client_secret: 'x' }, 401, 'invalid_client'],
      [
        'an assertion that is none',
        {
          client_assertion: 'x',
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        },
        400,
        'invalid_request',
      ],
    ];
    it('consumes nothing when the request is wrong', async () => {
      const first = await logIn();
      for (const [what, changes, status, error] of MISTAKES) {
        const answer = await client.refresh(first.refreshToken, changes);
        assert.deepEqual([what, answer.status, answer.error], [what, status, error], answer.text);
      }
      for (const headers of [
        { 'content-type': 'application/json' },
        { authorization: 'Bearer x' },
        { authorization: 'Basic !' },
      ]) {
        const answer = await client.token(
          { grant_type: 'refresh_token', refresh_token: first.refreshToken },
          headers,
        );
        assert.equal(answer.status, 400, JSON.stringify(headers));
      }
      const inUrl = new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: first.refreshToken,
        client_id: client.id,
      });
      const path = `${TOKEN_PATH}?${inUrl.toString()}`;
      for (const body of [new URLSearchParams(), new URLSearchParams({ client_id: client.id })]) {
        const answer = await send(app, path, { method: 'POST', body });
        assert.equal(answer.status, 400, 'a token in the URL is none');
      }
      const row = await app.store.db
        .selectFrom('tokens')
        .select('used_at')
        .where('digest', '=', digest(first.refreshToken))
        .executeTakeFirstOrThrow();
      assert.equal(row.used_at, null);
      await good(client.refresh(first.refreshToken));
    });

    const SPELLINGS: [what: string, changes: Changes][] = [
      ['no scope', { scope: null }],
      ['an empty scope', { scope: '' }],
      ['the base scope', { scope: 'mcp' }],
      ['what was granted, with odd spaces', { scope: ' mcp  writer\t' }],
      ['a privilege that is included', { scope: 'reader' }],
      ['unknown scopes', { scope: 'mcp openid offline_access' }],
      ['our resource with a slash', { resource: '{origin}/mcp/' }],
      ['our resource twice', { resource: ['{origin}/mcp', '{origin}/mcp/'] }],
      ['an unknown parameter', { audience: 'x' }],
    ];
    it('takes what clients write there', async () => {
      let tokens = await logIn();
      for (const [what, changes] of SPELLINGS) {
        const sent = JSON.parse(
          JSON.stringify(changes).replaceAll('{origin}', app.origin),
        ) as Changes;
        const answer = await client.refresh(tokens.refreshToken, sent);
        assert.equal(answer.status, 200, `${what}: ${answer.text}`);
        tokens = answer;
      }
    });

    it('lets five at the same moment end with one successor', async () => {
      const first = await logIn();
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => good(client.refresh(first.refreshToken))),
      );
      assert.equal(new Set(answers.map((answer) => answer.refreshToken)).size, 1);
      assert.equal(new Set(answers.map((answer) => answer.accessToken)).size, 5);
      await good(client.refresh(answers[0]?.refreshToken ?? ''));
    });

    it('lasts 30 days after issue, and never longer than the grant', async () => {
      const used = await logIn();
      const unused = await logIn();
      clock.advance(29 * DAY);
      let tokens = await good(client.refresh(used.refreshToken));
      clock.advance(2 * DAY);
      assertRefused(await client.refresh(unused.refreshToken));
      for (const days of [27, 27]) {
        tokens = await good(client.refresh(tokens.refreshToken));
        clock.advance(days * DAY);
      }
      tokens = await good(client.refresh(tokens.refreshToken));
      clock.advance(5 * DAY - 5 * MINUTE);
      tokens = await good(client.refresh(tokens.refreshToken));
      assert.ok(
        Number(tokens.body['expires_in']) <= 5 * 60,
        'an access token does not outlive the grant',
      );
      clock.advance(5 * MINUTE);
      assertRefused(await client.refresh(tokens.refreshToken));
      assert.equal((await callTool(app, tokens.accessToken)).status, 401);
    });

    it('ends with the account', async () => {
      const user = await app.addUser('ivan');
      const tokens = await obtainTokens(createPerson(app), client, { name: 'ivan' });
      await app.store.transaction((work) => disableUser(work, 'test', user));
      assertRefused(await client.refresh(tokens.refreshToken));
    });

    it('is for clients that asked for it', async () => {
      const once = await registerClient(app, {
        ...CLI_METADATA,
        client_name: 'Once',
        grant_types: ['authorization_code'],
      });
      const tokens = await obtainTokens(createPerson(app), once);
      assert.ok(!('refresh_token' in tokens.body));
      const mine = await logIn();
      assert.equal((await once.refresh(mine.refreshToken)).status, 400);
      await good(client.refresh(mine.refreshToken));
    });

    it('goes on after a key rotation, also in the middle of a repeat', async () => {
      const first = await logIn();
      const before = await good(client.refresh(first.refreshToken));
      await rotate(app, false);
      const repeated = await good(client.refresh(first.refreshToken));
      assert.equal(repeated.refreshToken, before.refreshToken);
      const next = await good(client.refresh(before.refreshToken));
      await rotate(app, true);
      assert.equal(
        (await callTool(app, next.accessToken)).status,
        401,
        'signed with a key that was dropped',
      );
      await good(client.refresh(next.refreshToken));
    });

    it('is refused for a client that was blocked', async () => {
      const blocked = await registerClient(app, { ...CLI_METADATA, client_name: 'Blocked' });
      const tokens = await obtainTokens(createPerson(app), blocked);
      await app.store.db
        .updateTable('clients')
        .set({ status: 'blocked' })
        .where('id', '=', blocked.id)
        .execute();
      const answer = await blocked.refresh(tokens.refreshToken);
      assert.deepEqual([answer.status, answer.error], [401, 'invalid_client']);
      assert.equal((await callTool(app, tokens.accessToken)).status, 401);
    });

    it('never has a token, code or cookie in the store', async () => {
      const person = createPerson(app);
      const tokens = await obtainTokens(person, client);
      const next = await client.refresh(tokens.refreshToken);
      const dump = await everyRow(app);
      const secrets = [tokens, next].flatMap((one) => [
        one.refreshToken,
        one.accessToken,
        one.accessToken.split('.')[2] ?? '',
      ]);
      for (const cookie of person.cookies.all()) secrets.push(cookie.value);
      for (const secret of secrets) assert.ok(!dump.includes(secret), secret);
    });
  });
}

async function rotate(app: TestApp, now: boolean): Promise<void> {
  await rotateKeys({
    folder: app.keysFolder,
    source: fileKeys(app.keysFolder),
    store: app.store,
    actor: 'test',
    accessTokenTtlSeconds: 900,
    now,
  });
}

/** Every row of every table, as one text. */
async function everyRow({ store }: TestApp): Promise<string> {
  const tables = [
    'users',
    'clients',
    'grants',
    'tokens',
    'browser_sessions',
    'artifacts',
    'audit',
    'throttles',
  ] as const;
  const rows = await Promise.all(
    tables.map((table) => store.db.selectFrom(table).selectAll().execute()),
  );
  return JSON.stringify(rows);
}
