import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';

/*
 * What one process has to tell the one that runs a call of a session: the person's answer, or that the
 * client cancelled. A row for each, which the other one looks for; nothing depends on a notification.
 */

/** One piece of mail: of which session, about what. */
export interface MailKey {
  session: string;
  ref: string;
}

/** Cancellations of one session that nobody has read yet. */
const MOST_UNREAD = 100;

/** Makes room for one answer; without it none is taken. */
export async function expectMail(
  db: Kysely<Database>,
  { session, ref, expiresAt }: MailKey & { expiresAt: number },
): Promise<void> {
  await db
    .insertInto('session_mail')
    .values({ session, ref, payload: null, expires_at: expiresAt })
    .execute();
}

/** Leaves the answer that is expected, once. @returns whether it was. By primary key. */
export async function answerMail(
  db: Kysely<Database>,
  { session, ref, payload, now }: MailKey & { payload: string; now: number },
): Promise<boolean> {
  const result = await db
    .updateTable('session_mail')
    .set({ payload })
    .where('session', '=', session)
    .where('ref', '=', ref)
    .where('payload', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Leaves what nobody expects yet; too much of it is dropped. By primary key. */
export async function leaveMail(
  db: Kysely<Database>,
  { session, ref, expiresAt }: MailKey & { expiresAt: number },
): Promise<void> {
  const { count } = await db
    .selectFrom('session_mail')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('session', '=', session)
    .executeTakeFirstOrThrow();
  if (count >= MOST_UNREAD) return;
  await db
    .insertInto('session_mail')
    .values({ session, ref, payload: '{}', expires_at: expiresAt })
    .onConflict((conflict) => conflict.columns(['session', 'ref']).doNothing())
    .execute();
}

/** All mail of these sessions that has arrived. By primary key. */
export async function readMail(
  db: Kysely<Database>,
  sessions: readonly string[],
): Promise<(MailKey & { payload: string })[]> {
  const rows = await db
    .selectFrom('session_mail')
    .select(['session', 'ref', 'payload'])
    .where('session', 'in', sessions)
    .where('payload', 'is not', null)
    .execute();
  return rows.map(({ session, ref, payload }) => ({ session, ref, payload: payload ?? '' }));
}

/** By primary key. */
export async function deleteMail(db: Kysely<Database>, { session, ref }: MailKey): Promise<void> {
  await db
    .deleteFrom('session_mail')
    .where('session', '=', session)
    .where('ref', '=', ref)
    .execute();
}
