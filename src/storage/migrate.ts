import type { Kysely, Transaction } from 'kysely';
import { AppError } from '#src/errors.ts';
import type { Dialect } from './dialect.ts';
import * as initial from '#src/storage/migrations/0001-initial.ts';
import * as sessions from '#src/storage/migrations/0002-sessions.ts';
import type { Database } from './schema.ts';

/*
 * The state store's versions. Each migration runs once, in order, in one transaction with the row
 * that records it: two processes that start together take turns on that row.
 */

interface Migration {
  name: string;
  up(db: Kysely<unknown>, dialect: Dialect): Promise<void>;
}

const MIGRATIONS: readonly Migration[] = [
  { name: '0001-initial', up: initial.up },
  { name: '0002-sessions', up: sessions.up },
];

/** The version of the state store that this program reads and writes. */
export const CURRENT_VERSION = MIGRATIONS.length;

/**
 * Brings the store to this program's version and returns the names of the migrations that ran.
 *
 * @throws `state_too_new` when the store was written by a newer version; nothing is changed.
 */
export async function migrate(db: Kysely<Database>, dialect: Dialect): Promise<string[]> {
  await createVersionTable(db);
  return db.transaction().execute(async (tx) => {
    const version = await lockVersion(tx);
    assertNotNewer(version);
    const due = MIGRATIONS.slice(version);
    for (const migration of due) await migration.up(tx as unknown as Kysely<unknown>, dialect);
    if (due.length > 0) {
      await tx
        .updateTable('schema_version')
        .set({ version: CURRENT_VERSION })
        .where('id', '=', 1)
        .execute();
    }
    return due.map((migration) => migration.name);
  });
}

/** Creates the one-row table. Two processes may both try; the second finds it there. */
async function createVersionTable(db: Kysely<Database>): Promise<void> {
  await db.schema
    .createTable('schema_version')
    .ifNotExists()
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('version', 'integer', (c) => c.notNull())
    .execute()
    .catch(async (error: unknown) => {
      // PostgreSQL can report a race on its catalogue although IF NOT EXISTS was asked for.
      await db
        .selectFrom('schema_version')
        .select('version')
        .execute()
        .catch(() => {
          throw error;
        });
    });
  await db
    .insertInto('schema_version')
    .values({ id: 1, version: 0 })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/**
 * Takes the lock of the one row that every process knows, until the transaction ends: what must be
 * done by one after the other is done under it. An update locks on every engine.
 */
export async function lockRow(tx: Kysely<Database>): Promise<void> {
  await tx
    .updateTable('schema_version')
    .set((eb) => ({ version: eb.ref('version') }))
    .where('id', '=', 1)
    .execute();
}

async function lockVersion(tx: Transaction<Database>): Promise<number> {
  await lockRow(tx);
  const row = await tx
    .selectFrom('schema_version')
    .select('version')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow();
  return row.version;
}

function assertNotNewer(version: number): void {
  if (version <= CURRENT_VERSION) return;
  throw new AppError(
    'state_too_new',
    `The state store is of version ${version}; this program knows version ${CURRENT_VERSION}`,
    { hint: 'Start the newer version of Castellan that wrote it, or restore an older copy.' },
  );
}
