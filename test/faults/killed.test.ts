import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chainHash } from '#src/storage/audit.ts';
import { listGrants } from '#src/storage/grants.ts';
import { STORE_KINDS, testDatabase } from '../support/stores.ts';

/*
 * SIGKILL at any moment loses no acknowledged grant, revocation or audit row. A writer makes and revokes
 * grants and says so on stdout once each is committed; it is killed in the middle of its work.
 */

const WRITER = fileURLToPath(new URL('killed-writer.ts', import.meta.url));
const ROUNDS = 5;

for (const kind of STORE_KINDS) {
  describe(`a killed process on ${kind}`, () => {
    it('has lost nothing that it acknowledged', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      const created = new Set<string>();
      const revoked = new Set<string>();
      for (let round = 1; round <= ROUNDS; round += 1) {
        const writer = spawn(
          process.execPath,
          [WRITER, database.url, database.auditKey.toString('hex'), String(round)],
          {
            stdio: ['ignore', 'pipe', 'inherit'],
          },
        );
        let lines = 0;
        for await (const line of createInterface({ input: writer.stdout })) {
          const [what = '', id = ''] = line.split(' ');
          (what === 'created' ? created : revoked).add(id);
          lines += 1;
          // A different moment in every round.
          if (lines === 10 + round * 7) writer.kill('SIGKILL');
        }
        if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit');
        assert.equal(writer.signalCode, 'SIGKILL');
      }
      const grants = new Map(
        (await listGrants(store.db)).map((grant) => [grant.id as string, grant]),
      );
      for (const id of created) assert.ok(grants.has(id), `${id} was acknowledged and is gone`);
      for (const id of revoked)
        assert.notEqual(grants.get(id)?.revokedAt, null, `${id} was revoked and is alive`);
      assert.ok(revoked.size >= ROUNDS * 5);
      await assertAudit(store, database.auditKey, { created, revoked });
    });
  });
}

async function assertAudit(
  store: Awaited<ReturnType<Awaited<ReturnType<typeof testDatabase>>['open']>>,
  key: Buffer,
  acknowledged: { created: Set<string>; revoked: Set<string> },
): Promise<void> {
  const rows = await store.db
    .selectFrom('audit')
    .selectAll()
    .orderBy('chain')
    .orderBy('chain_seq')
    .execute();
  const told = new Set(rows.map((row) => `${row.action} ${row.grant_id}`));
  for (const id of acknowledged.created) assert.ok(told.has(`grant.created ${id}`));
  for (const id of acknowledged.revoked) assert.ok(told.has(`grant.revoked ${id}`));
  let previous = { chain: '', hash: '' };
  for (const { seq: _, hash, ...row } of rows) {
    const before = row.chain === previous.chain ? previous.hash : '';
    assert.equal(chainHash(key, before, row), hash, 'the chain of a killed writer is whole');
    previous = { chain: row.chain, hash };
  }
}
