import type { Expression, ExpressionBuilder, Kysely, Selectable, SqlBool } from 'kysely';
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

export interface ReapOptions {
  /** Those that were used: idle since. */
  before: number;
  /** Those that never got a token or a grant: registered before. A flood of registrations goes this way. */
  unusedBefore: number;
  limit: number;
}

/**
 * Removes up to `limit` registrations that are idle or were never used, and that hold no live grant.
 * Blocked ones stay, or blocking would end by itself. Indexes clients_kind, grants_client.
 */
export async function reapIdleClients(work: Work, options: ReapOptions): Promise<number> {
  const candidates = await lockReapable(work, options);
  if (candidates.length === 0) return 0;
  // Asked again in the statement that deletes: a grant that was committed meanwhile must not go along.
  const removed = await work.db
    .deleteFrom('clients')
    .where('id', 'in', candidates)
    .where((eb) => isReapable(eb, options, work.now))
    .returning(['id', 'name'])
    .execute();
  await work.audit(
    ...removed.map((client) => ({
      actor: 'server',
      action: 'client.removed',
      subject: client.name,
      clientId: client.id,
      detail: { reason: 'idle' },
    })),
  );
  return removed.length;
}

/**
 * Whoever makes a grant locks the client's row. On PostgreSQL a DELETE that waited for that lock would
 * not look for grants again, because the row itself did not change; so the rows are locked first, and
 * those that somebody uses now are skipped. On SQLite the transaction has the file to itself.
 */
async function lockReapable(work: Work, options: ReapOptions): Promise<string[]> {
  let query = work.db
    .selectFrom('clients')
    .select('id')
    .where((eb) => isReapable(eb, options, work.now))
    .limit(options.limit);
  if (work.dialect === 'postgres') query = query.forUpdate().skipLocked();
  const rows = await query.execute();
  return rows.map((row) => row.id);
}

function isReapable(
  eb: ExpressionBuilder<Database, 'clients'>,
  { before, unusedBefore }: ReapOptions,
  now: number,
): Expression<SqlBool> {
  const grants = eb
    .selectFrom('grants')
    .select('grants.id')
    .whereRef('grants.client_id', '=', 'clients.id');
  const liveGrants = grants
    .where('grants.revoked_at', 'is', null)
    .where('grants.expires_at', '>', now);
  const isIdle = eb.and([
    eb('created_at', '<', before),
    eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', before)]),
    eb.not(eb.exists(liveGrants)),
  ]);
  const wasNeverUsed = eb.and([
    eb('created_at', '<', unusedBefore),
    eb('last_used_at', 'is', null),
    eb.not(eb.exists(grants)),
  ]);
  return eb.and([
    eb('kind', '=', 'registered'),
    eb('status', '=', 'active'),
    eb.or([isIdle, wasNeverUsed]),
  ]);
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
