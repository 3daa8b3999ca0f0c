import type { Kysely, Selectable } from 'kysely';
import type { ClientId } from '#src/ids.ts';
import { parseObject } from './rows.ts';
import type { Work } from './open.ts';
import type { ClientTable, Database } from './schema.ts';

/** OAuth clients, as registered or as their metadata document says. */

export interface StoredClient {
  id: ClientId;
  kind: ClientTable['kind'];
  name: string;
  /** RFC 7591 metadata as accepted, without secrets. */
  metadata: Record<string, unknown>;
  secretDigest: string | null;
  status: 'active' | 'blocked';
  createdAt: number;
  lastUsedAt: number | null;
}

export interface NewClient {
  id: ClientId;
  kind: ClientTable['kind'];
  name: string;
  metadata: Record<string, unknown>;
  secretDigest: string | null;
}

/** By primary key. */
export async function findClient(
  db: Kysely<Database>,
  id: string,
): Promise<StoredClient | undefined> {
  const row = await db.selectFrom('clients').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toClient(row);
}

/** Adds a client unless it is there; says whether it is new. One statement, so two can try at once. */
export async function insertClient(work: Work, client: NewClient): Promise<boolean> {
  const result = await work.db
    .insertInto('clients')
    .values({
      id: client.id,
      kind: client.kind,
      name: client.name,
      metadata: JSON.stringify(client.metadata),
      secret_digest: client.secretDigest,
      status: 'active',
      created_at: work.now,
      last_used_at: null,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst();
  const isNew = (result.numInsertedOrUpdatedRows ?? 0n) === 1n;
  if (isNew) {
    await work.audit({
      actor: `client:${client.id}`,
      action: 'client.added',
      subject: client.name,
      clientId: client.id,
      detail: { kind: client.kind },
    });
  }
  return isNew;
}

/** How many clients registered themselves. Index clients_kind. */
export async function countRegisteredClients(db: Kysely<Database>): Promise<number> {
  const row = await db
    .selectFrom('clients')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('kind', '=', 'registered')
    .executeTakeFirstOrThrow();
  return row.count;
}

/**
 * Removes up to `limit` registrations that nobody used since `before` and that hold no live grant.
 * Blocked ones stay, or blocking would end by itself. Index clients_kind.
 */
export async function reapIdleClients(
  work: Work,
  options: { before: number; limit: number },
): Promise<number> {
  const idle = await work.db
    .selectFrom('clients')
    .select(['id', 'name'])
    .where('kind', '=', 'registered')
    .where('status', '=', 'active')
    .where('created_at', '<', options.before)
    .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', options.before)]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('grants')
            .select('grants.id')
            .whereRef('grants.client_id', '=', 'clients.id')
            .where('grants.revoked_at', 'is', null)
            .where('grants.expires_at', '>', work.now),
        ),
      ),
    )
    .limit(options.limit)
    .execute();
  for (const client of idle) {
    await work.db.deleteFrom('clients').where('id', '=', client.id).execute();
    await work.audit({
      actor: 'server',
      action: 'client.removed',
      subject: client.name,
      clientId: client.id,
      detail: { reason: 'idle' },
    });
  }
  return idle.length;
}

/** Notes that a client got tokens. By primary key. */
export async function recordClientUse(
  db: Kysely<Database>,
  id: ClientId,
  at: number,
): Promise<void> {
  await db.updateTable('clients').set({ last_used_at: at }).where('id', '=', id).execute();
}

function toClient(row: Selectable<ClientTable>): StoredClient {
  return {
    id: row.id as ClientId,
    kind: row.kind,
    name: row.name,
    metadata: parseObject(row.metadata),
    secretDigest: row.secret_digest,
    status: row.status,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}
