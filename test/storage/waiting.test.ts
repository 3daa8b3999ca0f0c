import assert from 'node:assert/strict';
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { AppError, messageOf } from '#src/errors.ts';
import { isDriverError } from '#src/storage/dialect.ts';
import { Mutex } from '#src/storage/mutex.ts';
import { openStore, type Store } from '#src/storage/open.ts';
import { findUserByName } from '#src/storage/users.ts';
import { makeClient, makeUser, STORE_KINDS, testDatabase } from '../support/stores.ts';

/** What happens to those who wait for a store that is slow, and what is no fault of the store. */

const WAIT_MS = 300;

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'store_unavailable';
}

async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

describe('turns', () => {
  it('come in order, one at a time', async () => {
    const turns = new Mutex({ waitMs: 5_000 });
    const order: number[] = [];
    let holders = 0;
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const release = await turns.acquire();
        holders += 1;
        assert.equal(holders, 1);
        await Promise.resolve();
        order.push(index);
        holders -= 1;
        release();
        release();
      }),
    );
    assert.deepEqual(
      order,
      Array.from({ length: 20 }, (_, index) => index),
    );
  });

  it('are refused when they do not come in time, and to whom comes when too many wait', async () => {
    const turns = new Mutex({ waitMs: 50, maxWaiting: 2 });
    const release = await turns.acquire();
    const waiting = [turns.acquire(), turns.acquire()];
    await assert.rejects(turns.acquire(), isUnavailable);
    for (const one of waiting) await assert.rejects(one, isUnavailable);
    release();
    (await turns.acquire())();
  });
});

describe('a SQLite store whose file another process keeps locked', () => {
  it('refuses writers together in time, serves readers at once, and works again after', async () => {
    await using database = await testDatabase('sqlite');
    await using store = await openStore({ ...database, waitMs: WAIT_MS });
    await makeUser(store, 'anna');
    using other = new DatabaseSync(database.url.slice('sqlite:'.length));
    other.exec('BEGIN IMMEDIATE');
    const writers = Array.from({ length: 50 }, (_, index) => makeClient(store, `cli_${index}`));
    const plainWrites = Array.from({ length: 50 }, () => addThrottle(store));
    const settled = Promise.allSettled([...writers, ...plainWrites]);
    const reading = await millisecondsOf(async () => {
      assert.equal((await findUserByName(store.db, 'anna'))?.name, 'anna');
      assert.equal(await store.readAccess('gr_none', 'k1'), undefined);
    });
    assert.ok(reading < WAIT_MS / 2, `a read took ${reading} ms`);
    const waited = await millisecondsOf(async () => {
      const reasons = (await settled).map((one) =>
        one.status === 'rejected' ? one.reason : undefined,
      );
      assert.ok(reasons.every((reason) => reason !== undefined && isRefusal(reason)));
    });
    assert.ok(waited < 2 * WAIT_MS, `they waited ${waited} ms`);
    other.exec('ROLLBACK');
    await makeClient(store, 'cli_after');
    await addThrottle(store);
  });

  it('reads in a transaction what it wrote, and outside only what was committed', async () => {
    await using database = await testDatabase('sqlite');
    await using store = await openStore({ ...database, waitMs: WAIT_MS });
    await makeUser(store, 'anna');
    await store.transaction(async ({ db }) => {
      await db.updateTable('users').set({ status: 'disabled' }).execute();
      assert.equal((await findUserByName(db, 'anna'))?.status, 'disabled');
      assert.equal((await findUserByName(store.db, 'anna'))?.status, 'active');
    });
    assert.equal((await findUserByName(store.db, 'anna'))?.status, 'disabled');
  });
});

describe('a PostgreSQL store under more reads than it has connections', () => {
  it('runs a transaction at once', async () => {
    await using database = await testDatabase('postgres');
    await using store = await openStore({ ...database, waitMs: WAIT_MS });
    await findUserByName(store.db, 'anna');
    const done = Promise.withResolvers<void>();
    const readers = Array.from({ length: 50 }, () =>
      store.db.connection().execute(() => done.promise),
    );
    const settled = Promise.allSettled(readers);
    try {
      await makeUser(store, 'anna');
    } finally {
      done.resolve();
      await settled;
    }
  });
});

/** Refused by the queue, or by the engine, whose error surfaces call unavailable too. */
function isRefusal(reason: unknown): boolean {
  return isUnavailable(reason) || isDriverError(reason);
}

async function addThrottle(store: Store): Promise<void> {
  await store.db
    .insertInto('throttles')
    .values({ key: 'k', count: 1, window_ends_at: 1 })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .execute();
}

describe('the SQLite state file', () => {
  const modeOf = async (file: string): Promise<string> =>
    ((await stat(file)).mode & 0o777).toString(8);

  it('is made for its owner only', async () => {
    await using database = await testDatabase('sqlite');
    const path = database.url.slice('sqlite:'.length);
    const before = process.umask(0o022);
    try {
      await makeUser(await database.open());
    } finally {
      process.umask(before);
    }
    const files = [path, `${path}-wal`, `${path}-shm`];
    assert.deepEqual(await Promise.all(files.map(modeOf)), ['600', '600', '600']);
  });

  it('is tightened when others can read it', async () => {
    await using database = await testDatabase('sqlite');
    const path = database.url.slice('sqlite:'.length);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, '');
    await chmod(path, 0o644);
    await database.open();
    assert.equal(await modeOf(path), '600');
  });
});

for (const kind of STORE_KINDS) {
  describe(`a violated constraint on ${kind}`, () => {
    it('surfaces as it is, and the audit chain goes on', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      await makeUser(store, 'anna');
      const failing = store.transaction(async ({ db, audit }) => {
        await audit({ actor: 'test', action: 'lost' });
        await db
          .insertInto('tokens')
          .values({
            digest: 'd',
            kind: 'code',
            grant_id: 'gr_none',
            client_id: 'cli_none',
            payload: '{}',
            issued_at: 0,
            expires_at: 0,
            used_at: null,
            successor_kid: null,
          })
          .execute();
      });
      await assert.rejects(failing, (error) => {
        assert.ok(!isUnavailable(error) && !isDriverError(error));
        return /foreign key/i.test(messageOf(error));
      });
      await makeUser(store, 'bert');
      const rows = await store.db.selectFrom('audit').select(['chain', 'chain_seq']).execute();
      assert.equal(new Set(rows.map((row) => row.chain)).size, 1);
      assert.deepEqual(
        rows.map((row) => row.chain_seq),
        [1, 2],
      );
    });
  });
}
