import type { Kysely, Selectable } from 'kysely';
import { newId, type AccessSessionId, type ClientId, type GrantId, type UserId } from '#src/ids.ts';
import { lockRow } from './migrate.ts';
import type { Work } from './open.ts';
import { parseObject } from './rows.ts';
import type { AccessSessionTable, Database } from './schema.ts';

/*
 * Access sessions: who uses the server just now, whatever the era of MCP. A row for each person in a
 * client, with what the project keeps in it. Never a credential: a request that has one makes it.
 */

export interface AccessSession {
  id: AccessSessionId;
  userId: UserId;
  clientId: ClientId;
  clientName: string;
  address: string;
  createdAt: number;
  /** Whether the project's hook is done with it. */
  isOpen: boolean;
  lastUsedAt: number;
  expiresAt: number;
}

export interface NewAccessSession {
  user: { id: UserId };
  client: { id: ClientId; name: string };
  grantId: GrantId;
  address: string;
  expiresAt: number;
  /** Sessions that there may be at once; undefined for any number. */
  seats: number | undefined;
  /** Whether it counts at once, without waiting for `finishOpening`. */
  isOpen: boolean;
}

export type OpenedSession =
  | { kind: 'new' | 'there'; id: AccessSessionId; isOpen: boolean }
  | { kind: 'full' };

/** How the caller of an OAuth client is told apart; the check of every request reads by it. */
function keyOf({ user, client }: Pick<NewAccessSession, 'user' | 'client'>): string {
  return `oauth ${user.id} ${client.id}`;
}

/**
 * The session of a person in a client: the one that is there, or a new one if there is a seat.
 * Indexes access_sessions_key (the unique constraint), access_sessions_expiry.
 */
export async function openAccessSession(
  work: Work,
  session: NewAccessSession,
): Promise<OpenedSession> {
  const key = keyOf(session);
  // Seats are counted by one after the other, in all processes.
  if (session.seats !== undefined) await lockRow(work.db);
  const existing = await work.db
    .selectFrom('access_sessions')
    .select(['id', 'opened_at', 'expires_at'])
    .where('key', '=', key)
    .executeTakeFirst();
  if (existing !== undefined && existing.expires_at > work.now) {
    const id = existing.id as AccessSessionId;
    return { kind: 'there', id, isOpen: existing.opened_at !== null };
  }
  if (existing !== undefined)
    await work.db.deleteFrom('access_sessions').where('id', '=', existing.id).execute();
  if (session.seats !== undefined && (await countLive(work)) >= session.seats)
    return { kind: 'full' };
  const id = newId('acs', work.random) as AccessSessionId;
  const inserted = await work.db
    .insertInto('access_sessions')
    .values({
      id,
      key,
      user_id: session.user.id,
      client_id: session.client.id,
      client_name: session.client.name,
      grant_id: session.grantId,
      address: session.address,
      storage: '{}',
      created_at: work.now,
      opened_at: session.isOpen ? work.now : null,
      last_used_at: work.now,
      expires_at: session.expiresAt,
    })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .executeTakeFirst();
  if ((inserted.numInsertedOrUpdatedRows ?? 0n) === 1n)
    return { kind: 'new', id, isOpen: session.isOpen };
  // Another process was first.
  return openAccessSession(work, session);
}

async function countLive(work: Work): Promise<number> {
  const { count } = await work.db
    .selectFrom('access_sessions')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('expires_at', '>', work.now)
    .executeTakeFirstOrThrow();
  return count;
}

/** Notes that the project's hook is done. By primary key. @returns whether the session is still there. */
export async function finishOpening(
  db: Kysely<Database>,
  id: AccessSessionId,
  at: number,
): Promise<boolean> {
  const result = await db
    .updateTable('access_sessions')
    .set({ opened_at: at })
    .where('id', '=', id)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Notes a use. By primary key. */
export async function touchAccessSession(
  db: Kysely<Database>,
  use: { id: AccessSessionId; grantId: GrantId; at: number; expiresAt: number },
): Promise<void> {
  await db
    .updateTable('access_sessions')
    .set({ grant_id: use.grantId, last_used_at: use.at, expires_at: use.expiresAt })
    .where('id', '=', use.id)
    .execute();
}

/** By primary key. */
export async function findAccessSession(
  db: Kysely<Database>,
  id: AccessSessionId,
): Promise<AccessSession | undefined> {
  const row = await db
    .selectFrom('access_sessions')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  return row && toSession(row);
}

/** Those that count now, of one person if asked, newest first. Index access_sessions_expiry. */
export async function listAccessSessions(
  db: Kysely<Database>,
  { now, userId }: { now: number; userId?: UserId | undefined },
): Promise<(AccessSession & { userName: string })[]> {
  let query = db
    .selectFrom('access_sessions')
    .innerJoin('users', 'users.id', 'access_sessions.user_id')
    .selectAll('access_sessions')
    .select('users.name as user_name')
    .where('access_sessions.expires_at', '>', now)
    .orderBy('access_sessions.created_at', 'desc');
  if (userId !== undefined) query = query.where('access_sessions.user_id', '=', userId);
  const rows = await query.execute();
  return rows.map((row) => ({ ...toSession(row), userName: row.user_name }));
}

/** Ends a session for an administrator, with the sessions of the older revisions of MCP in it. */
export async function closeAccessSession(
  work: Work,
  actor: string,
  session: AccessSession & { userName: string },
): Promise<void> {
  await deleteAccessSession(work.db, session.id);
  await work.db
    .deleteFrom('protocol_sessions')
    .where('user_id', '=', session.userId)
    .where('client_id', '=', session.clientId)
    .execute();
  await work.audit({
    actor,
    action: 'session.closed',
    subject: session.userName,
    clientId: session.clientId,
    detail: { id: session.id, kind: 'access' },
  });
}

/** Ends a session; the next request of its caller opens another, if there is a seat. */
export async function deleteAccessSession(
  db: Kysely<Database>,
  id: AccessSessionId,
): Promise<void> {
  await db.deleteFrom('access_sessions').where('id', '=', id).execute();
}

/** What the project keeps in a session; undefined when it is over. By primary key. */
export async function readSessionStorage(
  db: Kysely<Database>,
  id: AccessSessionId,
): Promise<Record<string, unknown> | undefined> {
  const row = await db
    .selectFrom('access_sessions')
    .select('storage')
    .where('id', '=', id)
    .executeTakeFirst();
  return row && parseObject(row.storage);
}

/**
 * Changes what is kept, under the row's lock: two calls at once lose nothing of each other.
 * @param change gets what is there, and returns what is to be.
 * @returns whether the session was there.
 */
export async function changeSessionStorage(
  work: Work,
  id: AccessSessionId,
  change: (storage: Record<string, unknown>) => Record<string, unknown>,
): Promise<boolean> {
  let query = work.db.selectFrom('access_sessions').select('storage').where('id', '=', id);
  if (work.dialect === 'postgres') query = query.forUpdate();
  const row = await query.executeTakeFirst();
  if (row === undefined) return false;
  const storage = JSON.stringify(change(parseObject(row.storage)));
  await work.db.updateTable('access_sessions').set({ storage }).where('id', '=', id).execute();
  return true;
}

function toSession(row: Selectable<AccessSessionTable>): AccessSession {
  return {
    id: row.id as AccessSessionId,
    userId: row.user_id as UserId,
    clientId: row.client_id as ClientId,
    clientName: row.client_name,
    address: row.address,
    createdAt: row.created_at,
    isOpen: row.opened_at !== null,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}
