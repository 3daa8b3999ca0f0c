import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely';
import { parseObject } from './rows.ts';
import type { Database } from './schema.ts';

/** Browser sessions and interactions: rows by the digest of what the cookie holds. */

export async function saveBrowserSession(
  db: Kysely<Database>,
  session: {
    digest: string;
    uidDigest: string;
    userId: string | null;
    payload: Record<string, unknown>;
    expiresAt: number;
  },
): Promise<void> {
  const values = {
    digest: session.digest,
    uid_digest: session.uidDigest,
    user_id: session.userId,
    payload: JSON.stringify(session.payload),
    expires_at: session.expiresAt,
  };
  await db
    .insertInto('browser_sessions')
    .values(values)
    .onConflict((conflict) => conflict.column('digest').doUpdateSet(values))
    .execute();
}

/** By primary key, alive and not closed. */
export async function findBrowserSession(
  db: Kysely<Database>,
  digest: string,
  now: number,
): Promise<Record<string, unknown> | undefined> {
  const row = await db
    .selectFrom('browser_sessions')
    .select('payload')
    .where('digest', '=', digest)
    .where('expires_at', '>', now)
    .where(isOpen)
    .executeTakeFirst();
  return row && parseObject(row.payload);
}

/**
 * Index browser_sessions_uid, alive and not closed. Two tabs that renew their cookie at the same moment leave two
 * rows of one session; either will do.
 */
export async function findBrowserSessionByUid(
  db: Kysely<Database>,
  uidDigest: string,
  now: number,
): Promise<Record<string, unknown> | undefined> {
  const row = await db
    .selectFrom('browser_sessions')
    .select('payload')
    .where('uid_digest', '=', uidDigest)
    .where('expires_at', '>', now)
    .where(isOpen)
    .orderBy('expires_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && parseObject(row.payload);
}

/** The mark of a closed session: the artifact of this kind with the digest of its uid. */
export const CLOSED_SESSION = 'closed_session';

/**
 * Whether a session was not closed. A request that was under way when it was saves the session once
 * more, and must not bring it back to life. By the primary key of artifacts.
 */
export function isOpen(eb: ExpressionBuilder<Database, 'browser_sessions'>): Expression<SqlBool> {
  const mark = eb
    .selectFrom('artifacts')
    .select('artifacts.digest')
    .where('artifacts.kind', '=', CLOSED_SESSION)
    .whereRef('artifacts.digest', '=', 'browser_sessions.uid_digest');
  return eb.not(eb.exists(mark));
}

export async function deleteBrowserSession(db: Kysely<Database>, digest: string): Promise<void> {
  await db.deleteFrom('browser_sessions').where('digest', '=', digest).execute();
}

export async function saveArtifact(
  db: Kysely<Database>,
  artifact: { kind: string; digest: string; payload: Record<string, unknown>; expiresAt: number },
): Promise<void> {
  const values = {
    kind: artifact.kind,
    digest: artifact.digest,
    payload: JSON.stringify(artifact.payload),
    expires_at: artifact.expiresAt,
  };
  await db
    .insertInto('artifacts')
    .values(values)
    .onConflict((conflict) => conflict.columns(['kind', 'digest']).doUpdateSet(values))
    .execute();
}

/** Makes a one-time mark; false when it was made before. */
export async function claimArtifact(
  db: Kysely<Database>,
  artifact: { kind: string; digest: string; expiresAt: number },
): Promise<boolean> {
  const result = await db
    .insertInto('artifacts')
    .values({
      kind: artifact.kind,
      digest: artifact.digest,
      payload: '{}',
      expires_at: artifact.expiresAt,
    })
    .onConflict((conflict) => conflict.columns(['kind', 'digest']).doNothing())
    .executeTakeFirst();
  return (result.numInsertedOrUpdatedRows ?? 0n) === 1n;
}

/** By primary key, alive only. */
export async function findArtifact(
  db: Kysely<Database>,
  key: { kind: string; digest: string; now: number },
): Promise<Record<string, unknown> | undefined> {
  const row = await db
    .selectFrom('artifacts')
    .select('payload')
    .where('kind', '=', key.kind)
    .where('digest', '=', key.digest)
    .where('expires_at', '>', key.now)
    .executeTakeFirst();
  return row && parseObject(row.payload);
}

export async function deleteArtifact(
  db: Kysely<Database>,
  kind: string,
  digest: string,
): Promise<void> {
  await db.deleteFrom('artifacts').where('kind', '=', kind).where('digest', '=', digest).execute();
}
