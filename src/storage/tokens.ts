import type { Kysely, Selectable } from 'kysely';
import type { ClientId, GrantId } from '#src/ids.ts';
import type { Work } from './open.ts';
import { parseObject } from './rows.ts';
import type { Database, TokenTable } from './schema.ts';

/** Codes, access tokens and refresh tokens, by the digest of what the client holds. */

export interface Token {
  kind: TokenTable['kind'];
  grantId: GrantId;
  clientId: ClientId;
  payload: Record<string, unknown>;
  issuedAt: number;
  expiresAt: number;
  usedAt: number | null;
  successorKid: string | null;
}

export interface NewToken {
  digest: string;
  kind: TokenTable['kind'];
  grantId: string;
  clientId: string;
  payload?: Record<string, unknown> | undefined;
  expiresAt: number;
}

export async function insertToken(
  db: Kysely<Database>,
  now: number,
  token: NewToken,
): Promise<void> {
  await db
    .insertInto('tokens')
    .values({
      digest: token.digest,
      kind: token.kind,
      grant_id: token.grantId,
      client_id: token.clientId,
      payload: JSON.stringify(token.payload ?? {}),
      issued_at: now,
      expires_at: token.expiresAt,
      used_at: null,
      successor_kid: null,
    })
    .execute();
}

/** By primary key; expired ones too. */
export async function findToken(
  db: Kysely<Database>,
  kind: TokenTable['kind'],
  digest: string,
): Promise<Token | undefined> {
  const row = await db
    .selectFrom('tokens')
    .selectAll()
    .where('digest', '=', digest)
    .where('kind', '=', kind)
    .executeTakeFirst();
  return row && toToken(row);
}

/** The same under the row's lock, so that two machines decide one after the other. */
export async function lockToken(
  work: Work,
  kind: TokenTable['kind'],
  digest: string,
): Promise<Token | undefined> {
  let query = work.db
    .selectFrom('tokens')
    .selectAll()
    .where('digest', '=', digest)
    .where('kind', '=', kind);
  // SQLite took its only write lock when the transaction began.
  if (work.dialect === 'postgres') query = query.forUpdate();
  const row = await query.executeTakeFirst();
  return row && toToken(row);
}

/** Marks a token as used; false when it was used before. By primary key, decided in one statement. */
export async function consumeToken(
  work: Work,
  digest: string,
  successorKid: string | null = null,
): Promise<boolean> {
  const result = await work.db
    .updateTable('tokens')
    .set({ used_at: work.now, successor_kid: successorKid })
    .where('digest', '=', digest)
    .where('used_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Deletes up to `limit` expired tokens; returns how many. Index tokens_expiry. */
export async function deleteExpiredTokens(
  db: Kysely<Database>,
  now: number,
  limit: number,
): Promise<number> {
  const result = await db
    .deleteFrom('tokens')
    .where('digest', 'in', (eb) =>
      eb.selectFrom('tokens').select('digest').where('expires_at', '<=', now).limit(limit),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** How many access tokens can be used now. Index tokens_expiry. */
export async function countLiveAccessTokens(db: Kysely<Database>, now: number): Promise<number> {
  const row = await db
    .selectFrom('tokens')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('kind', '=', 'access')
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return row.count;
}

function toToken(row: Selectable<TokenTable>): Token {
  return {
    kind: row.kind,
    grantId: row.grant_id as GrantId,
    clientId: row.client_id as ClientId,
    payload: parseObject(row.payload),
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    usedAt: row.used_at,
    successorKid: row.successor_kid,
  };
}
