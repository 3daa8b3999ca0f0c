import type { Kysely, Selectable } from 'kysely';
import type { ClientId, GrantId, UserId } from '#src/ids.ts';
import type { ProtocolSession } from '#src/sessions/protocol-session.ts';
import { parseObject } from './rows.ts';
import type { Database, ProtocolSessionTable } from './schema.ts';

/** Sessions of the older MCP revisions: rows, so that any process can serve any of them. */

/** A client that opens sessions and forgets them keeps this many; those go that were not used longest. */
const MOST_PER_CLIENT = 100;

export interface NewProtocolSession extends Omit<ProtocolSession, 'expiresAt'> {
  now: number;
  expiresAt: number;
}

/** Index protocol_sessions_user. */
export async function insertProtocolSession(
  db: Kysely<Database>,
  session: NewProtocolSession,
): Promise<void> {
  const { userId, clientId } = session;
  await db
    .insertInto('protocol_sessions')
    .values({
      digest: session.digest,
      user_id: userId,
      client_id: clientId,
      grant_id: session.grantId,
      version: session.version,
      capabilities: JSON.stringify(session.capabilities),
      created_at: session.now,
      expires_at: session.expiresAt,
    })
    .execute();
  const surplus = await db
    .selectFrom('protocol_sessions')
    .select('digest')
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)
    .where('digest', '!=', session.digest)
    .orderBy('expires_at', 'desc')
    .offset(MOST_PER_CLIENT - 1)
    .limit(MOST_PER_CLIENT)
    .execute();
  if (surplus.length === 0) return;
  const digests = surplus.map((row) => row.digest);
  await db.deleteFrom('protocol_sessions').where('digest', 'in', digests).execute();
}

/** By primary key. */
export async function findProtocolSession(
  db: Kysely<Database>,
  digest: string,
): Promise<ProtocolSession | undefined> {
  const row = await db
    .selectFrom('protocol_sessions')
    .selectAll()
    .where('digest', '=', digest)
    .executeTakeFirst();
  return row && toSession(row);
}

/** Notes a use. By primary key. */
export async function touchProtocolSession(
  db: Kysely<Database>,
  use: { digest: string; grantId: GrantId; expiresAt: number },
): Promise<void> {
  await db
    .updateTable('protocol_sessions')
    .set({ grant_id: use.grantId, expires_at: use.expiresAt })
    .where('digest', '=', use.digest)
    .execute();
}

/** By primary key; its mail expires. */
export async function deleteProtocolSession(db: Kysely<Database>, digest: string): Promise<void> {
  await db.deleteFrom('protocol_sessions').where('digest', '=', digest).execute();
}

function toSession(row: Selectable<ProtocolSessionTable>): ProtocolSession {
  return {
    digest: row.digest,
    userId: row.user_id as UserId,
    clientId: row.client_id as ClientId,
    grantId: row.grant_id as GrantId,
    version: row.version,
    capabilities: parseObject(row.capabilities),
    expiresAt: row.expires_at,
  };
}
