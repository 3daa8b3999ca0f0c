import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HOUR } from '#src/clock.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { closeSignIn, listSignIns } from '#src/storage/sign-ins.ts';
import { disableUser, enableUser, setPassword } from '#src/storage/users.ts';
import { loginLifeSeconds } from '#src/users/user.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock } from '../support/clock.ts';
import { callTool, obtainTokens, registerClient, WEB_METADATA } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/** What ends a login, and what a revocation ends besides the grant. */

const END_LOGINS: Record<string, (app: TestApp) => Promise<void>> = {
  'a new password': async (app) => {
    const user = await app.findUser('rita');
    await app.store.transaction((work) => setPassword(work, 'cli', { user, passwordHash: 'x' }));
  },
  'disabling the account, also when it is enabled again': async (app) => {
    const user = await app.findUser('rita');
    await app.store.transaction((work) => disableUser(work, 'cli', user));
    await app.store.transaction((work) => enableUser(work, 'cli', user));
  },
  'closing the session': (app) => closeSessionsOf(app, 'rita'),
};

async function closeSessionsOf(app: TestApp, name: string): Promise<void> {
  const { id: userId } = await app.findUser(name);
  const loginSeconds = loginLifeSeconds(7_776_000);
  await app.store.transaction(async (work) => {
    const found = await listSignIns(work.db, { now: work.now, loginSeconds, userId });
    assert.equal(found.length, 1);
    for (const signIn of found) await closeSignIn(work, 'cli', signIn);
  });
}

for (const dialect of DIALECTS) {
  describe(`an ended login on ${dialect}`, () => {
    for (const [name, end] of Object.entries(END_LOGINS)) {
      it(`stays ended after ${name}, although a request under way saves its session again`, async () => {
        const clock = createTestClock();
        await using app = await startTestApp({ dialect, clock });
        const client = await registerClient(app, WEB_METADATA);
        const thief = createPerson(app);
        await obtainTokens(thief, client, { name: 'rita' });
        const before = await app.store.db.selectFrom('browser_sessions').selectAll().execute();
        await end(app);
        // What a request that began before does at its end.
        await app.store.db
          .insertInto('browser_sessions')
          .values(before)
          .onConflict((conflict) => conflict.column('digest').doNothing())
          .execute();
        clock.advance(2_000);
        const page = await thief.follow(client.authorize({ prompt: 'none' }).url);
        assert.equal(page.leftFor?.searchParams.get('error'), 'login_required');
        assert.equal(page.leftFor?.searchParams.get('code'), null);
      });
    }

    it('asks for the password in the closed browser and in no other, and can begin anew', async () => {
      const clock = createTestClock();
      await using app = await startTestApp({ dialect, clock });
      const client = await registerClient(app, WEB_METADATA);
      const [closed, other] = [createPerson(app), createPerson(app)];
      const tokens = await obtainTokens(closed, client, { name: 'rita' });
      await obtainTokens(other, client, { name: 'walter' });
      const consent = await closed.follow(client.authorize({ prompt: 'consent' }).url);
      assert.ok(consent.html.includes('name="decision"'));
      await closeSessionsOf(app, 'rita');
      const allowed = await closed.allow(consent);
      assert.deepEqual([allowed.status, allowed.leftFor], [400, undefined], 'a page left open');
      const login = await closed.follow(client.authorize().url);
      assert.ok(login.html.includes('name="password"'));
      const silent = await other.follow(client.authorize({ prompt: 'none' }).url);
      assert.notEqual(silent.leftFor?.searchParams.get('code') ?? null, null);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200, 'the grant stays');
      clock.advance(1_000);
      await obtainTokens(closed, client, { name: 'rita' });
      const again = await closed.follow(client.authorize({ prompt: 'none' }).url);
      assert.notEqual(again.leftFor?.searchParams.get('code') ?? null, null);
    });

    it('is listed with its last use and its real end, and no more when it is too old', async () => {
      const clock = createTestClock();
      await using app = await startTestApp({ dialect, clock });
      const client = await registerClient(app, WEB_METADATA);
      const person = createPerson(app);
      await obtainTokens(person, client, { name: 'rita' });
      const list = () =>
        listSignIns(app.store.db, { now: clock.now(), loginSeconds: loginLifeSeconds(7_776_000) });
      const [first] = await list();
      assert.ok(first);
      clock.advance(HOUR);
      await person.follow(client.authorize({ prompt: 'none' }).url);
      const [used, ...more] = await list();
      assert.deepEqual(more, []);
      assert.deepEqual(
        [used?.id, used?.signedInAt, used?.expiresAt, used?.userName],
        [first.id, first.signedInAt, first.signedInAt + 12 * HOUR, 'rita'],
      );
      assert.ok((used?.lastUsedAt ?? 0) - (first.lastUsedAt ?? 0) >= HOUR);
      for (const cookie of person.cookies.all()) assert.ok(!cookie.value.includes(first.id));
      clock.advance(11 * HOUR);
      assert.deepEqual(await list(), []);
    });

    it('is asked for again when one of several grants was taken back', async () => {
      const clock = createTestClock();
      await using app = await startTestApp({ dialect, clock });
      const client = await registerClient(app, WEB_METADATA);
      const person = createPerson(app);
      await obtainTokens(person, client, { name: 'rita' });
      clock.advance(1_000);
      const silent = await person.follow(client.authorize({ prompt: 'none' }).url);
      assert.notEqual(silent.leftFor?.searchParams.get('code'), null, 'remembered');
      const grants = await app.store.db
        .selectFrom('grants')
        .select('id')
        .orderBy('created_at')
        .execute();
      assert.equal(grants.length, 2);
      clock.advance(1_000);
      await app.store.transaction((work) =>
        revokeGrants(work, {
          actor: 'cli',
          reason: 'administrator',
          where: { ids: [grants[1]?.id ?? ''] },
        }),
      );
      const after = await person.follow(client.authorize({ prompt: 'none' }).url);
      assert.equal(after.leftFor?.searchParams.get('error'), 'consent_required');
    });
  });
}
