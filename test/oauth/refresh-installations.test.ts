import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock } from '../support/clock.ts';
import {
  callTool,
  createOAuthClient,
  obtainTokens,
  registerClient,
  WEB_METADATA,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

function assertRefused(answer: TokenAnswer): void {
  assert.deepEqual([answer.status, answer.error], [400, 'invalid_grant'], answer.text);
}

for (const dialect of DIALECTS) {
  describe(`strict refresh on ${dialect}`, () => {
    it('takes any second use for theft', async () => {
      await using app = await startTestApp({
        dialect,
        config: { oauth: { refreshRetrySeconds: 0 } },
      });
      const client = await registerClient(app);
      const first = await obtainTokens(createPerson(app), client);
      const second = await client.refresh(first.refreshToken);
      assertRefused(await client.refresh(first.refreshToken));
      assert.equal((await callTool(app, second.accessToken)).status, 401);
      assertRefused(await client.refresh(second.refreshToken));

      const crowd = await obtainTokens(createPerson(app), client);
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => client.refresh(crowd.refreshToken)),
      );
      assert.ok(answers.filter((answer) => answer.status === 200).length <= 1);
      for (const answer of answers) if (answer.status !== 200) assertRefused(answer);
    });
  });
}

describe('refresh by two processes on one PostgreSQL', () => {
  let app: TestApp;
  let other: TestApp;
  let client: OAuthClient;
  before(async () => {
    const clock = createTestClock();
    app = await startTestApp({ dialect: 'postgres', clock });
    const { state, keysFolder, origin } = app;
    other = await startTestApp({
      dialect: 'postgres',
      clock,
      state,
      keysFolder,
      config: { publicUrl: origin },
    });
    client = await registerClient(app, { ...WEB_METADATA, client_name: 'Cluster' });
  });
  after(async () => {
    await other[Symbol.asyncDispose]();
    await app[Symbol.asyncDispose]();
  });

  it('ends with one successor, whichever they ask', async () => {
    const there = createOAuthClient(other, { id: client.id, redirectUri: client.redirectUri });
    for (let round = 0; round < 5; round += 1) {
      const first = await obtainTokens(createPerson(app), client, { name: 'walter' });
      const answers = await Promise.all(
        [client, there, client, there, client, there].map((one) => one.refresh(first.refreshToken)),
      );
      assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
      const successors = new Set(answers.map((answer) => answer.refreshToken));
      assert.equal(successors.size, 1);
      for (const [index, answer] of answers.entries()) {
        assert.equal(
          (await callTool(index % 2 === 0 ? other : app, answer.accessToken)).status,
          200,
        );
      }
      assert.equal((await there.refresh([...successors][0] ?? '')).status, 200);
    }
  });

  it('refuses at the one what was revoked at the other', async () => {
    const tokens = await obtainTokens(createPerson(app), client);
    await client.revoke(tokens.refreshToken);
    assert.equal((await callTool(other, tokens.accessToken)).status, 401);
    const there = createOAuthClient(other, { id: client.id, redirectUri: client.redirectUri });
    assertRefused(await there.refresh(tokens.refreshToken));
  });
});
