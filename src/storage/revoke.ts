import type { RevocationReason } from '#src/grants/grant.ts';
import type { ClientId, GrantId } from '#src/ids.ts';
import { countLiveTokens, type GrantFilter } from './grants.ts';
import type { Work } from './open.ts';

/*
 * The end of grants, here and nowhere else: the grant, its tokens and codes, and a row in the audit log,
 * in one transaction. Done for many at a time, so that ending all of them holds nobody up for long.
 */

/** What one revocation ended. */
export interface Revoked {
  grantId: GrantId;
  userName: string;
  clientId: ClientId;
  clientName: string;
  /** Access tokens, refresh tokens and codes that could still be used until now. */
  tokens: number;
}

export interface Revocation {
  actor: string;
  reason: RevocationReason;
  where: GrantFilter;
}

/** Ids in one statement. */
const AT_ONCE = 500;

/** Ends every active grant that the filter names, with its tokens, and says which those were. */
export async function revokeGrants(work: Work, revocation: Revocation): Promise<Revoked[]> {
  const revoked: Revoked[] = [];
  // Again until there is none: a grant that was made from one of these, by a transaction that we had to
  // wait for, is seen only now.
  for (;;) {
    const ended = await endGrants(work, revocation);
    if (ended.length === 0) return revoked;
    for (let from = 0; from < ended.length; from += AT_ONCE) {
      revoked.push(...(await endTokens(work, revocation, ended.slice(from, from + AT_ONCE))));
    }
  }
}

interface EndedGrant {
  id: string;
  user_id: string;
  client_id: string;
  client_name: string;
  created_at: number;
}

/** Newest first. Indexes grants_user, grants_client or the primary key, by the filter. */
async function endGrants(work: Work, { reason, where }: Revocation): Promise<EndedGrant[]> {
  let query = work.db
    .updateTable('grants')
    .set({ revoked_at: work.now, revoked_reason: reason })
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', work.now)
    .returning(['id', 'user_id', 'client_id', 'client_name', 'created_at']);
  if (where.ids !== undefined) query = query.where('id', 'in', where.ids);
  if (where.userId !== undefined) query = query.where('user_id', '=', where.userId);
  if (where.clientId !== undefined) query = query.where('client_id', '=', where.clientId);
  const ended = await query.execute();
  return ended.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
}

/**
 * Deletes the grants' tokens and sessions and writes their audit rows. Indexes tokens_grant,
 * protocol_sessions_grant, access_sessions_grant, binaries_grant.
 */
async function endTokens(
  work: Work,
  revocation: Revocation,
  ended: EndedGrant[],
): Promise<Revoked[]> {
  const ids = ended.map((grant) => grant.id);
  const live = await countLiveTokens(work.db, ids, work.now);
  await work.db.deleteFrom('tokens').where('grant_id', 'in', ids).execute();
  await work.db.deleteFrom('protocol_sessions').where('grant_id', 'in', ids).execute();
  await work.db.deleteFrom('access_sessions').where('grant_id', 'in', ids).execute();
  await work.db.deleteFrom('binaries').where('grant_id', 'in', ids).execute();
  const userIds = [...new Set(ended.map((grant) => grant.user_id))];
  const users = await work.db
    .selectFrom('users')
    .select(['id', 'name'])
    .where('id', 'in', userIds)
    .execute();
  const names = new Map(users.map((user) => [user.id, user.name]));
  const revoked = ended.map((grant) => ({
    grantId: grant.id as GrantId,
    userName: names.get(grant.user_id) ?? '',
    clientId: grant.client_id as ClientId,
    clientName: grant.client_name,
    tokens: live.get(grant.id) ?? 0,
  }));
  await work.audit(
    ...revoked.map((one) => ({
      actor: revocation.actor,
      action: 'grant.revoked',
      subject: one.userName,
      clientId: one.clientId,
      grantId: one.grantId,
      detail: { reason: revocation.reason, tokens: one.tokens },
    })),
  );
  return revoked;
}
