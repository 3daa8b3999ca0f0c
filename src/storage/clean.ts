import type { Kysely } from 'kysely';
import { DAY } from '#src/clock.ts';
import type { Database } from './schema.ts';
import { deleteExpiredTokens } from './tokens.ts';

/** Removes what has expired, a little at a time, so that nobody waits for it. */

/** A client's document that nobody asked for this long is fetched anew when somebody does. */
const DOCUMENT_KEPT_MS = 31 * DAY;

/**
 * Deletes up to `limit` expired rows of each kind; returns how many went.
 * Indexes tokens_expiry, browser_sessions_expiry, artifacts_expiry, throttles_expiry,
 * metadata_documents_fresh, protocol_sessions_expiry, session_mail_expiry,
 * access_sessions_expiry, binaries_expiry.
 */
export async function deleteExpired(
  db: Kysely<Database>,
  now: number,
  limit: number,
): Promise<number> {
  const tokens = await deleteExpiredTokens(db, now, limit);
  const sessions = await db
    .deleteFrom('browser_sessions')
    .where('digest', 'in', (eb) =>
      eb
        .selectFrom('browser_sessions')
        .select('digest')
        .where('expires_at', '<=', now)
        .limit(limit),
    )
    .executeTakeFirst();
  const artifacts = await db
    .deleteFrom('artifacts')
    .where('digest', 'in', (eb) =>
      eb.selectFrom('artifacts').select('digest').where('expires_at', '<=', now).limit(limit),
    )
    .where('expires_at', '<=', now)
    .executeTakeFirst();
  const throttles = await db
    .deleteFrom('throttles')
    .where('key', 'in', (eb) =>
      eb.selectFrom('throttles').select('key').where('window_ends_at', '<=', now).limit(limit),
    )
    .executeTakeFirst();
  const documents = await db
    .deleteFrom('metadata_documents')
    .where('url', 'in', (eb) =>
      eb
        .selectFrom('metadata_documents')
        .select('url')
        .where('fresh_until', '<=', now)
        // One that was never fetched is only a remembered failure.
        .where((or) =>
          or.or([or('body', 'is', null), or('fresh_until', '<=', now - DOCUMENT_KEPT_MS)]),
        )
        .limit(limit),
    )
    .executeTakeFirst();
  const protocolSessions = await db
    .deleteFrom('protocol_sessions')
    .where('digest', 'in', (eb) =>
      eb
        .selectFrom('protocol_sessions')
        .select('digest')
        .where('expires_at', '<=', now)
        .limit(limit),
    )
    .executeTakeFirst();
  const accessSessions = await db
    .deleteFrom('access_sessions')
    .where('id', 'in', (eb) =>
      eb.selectFrom('access_sessions').select('id').where('expires_at', '<=', now).limit(limit),
    )
    .where('expires_at', '<=', now)
    .executeTakeFirst();
  const binaries = await db
    .deleteFrom('binaries')
    .where('digest', 'in', (eb) =>
      eb.selectFrom('binaries').select('digest').where('expires_at', '<=', now).limit(limit),
    )
    .executeTakeFirst();
  const mail = await db
    .deleteFrom('session_mail')
    .where('ref', 'in', (eb) =>
      eb.selectFrom('session_mail').select('ref').where('expires_at', '<=', now).limit(limit),
    )
    .where('expires_at', '<=', now)
    .executeTakeFirst();
  return (
    tokens +
    Number(
      protocolSessions.numDeletedRows +
        accessSessions.numDeletedRows +
        binaries.numDeletedRows +
        mail.numDeletedRows,
    ) +
    Number(documents.numDeletedRows) +
    Number(sessions.numDeletedRows + artifacts.numDeletedRows + throttles.numDeletedRows)
  );
}
