import type { UserId } from '#src/ids.ts';

/** A person who can log in. */
export interface User {
  id: UserId;
  name: string;
  roles: string[];
  /** What the project's own login said last that the person holds, in place of roles; else null. */
  privileges: string[] | null;
  status: 'active' | 'disabled';
  createdAt: number;
  lastLoginAt: number | null;
  /** Logins up to here count no more. */
  loginsEndAt: number;
}

/** However busy the browser is, a login is asked for again after this long. */
export const LONGEST_LOGIN_SECONDS = 12 * 60 * 60;

/** How long a login lasts. A grant counts from it, so it may not be older than a grant can be. */
export function loginLifeSeconds(grantTtlSeconds: number): number {
  return Math.min(LONGEST_LOGIN_SECONDS, grantTtlSeconds);
}

/**
 * Whether a login of this person still counts.
 * @param loggedInAt in milliseconds; known to the second, and that second is not given the benefit.
 */
export function loginCounts(
  user: Pick<User, 'status' | 'loginsEndAt'>,
  loggedInAt: number,
): boolean {
  const second = 1_000;
  return (
    user.status === 'active' &&
    Math.floor(loggedInAt / second) > Math.floor(user.loginsEndAt / second)
  );
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._@+-]{0,63}$/u;
/** Longer text is no name, and putting it in normal form could take long. */
const LONGEST = 256;
const PASSWORD_MIN = 12;
const PASSWORD_MAX = 1_024;

/**
 * The form under which names are compared: two accounts cannot differ by case or width alone. Upper
 * case brings together what lower case leaves apart (ß and SS), and lower case what upper case does.
 */
export function nameKey(name: string): string {
  const plain = name.slice(0, LONGEST).normalize('NFKC').toLowerCase().toUpperCase().toLowerCase();
  return plain.normalize('NFKC');
}

/** What is wrong with a user name, or undefined. */
export function nameProblem(name: string): string | undefined {
  // As it will be stored: one sign can stand for several words.
  if (name.length <= LONGEST && NAME.test(name.normalize('NFKC'))) return undefined;
  return 'A user name has 1 to 64 letters, digits and . _ @ + -, and begins with a letter or digit';
}

/** What is wrong with a new password, or undefined. */
export function passwordProblem(password: string, name: string): string | undefined {
  // Characters as people count them; the maximum is about bytes.
  if (Array.from(password).length < PASSWORD_MIN)
    return `A password has at least ${PASSWORD_MIN} characters`;
  if (password.length > PASSWORD_MAX) return `A password has at most ${PASSWORD_MAX} characters`;
  return nameKey(password) === nameKey(name) ? 'A password is not the user name' : undefined;
}
