import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CURRENT_VERSION } from '#src/storage/migrate.ts';
import { STORE_KINDS, testDatabase } from '../support/stores.ts';

for (const kind of STORE_KINDS) {
  describe(`migrations on ${kind}`, () => {
    it('bring an empty database to this version, once', async () => {
      await using database = await testDatabase(kind);
      const first = await database.open();
      assert.deepEqual(first.migrated, ['0001-initial', '0002-sessions']);
      const second = await database.open();
      assert.deepEqual(second.migrated, []);
    });

    it('run once when several processes start together', async () => {
      await using database = await testDatabase(kind);
      const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()));
      assert.equal(stores.flatMap((store) => store.migrated).length, CURRENT_VERSION);
    });

    it('refuse a store that a newer version wrote, and leave it alone', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      const newer = CURRENT_VERSION + 1;
      await store.db.updateTable('schema_version').set({ version: newer }).execute();
      await assert.rejects(database.open(), { code: 'state_too_new' });
      const row = await store.db
        .selectFrom('schema_version')
        .select('version')
        .executeTakeFirstOrThrow();
      assert.equal(row.version, newer);
    });
  });
}
