import { SECOND } from '#src/clock.ts';
import type { Config, LoginHook } from '#src/config.ts';
import { verifyPassword } from '#src/credentials/password.ts';
import type { Emit } from '#src/events.ts';
import { throttleAddress } from '#src/http/caller.ts';
import { digest } from '#src/ids.ts';
import { decideThrottle } from '#src/limits/throttle.ts';
import type { Store } from '#src/storage/open.ts';
import { decrement, extendWindow, increment } from '#src/storage/throttles.ts';
import { admitUser, findUserByName, recordLogin } from '#src/storage/users.ts';
import { nameKey, nameProblem, type User } from '#src/users/user.ts';
import { askLoginHook } from './login-hook.ts';

/*
 * One attempt to log in. Whether the name exists, is disabled, is throttled or the password is wrong:
 * the same words and the same work. Attempts are counted before the password is looked at, so that
 * many at once cannot get past the limit, and taken back when it was right.
 */

export interface LoginParts {
  store: Store;
  config: Config['login'];
  /** The privileges that roles.json declares. */
  privileges: () => ReadonlySet<string>;
  emit: Emit;
}

export interface LoginAttempt {
  name: string;
  password: string;
  address: string;
  clientId: string;
}

export type LoginResult =
  | { kind: 'in'; user: User; at: number }
  | { kind: 'wrong' }
  | { kind: 'busy'; retryAt: number; retryAfterSeconds: number };

const MAX_PASSWORD = 1_024;

export async function attemptLogin(parts: LoginParts, typed: LoginAttempt): Promise<LoginResult> {
  // Nobody means the space around a name; counted apart, it would be a way around the limit.
  const attempt = { ...typed, name: typed.name.trim() };
  const { store, config, emit } = parts;
  const now = store.clock.now();
  const window = { now, length: config.windowSeconds * SECOND };
  const addressKey = `login:address:${throttleAddress(attempt.address)}`;
  const byAddress = await increment(store.db, addressKey, window);
  const throttle = decideThrottle(
    byAddress,
    { max: config.failuresPerAddress, windowMs: window.length },
    now,
  );
  if (!throttle.allowed) {
    emit({ type: 'login.throttled', address: attempt.address });
    return {
      kind: 'busy',
      retryAt: byAddress.windowEndsAt,
      retryAfterSeconds: throttle.retryAfterSeconds,
    };
  }
  // A digest, because a name may be anything that somebody typed, also a password.
  const userKey = `login:user:${digest(nameKey(attempt.name))}`;
  const byUser = await increment(store.db, userKey, window);
  const isRefused = byUser.count > config.failuresPerUser;
  const user = await judge(parts, attempt, isRefused);
  if (user === undefined) {
    // The last failure that is allowed begins the refusal; those that are refused do not prolong it.
    const endsAt = now + window.length;
    if (byAddress.count === config.failuresPerAddress)
      await extendWindow(store.db, addressKey, endsAt);
    if (byUser.count === config.failuresPerUser) await extendWindow(store.db, userKey, endsAt);
    emit({
      type: 'login.failed',
      address: attempt.address,
      reason: isRefused ? 'name throttled' : 'wrong',
    });
    return { kind: 'wrong' };
  }
  await decrement(store.db, addressKey);
  await decrement(store.db, userKey);
  emit({ type: 'login.succeeded', userId: user.id, address: attempt.address });
  return { kind: 'in', user, at: now };
}

/** Who this is, if anybody who may come in. What refuses a name refuses names that nobody has, too. */
async function judge(
  parts: LoginParts,
  attempt: LoginAttempt,
  isRefused: boolean,
): Promise<User | undefined> {
  const { hook } = parts.config;
  if (hook === undefined) return checkAccount(parts, attempt, isRefused);
  return isRefused ? undefined : checkWithHook(parts, hook, attempt);
}

/** Whom the built-in accounts let in. */
async function checkAccount(
  { store }: LoginParts,
  attempt: LoginAttempt,
  isRefused: boolean,
): Promise<User | undefined> {
  const isPlausible =
    nameProblem(attempt.name.normalize('NFKC')) === undefined &&
    attempt.password.length <= MAX_PASSWORD;
  const found = isPlausible ? await findUserByName(store.db, attempt.name) : undefined;
  const matches = await verifyPassword(
    found?.passwordHash,
    attempt.password.slice(0, MAX_PASSWORD),
  );
  if (!matches || isRefused || found?.status !== 'active') return undefined;
  await store.transaction((work) =>
    recordLogin(work, { user: found, privileges: null, detail: detailOf(attempt) }),
  );
  return found;
}

/**
 * Whom the project's own login lets in. An account of that name that was disabled here stays out.
 * @throws `login_unavailable` when the hook gives no usable answer. That attempt stays counted: a
 * hook that throws for a wrong password must not make guessing free.
 */
async function checkWithHook(
  { store, emit, privileges: declared }: LoginParts,
  hook: LoginHook,
  attempt: LoginAttempt,
): Promise<User | undefined> {
  const subject = await askLoginHook({ hook, emit }, attempt);
  if (subject === undefined) return undefined;
  const unknown = subject.privileges.filter((one) => !declared().has(one)).join(', ');
  if (unknown !== '')
    emit({ type: 'roles.warning', reason: `the login hook gave what is not declared: ${unknown}` });
  return store.transaction(async (work) => {
    const user = await admitUser(work, subject.name);
    if (user === undefined) {
      const message = `there is another account that differs from ${subject.name} by case only`;
      emit({ type: 'server.error', where: 'login hook', message });
    }
    if (user?.status !== 'active') return undefined;
    const { privileges } = subject;
    await recordLogin(work, { user, privileges, detail: detailOf(attempt) });
    return { ...user, privileges };
  });
}

function detailOf({ address, clientId }: LoginAttempt): Record<string, unknown> {
  return { address, clientId };
}
