import assert from 'node:assert/strict';
import { copyFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { openStore } from '#src/storage/open.ts';
import { listUsers } from '#src/storage/users.ts';
import { makeUser, testDatabase } from '../support/stores.ts';
import { temporaryFolder } from '../support/temp.ts';

describe('backup of a SQLite store', () => {
  it('is the one file after a clean stop, whoever read it last', async () => {
    await using database = await testDatabase('sqlite');
    const path = database.url.slice('sqlite:'.length);
    {
      await using store = await database.open();
      await makeUser(store, 'anna');
      // Every connection has been used: also the ones that may only read.
      assert.equal((await listUsers(store.db)).length, 1);
      await store.readAccess('gr_none', 'k1');
    }
    assert.deepEqual(await readdir(dirname(path)), ['state.db']);
    await using folder = await temporaryFolder();
    const copy = join(folder.path, 'copy.db');
    await copyFile(path, copy);
    await using restored = await openStore({
      url: `sqlite:${copy}`,
      auditKey: database.auditKey,
    });
    assert.deepEqual(
      (await listUsers(restored.db)).map((user) => user.name),
      ['anna'],
    );
  });

  it('is what VACUUM INTO writes while the store is in use', async () => {
    await using database = await testDatabase('sqlite');
    await using store = await database.open();
    await makeUser(store, 'anna');
    await using folder = await temporaryFolder();
    const copy = join(folder.path, 'copy.db');
    {
      using other = new DatabaseSync(database.url.slice('sqlite:'.length), { readOnly: true });
      other.exec(`VACUUM INTO '${copy}'`);
    }
    await using restored = await openStore({
      url: `sqlite:${copy}`,
      auditKey: database.auditKey,
    });
    assert.deepEqual(
      (await listUsers(restored.db)).map((user) => user.name),
      ['anna'],
    );
  });
});
