import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { revokeGrants } from '#src/storage/revoke.ts';
import { disableUser, enableUser, setPassword } from '#src/storage/users.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock } from '../support/clock.ts';
import { obtainTokens, registerClient, WEB_METADATA } from '../support/oauth-client.ts';
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
};

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
