import type { Kysely } from 'kysely';
import { AppError } from '#src/errors.ts';
import { findClient, type StoredClient } from '#src/storage/clients.ts';
import type { GrantFilter } from '#src/storage/grants.ts';
import type { Database } from '#src/storage/schema.ts';
import { findUserByName } from '#src/storage/users.ts';
import type { User } from '#src/users/user.ts';

/** Names on the command line, turned into what the store knows by them. */

/** @throws `not_found` when nobody has this name. */
export async function requireUser(db: Kysely<Database>, name: string): Promise<User> {
  const user = await findUserByName(db, name);
  if (user !== undefined) return user;
  throw new AppError('not_found', `There is no user "${name}"`, {
    hint: 'castellan users list shows them.',
  });
}

/** @throws `not_found` when there is no client with this id. */
export async function requireClient(db: Kysely<Database>, id: string): Promise<StoredClient> {
  const client = await findClient(db, id);
  if (client === undefined) throw noClient(id);
  return client;
}

export function noClient(id: string): AppError {
  return new AppError('not_found', `There is no client with the id "${id}"`, {
    hint: 'castellan clients list shows the ids.',
  });
}

export interface GrantFilterOptions {
  /** A user's name. */
  user?: string;
  /** A client's id; names are not unique, and strangers choose them. */
  client?: string;
}

/** @throws `not_found` when there is no such user or client. */
export async function grantFilter(
  db: Kysely<Database>,
  options: GrantFilterOptions,
): Promise<GrantFilter> {
  const filter: GrantFilter = {};
  if (options.user !== undefined) filter.userId = (await requireUser(db, options.user)).id;
  if (options.client === undefined) return filter;
  return { ...filter, clientId: (await requireClient(db, options.client)).id };
}
