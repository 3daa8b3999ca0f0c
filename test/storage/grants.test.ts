import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sql } from 'kysely';
import type { ClientId } from '#src/ids.ts';
import { findClient, removeClient } from '#src/storage/clients.ts';
import {
  countLiveTokens,
  createGrant,
  findGrant,
  findRememberedGrant,
  listGrants,
  recordGrantUse,
} from '#src/storage/grants.ts';
import type { Store } from '#src/storage/open.ts';
import { revokeGrants, type Revoked } from '#src/storage/revoke.ts';
import { consumeToken, findToken } from '#src/storage/tokens.ts';
import { disableUser, enableUser, findUserByName, removeUser } from '#src/storage/users.ts';
import {
  makeClient,
  makeGrant,
  makeToken,
  makeUser,
  STORE_KINDS,
  TestClock,
  testDatabase,
} from '../support/stores.ts';

/** Resolves when a transaction of this PostgreSQL database waits for a lock. */
async function somebodyWaits({ db }: Store): Promise<void> {
  for (;;) {
    const { rows } = await sql`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(db);
    if (rows.length > 0) return;
  }
}

for (const kind of STORE_KINDS) {
  describe(`grants on ${kind}`, () => {
    it('are found, listed newest first, and filtered', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      const anna = await makeUser(store, 'anna');
      const bert = await makeUser(store, 'bert');
      const clientId = await makeClient(store);
      const other = await makeClient(store, 'cli_other');
      const first = await makeGrant(store, { user: anna, clientId });
      clock.advance(1);
      const second = await makeGrant(store, { user: bert, clientId: other });
      assert.deepEqual(await findGrant(store.db, first.id), first);
      const ids = async (filter: Parameters<typeof listGrants>[1]): Promise<string[]> =>
        (await listGrants(store.db, filter)).map((grant) => grant.id);
      assert.deepEqual(await ids({}), [second.id, first.id]);
      assert.deepEqual(await ids({ userId: anna.id }), [first.id]);
      assert.deepEqual(await ids({ clientId: other }), [second.id]);
      assert.deepEqual(await ids({ userId: anna.id, clientId: other }), []);
      assert.deepEqual(await ids({ ids: [first.id, 'gr_none'] }), [first.id]);
    });

    it('end with every token under them, and say how many were alive', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      const grant = await makeGrant(store, {
        user: await makeUser(store),
        clientId: await makeClient(store),
      });
      const used = await makeToken(store, grant, 'code');
      await store.transaction((work) => consumeToken(work, used));
      const live = [
        await makeToken(store, grant, 'access'),
        await makeToken(store, grant, 'refresh'),
      ];
      assert.equal((await countLiveTokens(store.db, [grant.id], clock.now())).get(grant.id), 2);
      const revoke = () =>
        store.transaction((work) =>
          revokeGrants(work, { actor: 'cli', reason: 'administrator', where: { ids: [grant.id] } }),
        );
      assert.deepEqual(
        (await revoke()).map((one) => [one.grantId, one.userName, one.tokens]),
        [[grant.id, 'anna', 2]],
      );
      assert.equal(await findToken(store.db, 'refresh', live[1] ?? ''), undefined);
      assert.deepEqual(await revoke(), [], 'a second time there is nothing to end');
      const ended = await findGrant(store.db, grant.id);
      assert.deepEqual([ended?.revokedAt, ended?.revokedReason], [clock.now(), 'administrator']);
    });

    it('are revoked once when several revoke at the same moment', async () => {
      await using database = await testDatabase(kind);
      const stores = [await database.open(), await database.open()];
      const [store] = stores;
      assert.ok(store);
      const grant = await makeGrant(store, {
        user: await makeUser(store),
        clientId: await makeClient(store),
      });
      const revoked = await Promise.all(
        stores.map((one) =>
          one.transaction((work) =>
            revokeGrants(work, { actor: 'cli', reason: 'administrator', where: {} }),
          ),
        ),
      );
      assert.deepEqual(
        revoked.flat().map((one) => one.grantId),
        [grant.id],
      );
    });

    it('are remembered for the same person, client and redirect URI, while active', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      const user = await makeUser(store);
      const clientId = await makeClient(store);
      const redirectUri = 'https://app.example/cb';
      const grant = await makeGrant(store, { user, clientId, expiresAt: clock.now() + 1_000 });
      const find = (over: { clientId?: string; redirectUri?: string } = {}) =>
        findRememberedGrant(store.db, {
          userId: user.id,
          clientId: (over.clientId ?? clientId) as ClientId,
          redirectUri: over.redirectUri ?? redirectUri,
          now: clock.now(),
        });
      assert.equal((await find())?.id, grant.id);
      assert.equal(await find({ clientId: 'cli_other' }), undefined);
      assert.equal(await find({ redirectUri: 'https://app.example/other' }), undefined);
      clock.advance(1_000);
      assert.equal(await find(), undefined);
    });

    it('end when their person is disabled, and stay ended when the person is enabled again', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      const user = await makeUser(store);
      const grant = await makeGrant(store, { user, clientId: await makeClient(store) });
      const revoked = await store.transaction((work) => disableUser(work, 'cli', user));
      assert.deepEqual(
        revoked.map((one) => one.grantId),
        [grant.id],
      );
      await store.transaction((work) => enableUser(work, 'cli', user));
      assert.equal((await findUserByName(store.db, 'anna'))?.status, 'active');
      assert.equal((await findGrant(store.db, grant.id))?.revokedReason, 'user_disabled');
    });

    it('go with their person', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      const user = await makeUser(store);
      const grant = await makeGrant(store, { user, clientId: await makeClient(store) });
      await makeToken(store, grant);
      const revoked = await store.transaction((work) => removeUser(work, 'cli', user));
      assert.deepEqual(
        revoked.map((one) => one.tokens),
        [1],
      );
      assert.equal(await findGrant(store.db, grant.id), undefined);
      assert.equal(await store.readAccess(grant.id, 'k1'), undefined);
    });

    it('go with their client, also one that is being made meanwhile', async () => {
      await using database = await testDatabase(kind);
      const [maker, remover] = [await database.open(), await database.open()];
      const user = await makeUser(maker);
      const clientId = await makeClient(maker);
      const client = await findClient(maker.db, clientId);
      assert.ok(client);
      let removal: Promise<Revoked[]> | undefined;
      const made = await maker.transaction(async (work) => {
        const grant = await createGrant(work, {
          userId: user.id,
          userName: user.name,
          clientId,
          clientName: 'Test client',
          redirectUri: 'https://app.example/cb',
          redirectHost: 'app.example',
          privileges: [],
          offered: [],
          expiresAt: work.now + 1_000_000,
        });
        removal = remover.transaction((other) => removeClient(other, 'cli', client));
        // On SQLite the removal cannot even begin.
        if (kind === 'postgres') await somebodyWaits(maker);
        return grant;
      });
      const revoked = (await removal) ?? [];
      assert.deepEqual(
        revoked.map((one) => one.grantId),
        [made.id],
      );
      assert.equal(await findGrant(maker.db, made.id), undefined);
    });

    it('note their last use', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      const grant = await makeGrant(store, {
        user: await makeUser(store),
        clientId: await makeClient(store),
      });
      await recordGrantUse(store.notes, { grantId: grant.id, at: 42, address: '192.0.2.1' });
      const noted = await findGrant(store.db, grant.id);
      assert.deepEqual([noted?.lastUsedAt, noted?.lastUsedIp], [42, '192.0.2.1']);
    });
  });
}
