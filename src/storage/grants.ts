import type { Kysely, Selectable } from 'kysely';
import { SECOND } from '#src/clock.ts';
import type { Grant } from '#src/grants/grant.ts';
import { newId, type ClientId, type GrantId, type UserId } from '#src/ids.ts';
import type { Work } from './open.ts';
import { parseList } from './rows.ts';
import type { Database, GrantTable } from './schema.ts';

/** Grants: made at consent, read at every request. How they end is revoke.ts. */

/** Last use is written at most this often per grant. */
export const LAST_USE_INTERVAL_MS = 30 * SECOND;

/** Ids in one statement. */
const IDS_AT_ONCE = 500;

export interface NewGrant extends Omit<
  Grant,
  'id' | 'createdAt' | 'revokedAt' | 'revokedReason' | 'lastUsedAt' | 'lastUsedIp'
> {
  userName: string;
}

export async function createGrant(work: Work, grant: NewGrant): Promise<Grant> {
  const row: Selectable<GrantTable> = {
    id: newId('gr', work.random),
    user_id: grant.userId,
    client_id: grant.clientId,
    client_name: grant.clientName,
    redirect_uri: grant.redirectUri,
    redirect_host: grant.redirectHost,
    privileges: JSON.stringify(grant.privileges),
    offered: JSON.stringify(grant.offered),
    created_at: work.now,
    expires_at: grant.expiresAt,
    revoked_at: null,
    revoked_reason: null,
    last_used_at: null,
    last_used_ip: null,
  };
  await work.db.insertInto('grants').values(row).execute();
  await work.audit({
    actor: `user:${grant.userName}`,
    action: 'grant.created',
    subject: grant.userName,
    clientId: grant.clientId,
    grantId: row.id,
    detail: { privileges: grant.privileges, redirectHost: grant.redirectHost },
  });
  return toGrant(row);
}

/** By primary key. */
export async function findGrant(db: Kysely<Database>, id: string): Promise<Grant | undefined> {
  const row = await db.selectFrom('grants').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toGrant(row);
}

/**
 * The newest active grant of this person for this client and this very redirect URI, unless one of its
 * kind was revoked since: whoever takes one back wants to be asked again. Index grants_user.
 */
export async function findRememberedGrant(
  db: Kysely<Database>,
  key: { userId: UserId; clientId: ClientId; redirectUri: string; now: number },
): Promise<Grant | undefined> {
  const row = await db
    .selectFrom('grants')
    .selectAll()
    .where('user_id', '=', key.userId)
    .where('client_id', '=', key.clientId)
    .where('redirect_uri', '=', key.redirectUri)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', key.now)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('grants as taken')
            .select('taken.id')
            .where('taken.user_id', '=', key.userId)
            .where('taken.client_id', '=', key.clientId)
            .where('taken.redirect_uri', '=', key.redirectUri)
            .whereRef('taken.revoked_at', '>=', 'grants.created_at'),
        ),
      ),
    )
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toGrant(row);
}

/**
 * Whether the grant still stands, under its row's lock: whoever revokes it waits until this transaction
 * has ended, and then sees what came of it.
 */
export async function lockActiveGrant(work: Work, id: GrantId): Promise<boolean> {
  let query = work.db
    .selectFrom('grants')
    .select('id')
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', work.now);
  if (work.dialect === 'postgres') query = query.forShare();
  return (await query.executeTakeFirst()) !== undefined;
}

export interface GrantFilter {
  ids?: string[] | undefined;
  userId?: UserId | undefined;
  clientId?: string | undefined;
}

export interface ListedGrant extends Grant {
  userName: string;
}

/** Newest first; indexes grants_user, grants_client or the primary key, by the filter. */
export async function listGrants(
  db: Kysely<Database>,
  filter: GrantFilter = {},
): Promise<ListedGrant[]> {
  let query = db
    .selectFrom('grants')
    .innerJoin('users', 'users.id', 'grants.user_id')
    .selectAll('grants')
    .select('users.name as user_name')
    .orderBy('grants.created_at', 'desc')
    .orderBy('grants.id');
  if (filter.ids !== undefined) query = query.where('grants.id', 'in', filter.ids);
  if (filter.userId !== undefined) query = query.where('grants.user_id', '=', filter.userId);
  if (filter.clientId !== undefined) query = query.where('grants.client_id', '=', filter.clientId);
  const rows = await query.execute();
  return rows.map((row) => ({ ...toGrant(row), userName: row.user_name }));
}

/** How many live tokens and codes each grant has. Index tokens_grant. */
export async function countLiveTokens(
  db: Kysely<Database>,
  grantIds: readonly string[],
  now: number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let from = 0; from < grantIds.length; from += IDS_AT_ONCE) {
    const rows = await db
      .selectFrom('tokens')
      .select(['grant_id', (eb) => eb.fn.countAll<number>().as('count')])
      .where('grant_id', 'in', grantIds.slice(from, from + IDS_AT_ONCE))
      .where('used_at', 'is', null)
      .where('expires_at', '>', now)
      .groupBy('grant_id')
      .execute();
    for (const row of rows) counts.set(row.grant_id, row.count);
  }
  return counts;
}

/** Notes when and from where a grant was used last. By primary key; may be lost in a power cut. */
export async function recordGrantUse(
  notes: Kysely<Database>,
  use: { grantId: GrantId; at: number; address: string },
): Promise<void> {
  await notes
    .updateTable('grants')
    .set({ last_used_at: use.at, last_used_ip: use.address })
    .where('id', '=', use.grantId)
    .execute();
}

function toGrant(row: Selectable<GrantTable>): Grant {
  return {
    id: row.id as GrantId,
    userId: row.user_id as UserId,
    clientId: row.client_id as ClientId,
    clientName: row.client_name,
    redirectUri: row.redirect_uri,
    redirectHost: row.redirect_host,
    privileges: parseList(row.privileges),
    offered: parseList(row.offered),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    revokedReason: row.revoked_reason,
    lastUsedAt: row.last_used_at,
    lastUsedIp: row.last_used_ip,
  };
}
