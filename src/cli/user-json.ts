import { isoTime } from '#src/clock.ts';
import type { User } from '#src/users/user.ts';

/** An account as the commands print it with --json. */
export function userJson(user: User): object {
  return {
    id: user.id,
    name: user.name,
    roles: user.roles,
    privileges: user.privileges,
    status: user.status,
    createdAt: isoTime(user.createdAt),
    lastLoginAt: isoTime(user.lastLoginAt),
  };
}
