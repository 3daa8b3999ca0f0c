import { SECOND } from '#src/clock.ts';
import type { Config } from '#src/config.ts';
import { verifyPassword } from '#src/credentials/password.ts';
import type { Emit } from '#src/events.ts';
import { throttleAddress } from '#src/http/caller.ts';
import { digest } from '#src/ids.ts';
import { decideThrottle } from '#src/limits/throttle.ts';
import type { Store } from '#src/storage/open.ts';
import { decrement, extendWindow, increment } from '#src/storage/throttles.ts';
import { findUserByName, recordLogin } from '#src/storage/users.ts';
import { nameKey, nameProblem, type User } from '#src/users/user.ts';

/*
 * One attempt to log in. Whether the name exists, is disabled, is throttled or the password is wrong:
 * the same words and the same work. Attempts are counted before the password is looked at, so that
 * many at once cannot get past the limit, and taken back when it was right.
 */

export interface LoginParts {
  store: Store;
  limits: Config['login'];
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

export async function attemptLogin(parts: LoginParts, attempt: LoginAttempt): Promise<LoginResult> {
  const { store, limits, emit } = parts;
  const now = store.clock.now();
  const window = { now, length: limits.windowSeconds * SECOND };
  const addressKey = `login:address:${throttleAddress(attempt.address)}`;
  const byAddress = await increment(store.db, addressKey, window);
  const throttle = decideThrottle(
    byAddress,
    { max: limits.failuresPerAddress, windowMs: window.length },
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
  const isRefused = byUser.count > limits.failuresPerUser;
  const user = await verify(parts, attempt, isRefused);
  if (user === undefined) {
    // The last failure that is allowed begins the refusal; those that are refused do not prolong it.
    const endsAt = now + window.length;
    if (byAddress.count === limits.failuresPerAddress)
      await extendWindow(store.db, addressKey, endsAt);
    if (byUser.count === limits.failuresPerUser) await extendWindow(store.db, userKey, endsAt);
    emit({
      type: 'login.failed',
      address: attempt.address,
      reason: isRefused ? 'name throttled' : 'wrong',
    });
    return { kind: 'wrong' };
  }
  await decrement(store.db, addressKey);
  await decrement(store.db, userKey);
  await store.transaction((work) =>
    recordLogin(work, user, { address: attempt.address, clientId: attempt.clientId }),
  );
  emit({ type: 'login.succeeded', userId: user.id, address: attempt.address });
  return { kind: 'in', user, at: now };
}

async function verify(
  parts: LoginParts,
  attempt: LoginAttempt,
  isRefused: boolean,
): Promise<User | undefined> {
  const isPlausible =
    nameProblem(attempt.name.normalize('NFKC')) === undefined &&
    attempt.password.length <= MAX_PASSWORD;
  const found = isPlausible ? await findUserByName(parts.store.db, attempt.name) : undefined;
  const matches = await verifyPassword(
    found?.passwordHash,
    attempt.password.slice(0, MAX_PASSWORD),
  );
  return matches && !isRefused && found?.status === 'active' ? found : undefined;
}
