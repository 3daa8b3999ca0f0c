import { sql, type Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** Counters within a window, shared by all processes. */

export interface Counter {
  count: number;
  windowEndsAt: number;
}

/** Adds one to a counter, or starts it anew when its window has ended. One atomic statement. */
export async function increment(
  db: Kysely<Database>,
  key: string,
  window: { now: number; length: number },
): Promise<Counter> {
  const fresh = window.now + window.length;
  const row = await db
    .insertInto('throttles')
    .values({ key, count: 1, window_ends_at: fresh })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet({
        count: sql<number>`CASE WHEN throttles.window_ends_at <= ${window.now} THEN 1 ELSE throttles.count + 1 END`,
        window_ends_at: sql<number>`CASE WHEN throttles.window_ends_at <= ${window.now} THEN ${fresh} ELSE throttles.window_ends_at END`,
      }),
    )
    .returning(['count', 'window_ends_at'])
    .executeTakeFirstOrThrow();
  return { count: row.count, windowEndsAt: row.window_ends_at };
}

/** The counter as it stands; by primary key. */
export async function readCounter(
  db: Kysely<Database>,
  key: string,
  now: number,
): Promise<Counter> {
  const row = await db
    .selectFrom('throttles')
    .select(['count', 'window_ends_at'])
    .where('key', '=', key)
    .where('window_ends_at', '>', now)
    .executeTakeFirst();
  return row
    ? { count: row.count, windowEndsAt: row.window_ends_at }
    : { count: 0, windowEndsAt: now };
}

/** Takes one back, for an attempt that turned out to be no failure. */
export async function decrement(db: Kysely<Database>, key: string): Promise<void> {
  await db
    .updateTable('throttles')
    .set((eb) => ({ count: eb('count', '-', 1) }))
    .where('key', '=', key)
    .where('count', '>', 0)
    .execute();
}

/** Moves the end of a window, for a refusal that counts from now. By primary key. */
export async function extendWindow(
  db: Kysely<Database>,
  key: string,
  endsAt: number,
): Promise<void> {
  await db
    .updateTable('throttles')
    .set({ window_ends_at: endsAt })
    .where('key', '=', key)
    .execute();
}
