import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CURRENT_VERSION } from '#src/storage/migrate.ts';
import { borrowDatabase, type BorrowedDatabase } from '../support/test-database.ts';
import { ENGINES, makeProject } from './support.ts';

interface MigrateJson {
  state: string;
  dialect: string;
  version: number;
  migrated: string[];
}

// Held for the file, so that its PostgreSQL starts once.
let held: BorrowedDatabase;
before(async () => {
  held = await borrowDatabase();
});
after(() => held[Symbol.asyncDispose]());

for (const engine of ENGINES) {
  describe(`migrate on ${engine}`, () => {
    it('says what ran, then that nothing is to be done, and no password', async () => {
      await using project = await makeProject({ engine });
      const first = await project.json<MigrateJson>(['migrate']);
      assert.equal(first.version, CURRENT_VERSION);
      assert.equal(first.migrated.length, CURRENT_VERSION);
      assert.equal(first.dialect, engine);
      assert.match(first.state, /^(sqlite:\/.*state\.db|postgres:\/\/127\.0\.0\.1:\d+\/test_\w+)$/);
      assert.deepEqual((await project.json<MigrateJson>(['migrate'])).migrated, []);
      const { stdout } = await project.cli(['migrate']);
      assert.match(stdout, /is at version \d+; nothing was to be done\.\n$/);
    });

    it('refuses a store of a newer version, and so does every command', async () => {
      await using project = await makeProject({ engine });
      const { store } = await project.open();
      await store.db
        .updateTable('schema_version')
        .set({ version: CURRENT_VERSION + 1 })
        .execute();
      for (const args of [['migrate'], ['users', 'list'], ['serve', '--port', '0']]) {
        const { code, stdout, stderr } = await project.cli(args);
        assert.equal(code, 1, args.join(' '));
        assert.equal(stdout, '');
        assert.match(
          stderr,
          /castellan: The state store is of version \d+; .*\nhint: Start the newer version/,
        );
      }
    });
  });
}

describe('a store that does not answer', () => {
  it('is named, without its password', async () => {
    await using project = await makeProject();
    const env = { CASTELLAN_DATABASE_URL: 'postgres://ana:hunter2secret@127.0.0.1:1/x' };
    const { code, stderr } = await project.cli(['migrate'], { env });
    assert.equal(code, 1);
    assert.match(stderr, /^castellan: The state store does not answer: .*ECONNREFUSED.*\nhint: /);
    assert.doesNotMatch(stderr, /hunter2secret/);
  });
});
