import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DAY } from '#src/clock.ts';
import type { ClientId } from '#src/ids.ts';
import {
  claimArtifact,
  deleteBrowserSession,
  findArtifact,
  findBrowserSession,
  findBrowserSessionByUid,
  saveArtifact,
  saveBrowserSession,
} from '#src/storage/browser-sessions.ts';
import { deleteExpired } from '#src/storage/clean.ts';
import {
  countRegisteredClients,
  findClient,
  insertClient,
  reapIdleClients,
  recordClientUse,
} from '#src/storage/clients.ts';
import { findDocument, saveDocument } from '#src/storage/metadata-documents.ts';
import {
  listSigningKeys,
  registerSigningKey,
  retireSigningKeys,
} from '#src/storage/signing-keys.ts';
import { decrement, increment, readCounter } from '#src/storage/throttles.ts';
import { consumeToken } from '#src/storage/tokens.ts';
import { findUserByName, listUsers, recordLogin, setPassword } from '#src/storage/users.ts';
import { createGrant, findGrant } from '#src/storage/grants.ts';
import {
  makeClient,
  makeGrant,
  makeToken,
  makeUser,
  STORE_KINDS,
  TestClock,
  testDatabase,
} from '../support/stores.ts';

for (const kind of STORE_KINDS) {
  describe(`records on ${kind}`, () => {
    it('keep users apart by name, whatever its case or width', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      await makeUser(store, 'Anna');
      for (const same of ['anna', 'ANNA', 'Ａｎｎａ']) {
        await assert.rejects(makeUser(store, same), { code: 'conflict' });
        assert.equal((await findUserByName(store.db, same))?.name, 'Anna');
      }
      const [user] = await listUsers(store.db);
      assert.ok(user);
      await store.transaction((work) => recordLogin(work, { user, privileges: null, detail: {} }));
      await store.transaction((work) =>
        setPassword(work, 'cli', { user, passwordHash: 'new hash' }),
      );
      const found = await findUserByName(store.db, 'anna');
      assert.deepEqual([found?.lastLoginAt, found?.passwordHash], [clock.now(), 'new hash']);
    });

    it('end browser sessions with a new password', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      const user = await makeUser(store);
      const session = {
        digest: 'd1',
        uidDigest: 'u1',
        userId: user.id,
        payload: { a: 1 },
        expiresAt: clock.now() + 10,
      };
      await saveBrowserSession(store.db, session);
      await saveBrowserSession(store.db, { ...session, payload: { a: 2 } });
      assert.deepEqual(await findBrowserSession(store.db, 'd1', clock.now()), { a: 2 });
      assert.deepEqual(await findBrowserSessionByUid(store.db, 'u1', clock.now()), { a: 2 });
      assert.equal(await findBrowserSession(store.db, 'd1', clock.now() + 10), undefined);
      await store.transaction((work) => setPassword(work, 'cli', { user, passwordHash: 'x' }));
      assert.equal(await findBrowserSession(store.db, 'd1', clock.now()), undefined);
      await deleteBrowserSession(store.db, 'd1');
    });

    it('add a client once, whoever is first', async () => {
      await using database = await testDatabase(kind);
      const stores = [await database.open(), await database.open()];
      const client = {
        id: 'cli_x' as ClientId,
        kind: 'registered',
        name: 'X',
        metadata: { a: [1] },
        secretDigest: 's',
      } as const;
      const added = await Promise.all(
        stores.map((store) => store.transaction((work) => insertClient(work, client))),
      );
      assert.equal(added.filter(Boolean).length, 1);
      const [store] = stores;
      assert.ok(store);
      const found = await findClient(store.db, 'cli_x');
      assert.deepEqual(
        [found?.metadata, found?.secretDigest, found?.status],
        [{ a: [1] }, 's', 'active'],
      );
    });

    it('reap clients that are idle, unless they hold a live grant or are blocked', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      const user = await makeUser(store);
      await makeClient(store, 'cli_idle');
      await makeClient(store, 'cli_used');
      await makeClient(store, 'cli_held');
      await makeClient(store, 'cli_blocked');
      await store.db
        .updateTable('clients')
        .set({ status: 'blocked' })
        .where('id', '=', 'cli_blocked')
        .execute();
      await makeGrant(store, {
        user,
        clientId: 'cli_held' as ClientId,
        expiresAt: clock.now() + 90 * DAY,
      });
      clock.advance(31 * DAY);
      await recordClientUse(store.notes, 'cli_used' as ClientId, clock.now());
      await makeClient(store, 'cli_new');
      const reap = () =>
        store.transaction((work) =>
          reapIdleClients(work, {
            before: clock.now() - 30 * DAY,
            unusedBefore: clock.now() - 30 * DAY,
            limit: 10,
          }),
        );
      assert.equal(await reap(), 1);
      assert.equal(await findClient(store.db, 'cli_idle'), undefined);
      assert.equal(await countRegisteredClients(store.db), 4);
      assert.equal(await reap(), 0);
    });

    it('reap registrations that were never used after a day, and no others', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      const user = await makeUser(store);
      await makeClient(store, 'cli_never');
      const usedId = await makeClient(store, 'cli_used');
      const endedId = await makeClient(store, 'cli_ended');
      await recordClientUse(store.notes, usedId, clock.now());
      await makeGrant(store, { user, clientId: endedId, expiresAt: clock.now() + 1 });
      clock.advance(2 * DAY);
      await makeClient(store, 'cli_new');
      const options = {
        before: clock.now() - 30 * DAY,
        unusedBefore: clock.now() - DAY,
        limit: 10,
      };
      assert.equal(await store.transaction((work) => reapIdleClients(work, options)), 1);
      assert.equal(await findClient(store.db, 'cli_never'), undefined);
      assert.equal(await countRegisteredClients(store.db), 3);
    });

    it('never reap a client for which somebody makes a grant meanwhile', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      const other = await database.open(clock);
      const user = await makeUser(store);
      const clientId = await makeClient(store, 'cli_old');
      clock.advance(31 * DAY);
      const options = { before: clock.now() - DAY, unusedBefore: clock.now() - DAY, limit: 1 };
      let reaping: Promise<number> | undefined;
      const grant = await store.transaction(async (work) => {
        const made = await createGrant(work, {
          userId: user.id,
          userName: user.name,
          clientId,
          clientName: 'Old app',
          redirectUri: 'https://app.example/cb',
          redirectHost: 'app.example',
          privileges: [],
          offered: [],
          expiresAt: work.now + DAY,
        });
        reaping = other.transaction((reaper) => reapIdleClients(reaper, options));
        // PostgreSQL passes the row by; on SQLite the reaper waits until this transaction has ended.
        if (kind === 'postgres') await reaping;
        return made;
      });
      assert.equal(await reaping, 0);
      assert.equal((await findGrant(store.db, grant.id))?.id, grant.id);
    });

    it('count attempts exactly, also from several processes at once', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const stores = [await database.open(clock), await database.open(clock)];
      const window = { now: clock.now(), length: 1_000 };
      const counts = await Promise.all(
        Array.from({ length: 40 }, (_, index) => {
          const store = stores[index % stores.length];
          assert.ok(store);
          return increment(store.db, 'key', window);
        }),
      );
      assert.deepEqual(
        counts.map((one) => one.count).toSorted((a, b) => a - b),
        Array.from({ length: 40 }, (_, i) => i + 1),
      );
      const [store] = stores;
      assert.ok(store);
      await decrement(store.db, 'key');
      assert.equal((await readCounter(store.db, 'key', clock.now())).count, 39);
      clock.advance(1_000);
      assert.equal((await readCounter(store.db, 'key', clock.now())).count, 0);
      const anew = await increment(store.db, 'key', { now: clock.now(), length: 1_000 });
      assert.deepEqual(anew, { count: 1, windowEndsAt: clock.now() + 1_000 });
    });

    it('let a token be used once, whoever is first', async () => {
      await using database = await testDatabase(kind);
      const stores = [await database.open(), await database.open()];
      const [store] = stores;
      assert.ok(store);
      const grant = await makeGrant(store, {
        user: await makeUser(store),
        clientId: await makeClient(store),
      });
      const digest = await makeToken(store, grant);
      const used = await Promise.all(
        [...stores, ...stores].map((one) => one.transaction((work) => consumeToken(work, digest))),
      );
      assert.equal(used.filter(Boolean).length, 1);
    });

    it('make a one-time mark once', async () => {
      await using database = await testDatabase(kind);
      const stores = [await database.open(), await database.open()];
      const mark = { kind: 'replay', digest: 'd', expiresAt: Date.now() + 1_000 };
      const claims = await Promise.all(
        [...stores, ...stores].map((store) => claimArtifact(store.db, mark)),
      );
      assert.equal(claims.filter(Boolean).length, 1);
    });

    it('keep artifacts and documents until they expire, and clean up in small steps', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      for (const digest of ['a', 'b', 'c']) {
        await saveArtifact(store.db, {
          kind: 'x',
          digest,
          payload: { digest },
          expiresAt: clock.now() + 5,
        });
      }
      assert.deepEqual(await findArtifact(store.db, { kind: 'x', digest: 'a', now: clock.now() }), {
        digest: 'a',
      });
      const freshUntil = clock.now() + DAY;
      const document = { body: '{}', fetchedAt: clock.now(), freshUntil, failure: null };
      await saveDocument(store.db, 'https://a.example/x', document);
      await saveDocument(store.db, 'https://a.example/x', { ...document, failure: 'down' });
      assert.equal((await findDocument(store.db, 'https://a.example/x'))?.failure, 'down');
      assert.equal(await deleteExpired(store.db, clock.now(), 2), 0);
      clock.advance(5);
      assert.equal(await deleteExpired(store.db, clock.now(), 2), 2);
      assert.equal(await deleteExpired(store.db, clock.now(), 2), 1);
    });

    it('know signing keys; a dropped one stays dropped', async () => {
      await using database = await testDatabase(kind);
      const clock = new TestClock();
      const store = await database.open(clock);
      const add = (kid: string) =>
        store.transaction((work) =>
          registerSigningKey(work, 'cli', { kid, createdAt: clock.now() }),
        );
      await add('k1');
      clock.advance(1);
      await add('k2');
      const retire = (retiresAt: number | null) =>
        store.transaction((work) => retireSigningKeys(work, 'cli', { keep: 'k2', retiresAt }));
      assert.deepEqual(await retire(77), ['k1']);
      assert.deepEqual(await retire(99), [], 'what retires already keeps its time');
      assert.deepEqual(await retire(null), ['k1']);
      await add('k1');
      const states = (await listSigningKeys(store.db)).map((state) => [state.kid, state.status]);
      assert.deepEqual(states, [
        ['k1', 'dropped'],
        ['k2', 'active'],
      ]);
    });
  });
}
