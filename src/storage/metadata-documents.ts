import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** The shared cache of Client ID Metadata Documents. */

export interface CachedDocument {
  /** The last good copy as it was fetched, or null. */
  body: string | null;
  fetchedAt: number | null;
  /** Until then neither a success nor a failure is asked for again. */
  freshUntil: number;
  failure: string | null;
}

/** By primary key. */
export async function findDocument(
  db: Kysely<Database>,
  url: string,
): Promise<CachedDocument | undefined> {
  const row = await db
    .selectFrom('metadata_documents')
    .selectAll()
    .where('url', '=', url)
    .executeTakeFirst();
  return (
    row && {
      body: row.body,
      fetchedAt: row.fetched_at,
      freshUntil: row.fresh_until,
      failure: row.failure,
    }
  );
}

export async function saveDocument(
  db: Kysely<Database>,
  url: string,
  document: CachedDocument,
): Promise<void> {
  const values = {
    url,
    body: document.body,
    fetched_at: document.fetchedAt,
    fresh_until: document.freshUntil,
    failure: document.failure,
  };
  await db
    .insertInto('metadata_documents')
    .values(values)
    .onConflict((conflict) => conflict.column('url').doUpdateSet(values))
    .execute();
}
