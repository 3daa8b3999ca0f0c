import type { Kysely, Selectable } from 'kysely';
import { AppError } from '#src/errors.ts';
import { newId, type UserId } from '#src/ids.ts';
import { nameKey, type User } from '#src/users/user.ts';
import { isUniqueViolation } from './dialect.ts';

import type { Work } from './open.ts';
import { revokeGrants, type Revoked } from './revoke.ts';
import { parseList } from './rows.ts';
import type { Database, UserTable } from './schema.ts';

/** Accounts. Everything that changes one writes its audit row in the same transaction. */

export interface NewUser {
  name: string;
  passwordHash: string;
  roles: string[];
}

const NEW = { privileges: null, status: 'active', last_login_at: null, logins_end_at: 0 } as const;

/** @throws `conflict` when the name is taken, whatever its case. */
export async function addUser(work: Work, actor: string, user: NewUser): Promise<User> {
  const row: Selectable<UserTable> = {
    id: newId('usr', work.random),
    name: user.name.normalize('NFKC'),
    name_key: nameKey(user.name),
    password_hash: user.passwordHash,
    roles: JSON.stringify(user.roles),
    ...NEW,
    created_at: work.now,
  };
  try {
    await work.db.insertInto('users').values(row).execute();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new AppError('conflict', `There is already a user ${user.name}`, {
      hint: 'castellan users list shows them.',
    });
  }
  await work.audit({
    actor,
    action: 'user.added',
    subject: row.name,
    detail: { roles: user.roles },
  });
  return toUser(row);
}

/**
 * The account of a person whom the project's own login let in; made when there is none. It has no
 * password and no roles. Index users_name_key.
 * @returns undefined when the name is that of another account but for its case.
 */
export async function admitUser(work: Work, name: string): Promise<User | undefined> {
  const result = await work.db
    .insertInto('users')
    .values({
      id: newId('usr', work.random),
      name: name.normalize('NFKC'),
      name_key: nameKey(name),
      password_hash: null,
      roles: '[]',
      ...NEW,
      created_at: work.now,
    })
    .onConflict((conflict) => conflict.column('name_key').doNothing())
    .executeTakeFirst();
  if ((result.numInsertedOrUpdatedRows ?? 0n) === 1n)
    await work.audit({ actor: 'login-hook', action: 'user.added', subject: name });
  const user = await findUserByName(work.db, name);
  return user?.name === name.normalize('NFKC') ? user : undefined;
}

/** By name, ordered; index users_name_key (the unique constraint). */
export async function listUsers(db: Kysely<Database>): Promise<User[]> {
  const rows = await db.selectFrom('users').selectAll().orderBy('name_key').execute();
  return rows.map(toUser);
}

/** Index users_name_key. */
export async function findUserByName(
  db: Kysely<Database>,
  name: string,
): Promise<(User & { passwordHash: string | null }) | undefined> {
  const row = await db
    .selectFrom('users')
    .selectAll()
    .where('name_key', '=', nameKey(name))
    .executeTakeFirst();
  return row && { ...toUser(row), passwordHash: row.password_hash };
}

/**
 * Whether the person is active, under the row's lock: whoever disables the account waits until this
 * transaction has ended, and then sees what came of it.
 */
export async function lockActiveUser(work: Work, id: UserId): Promise<boolean> {
  let query = work.db
    .selectFrom('users')
    .select('id')
    .where('id', '=', id)
    .where('status', '=', 'active');
  if (work.dialect === 'postgres') query = query.forShare();
  return (await query.executeTakeFirst()) !== undefined;
}

/** By primary key. */
export async function findUser(db: Kysely<Database>, id: UserId): Promise<User | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toUser(row);
}

/** Sets a password and ends the person's browser sessions. */
export async function setPassword(
  work: Work,
  actor: string,
  { user, passwordHash }: { user: User; passwordHash: string },
): Promise<void> {
  await work.db
    .updateTable('users')
    .set({ password_hash: passwordHash, logins_end_at: work.now })
    .where('id', '=', user.id)
    .execute();
  await endBrowserSessions(work, user.id);
  await work.audit({ actor, action: 'user.password_changed', subject: user.name });
}

/** Disables an account: its grants, tokens and browser sessions end with it. */
export async function disableUser(work: Work, actor: string, user: User): Promise<Revoked[]> {
  await work.db
    .updateTable('users')
    .set({ status: 'disabled', logins_end_at: work.now })
    .where('id', '=', user.id)
    .execute();
  await endBrowserSessions(work, user.id);
  const revoked = await revokeGrants(work, {
    actor,
    reason: 'user_disabled',
    where: { userId: user.id },
  });
  await work.audit({ actor, action: 'user.disabled', subject: user.name });
  return revoked;
}

export async function enableUser(work: Work, actor: string, user: User): Promise<void> {
  await work.db.updateTable('users').set({ status: 'active' }).where('id', '=', user.id).execute();
  await work.audit({ actor, action: 'user.enabled', subject: user.name });
}

/** Removes an account with everything that hangs on it. */
export async function removeUser(work: Work, actor: string, user: User): Promise<Revoked[]> {
  const revoked = await revokeGrants(work, {
    actor,
    reason: 'user_removed',
    where: { userId: user.id },
  });
  await endBrowserSessions(work, user.id);
  await work.db.deleteFrom('users').where('id', '=', user.id).execute();
  await work.audit({ actor, action: 'user.removed', subject: user.name });
  return revoked;
}

export interface LoginRecord {
  user: User;
  /** What the person holds from now on in place of roles; null for accounts with roles. */
  privileges: string[] | null;
  detail: Record<string, unknown>;
}

/** Notes a login, and what it says of the person's privileges. */
export async function recordLogin(
  work: Work,
  { user, privileges, detail }: LoginRecord,
): Promise<void> {
  await work.db
    .updateTable('users')
    .set({ last_login_at: work.now, privileges: privileges && JSON.stringify(privileges) })
    .where('id', '=', user.id)
    .execute();
  await work.audit({
    actor: `user:${user.name}`,
    action: 'login.succeeded',
    subject: user.name,
    detail: privileges === null ? detail : { ...detail, privileges },
  });
}

async function endBrowserSessions(work: Work, userId: UserId): Promise<void> {
  await work.db.deleteFrom('browser_sessions').where('user_id', '=', userId).execute();
}

function toUser(row: Selectable<UserTable>): User {
  return {
    id: row.id as UserId,
    name: row.name,
    roles: parseList(row.roles),
    privileges: row.privileges === null ? null : parseList(row.privileges),
    status: row.status,
    createdAt: row.created_at,
    lastLoginAt: row.last_login_at,
    loginsEndAt: row.logins_end_at,
  };
}
