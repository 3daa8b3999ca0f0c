import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chainHash } from '#src/storage/audit.ts';
import type { Store } from '#src/storage/open.ts';
import { addUser } from '#src/storage/users.ts';
import { makeUser, STORE_KINDS, testDatabase } from '../support/stores.ts';

/** The rows whose hash does not follow from the row before, by sequence. */
async function brokenRows(store: Store, key: Buffer): Promise<number[]> {
  const rows = await store.db
    .selectFrom('audit')
    .selectAll()
    .orderBy('chain')
    .orderBy('chain_seq')
    .execute();
  const broken: number[] = [];
  let previous = { chain: '', sequence: 0, hash: '' };
  for (const { seq, hash, ...row } of rows) {
    if (row.chain !== previous.chain) previous = { chain: row.chain, sequence: 0, hash: '' };
    const follows =
      row.chain_seq === previous.sequence + 1 && chainHash(key, previous.hash, row) === hash;
    if (!follows) broken.push(seq);
    previous = { chain: row.chain, sequence: row.chain_seq, hash };
  }
  return broken;
}

for (const kind of STORE_KINDS) {
  describe(`audit rows on ${kind}`, () => {
    it('form a chain for every writing process', async () => {
      await using database = await testDatabase(kind);
      const stores = [await database.open(), await database.open()];
      for (const name of ['a1', 'a2', 'a3']) {
        await Promise.all(stores.map((store, index) => makeUser(store, `${name}-${index}`)));
      }
      const [store] = stores;
      assert.ok(store);
      const chains = await store.db.selectFrom('audit').select('chain').distinct().execute();
      assert.equal(chains.length, 2);
      assert.deepEqual(await brokenRows(store, database.auditKey), []);
    });

    it('are not written when what they tell of did not happen', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      await makeUser(store, 'anna');
      await assert.rejects(makeUser(store, 'ANNA'), { code: 'conflict' });
      await assert.rejects(
        store.transaction(async (work) => {
          await addUser(work, 'test', { name: 'bert', passwordHash: 'none', roles: [] });
          throw new Error('the work failed');
        }),
        /the work failed/,
      );
      await makeUser(store, 'carl');
      const rows = await store.db
        .selectFrom('audit')
        .select(['subject', 'chain_seq'])
        .orderBy('seq')
        .execute();
      assert.deepEqual(
        rows.map((row) => [row.subject, row.chain_seq]),
        [
          ['anna', 1],
          ['carl', 2],
        ],
      );
      assert.deepEqual(await brokenRows(store, database.auditKey), []);
    });

    it('cannot be altered, removed or reordered without breaking the chain', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      for (const name of ['a1', 'a2', 'a3', 'a4']) await makeUser(store, name);
      await store.db
        .updateTable('audit')
        .set({ actor: 'nobody' })
        .where('chain_seq', '=', 2)
        .execute();
      assert.equal((await brokenRows(store, database.auditKey)).length, 1);
      await store.db.deleteFrom('audit').where('chain_seq', '=', 3).execute();
      assert.equal((await brokenRows(store, database.auditKey)).length, 2);
    });
  });
}
