import type { Kysely } from 'kysely';
import type { GrantId } from '#src/ids.ts';
import type { Database } from './schema.ts';

/** What tools made for download: sealed, so that a copy of the store opens none of it. */

/** The newest of a grant's downloads are kept; whoever makes more loses the oldest. */
const MOST_PER_GRANT = 20;

export interface StoredBinary {
  /** Of the secret in its address. */
  digest: string;
  grantId: GrantId;
  mimeType: string;
  sealed: Buffer;
  expiresAt: number;
}

/** Index binaries_grant. */
export async function insertBinary(db: Kysely<Database>, binary: StoredBinary): Promise<void> {
  await db
    .insertInto('binaries')
    .values({
      digest: binary.digest,
      grant_id: binary.grantId,
      mime_type: binary.mimeType,
      sealed: binary.sealed,
      expires_at: binary.expiresAt,
    })
    .execute();
  const surplus = await db
    .selectFrom('binaries')
    .select('digest')
    .where('grant_id', '=', binary.grantId)
    .orderBy('expires_at', 'desc')
    .offset(MOST_PER_GRANT)
    .limit(MOST_PER_GRANT)
    .execute();
  if (surplus.length === 0) return;
  const digests = surplus.map((row) => row.digest);
  await db.deleteFrom('binaries').where('digest', 'in', digests).execute();
}

/** By primary key, while it has not expired. */
export async function findBinary(
  db: Kysely<Database>,
  digest: string,
  now: number,
): Promise<StoredBinary | undefined> {
  const row = await db
    .selectFrom('binaries')
    .selectAll()
    .where('digest', '=', digest)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return (
    row && {
      digest: row.digest,
      grantId: row.grant_id as GrantId,
      mimeType: row.mime_type,
      sealed: Buffer.from(row.sealed),
      expiresAt: row.expires_at,
    }
  );
}
