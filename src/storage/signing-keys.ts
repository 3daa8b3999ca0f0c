import type { Kysely, Selectable } from 'kysely';
import type { Work } from './open.ts';
import type { Database, SigningKeyTable } from './schema.ts';

/** Which signing keys count. The secrets are in the keys folder, never here. */

export interface SigningKeyState {
  kid: string;
  status: SigningKeyTable['status'];
  createdAt: number;
  retiresAt: number | null;
}

/** Makes a key known, once; a key that was dropped stays dropped. */
export async function registerSigningKey(
  work: Work,
  actor: string,
  key: { kid: string; createdAt: number },
): Promise<void> {
  const result = await work.db
    .insertInto('signing_keys')
    .values({ kid: key.kid, status: 'active', created_at: key.createdAt, retires_at: null })
    .onConflict((conflict) => conflict.column('kid').doNothing())
    .executeTakeFirst();
  if ((result.numInsertedOrUpdatedRows ?? 0n) === 1n) {
    await work.audit({ actor, action: 'key.added', subject: key.kid });
  }
}

/** Lets one rotation at a time go on, whichever machine runs it: an update holds the row's lock. */
export async function lockKeys(work: Work): Promise<void> {
  await work.db
    .updateTable('schema_version')
    .set((eb) => ({ version: eb.ref('version') }))
    .where('id', '=', 1)
    .execute();
}

/** Every key but `keep` retires at `retiresAt`, or is dropped at once when that is null. */
export async function retireSigningKeys(
  work: Work,
  actor: string,
  options: { keep: string; retiresAt: number | null },
): Promise<string[]> {
  const set =
    options.retiresAt === null
      ? ({ status: 'dropped', retires_at: work.now } as const)
      : ({ status: 'retiring', retires_at: options.retiresAt } as const);
  const from: SigningKeyTable['status'][] =
    options.retiresAt === null ? ['active', 'retiring'] : ['active'];
  const rows = await work.db
    .updateTable('signing_keys')
    .set(set)
    .where('kid', '!=', options.keep)
    .where('status', 'in', from)
    .returning('kid')
    .execute();
  for (const { kid } of rows) {
    await work.audit({ actor, action: `key.${set.status}`, subject: kid });
  }
  return rows.map((row) => row.kid);
}

export async function listSigningKeys(db: Kysely<Database>): Promise<SigningKeyState[]> {
  const rows = await db
    .selectFrom('signing_keys')
    .selectAll()
    .orderBy('created_at')
    .orderBy('kid')
    .execute();
  return rows.map(toState);
}

function toState(row: Selectable<SigningKeyTable>): SigningKeyState {
  return { kid: row.kid, status: row.status, createdAt: row.created_at, retiresAt: row.retires_at };
}
