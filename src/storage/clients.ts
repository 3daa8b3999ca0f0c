import type { Expression, ExpressionBuilder, Kysely, Selectable, SqlBool } from 'kysely';
import type { ClientId } from '#src/ids.ts';
import { parseObject } from './rows.ts';
import type { Work } from './open.ts';
import { revokeGrants, type Revoked } from './revoke.ts';
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

export interface ListedClient extends StoredClient {
  redirectUris: string[];
  /** How many of its grants are active. */
  grants: number;
}

export interface ClientFilter {
  id?: string | undefined;
  kind?: StoredClient['kind'] | undefined;
  status?: StoredClient['status'] | undefined;
}

/**
 * Newest first; by primary key, or all of the table. Index grants_client. What a document says is taken
 * from the copy that was fetched last.
 */
export async function listClients(
  db: Kysely<Database>,
  now: number,
  filter: ClientFilter = {},
): Promise<ListedClient[]> {
  let query = db
    .selectFrom('clients')
    .leftJoin('metadata_documents', 'metadata_documents.url', 'clients.id')
    .selectAll('clients')
    .select('metadata_documents.body as document')
    .select((eb) =>
      eb
        .selectFrom('grants')
        .select((grants) => grants.fn.countAll<number>().as('count'))
        .whereRef('grants.client_id', '=', 'clients.id')
        .where('grants.revoked_at', 'is', null)
        .where('grants.expires_at', '>', now)
        .as('grants'),
    )
    .orderBy('clients.created_at', 'desc')
    .orderBy('clients.id');
  if (filter.id !== undefined) query = query.where('clients.id', '=', filter.id);
  if (filter.kind !== undefined) query = query.where('clients.kind', '=', filter.kind);
  if (filter.status !== undefined) query = query.where('clients.status', '=', filter.status);
  const rows = await query.execute();
  return rows.map((row) => ({
    ...toClient(row),
    redirectUris: redirectUrisIn(row.document ?? row.metadata),
    grants: row.grants ?? 0,
  }));
}

/**
 * Adds a client unless it is there; says whether it is new. One statement, so two can try at once.
 * @param actor who does it: the client itself, unless somebody else is named.
 */
export async function insertClient(
  work: Work,
  client: NewClient,
  actor = `client:${client.id}`,
): Promise<boolean> {
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
      actor,
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

/**
 * Blocks a client, or lets it in again; says whether that changed anything. The check of every request
 * reads the status, so its tokens stop counting, and count again, at the next one. By primary key.
 */
export async function setClientStatus(
  work: Work,
  actor: string,
  { client, status }: { client: StoredClient; status: StoredClient['status'] },
): Promise<boolean> {
  const result = await work.db
    .updateTable('clients')
    .set({ status })
    .where('id', '=', client.id)
    .where('status', '!=', status)
    .executeTakeFirst();
  if (result.numUpdatedRows === 0n) return false;
  await work.audit({
    actor,
    action: status === 'blocked' ? 'client.blocked' : 'client.unblocked',
    subject: client.name,
    clientId: client.id,
  });
  return true;
}

/** Removes a client with every grant and token under it. By primary key; index grants_client. */
export async function removeClient(
  work: Work,
  actor: string,
  client: StoredClient,
): Promise<Revoked[]> {
  if (work.dialect === 'postgres') {
    // Whoever makes a grant locks this row: none can come between the revocation and the end of the row.
    await work.db
      .selectFrom('clients')
      .select('id')
      .where('id', '=', client.id)
      .forUpdate()
      .execute();
  }
  const revoked = await revokeGrants(work, {
    actor,
    reason: 'client_removed',
    where: { clientId: client.id },
  });
  await work.db.deleteFrom('clients').where('id', '=', client.id).execute();
  await work.audit({
    actor,
    action: 'client.removed',
    subject: client.name,
    clientId: client.id,
    detail: { kind: client.kind },
  });
  return revoked;
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

/** The redirect URIs of metadata that was checked before it was stored. */
function redirectUrisIn(metadata: string): string[] {
  const uris = parseObject(metadata)['redirect_uris'];
  return Array.isArray(uris) ? (uris as string[]) : [];
}
