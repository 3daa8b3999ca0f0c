import { MINUTE } from '#src/clock.ts';
import { AppError } from '#src/errors.ts';
import { throttleAddress } from '#src/http/caller.ts';
import { decideThrottle } from '#src/limits/throttle.ts';
import type { Store } from '#src/storage/open.ts';
import { increment } from '#src/storage/throttles.ts';

/*
 * Every authorization request leaves a row until it is answered or expires, and anybody may send one. So
 * what it holds is bounded, and how many an address may start.
 */

const LONGEST_QUERY = 16_384;
/** Enough for an office behind one address; each is gone after ten minutes. */
const LIMIT = { max: 300, windowMs: 10 * MINUTE };

/** @throws `invalid_input` when the request is too long, `too_many_requests` above the limit. */
export async function admitAuthorization(
  store: Store,
  query: string,
  address: string,
): Promise<void> {
  if (query.length > LONGEST_QUERY) {
    throw new AppError(
      'invalid_input',
      `An authorization request has at most ${LONGEST_QUERY} characters`,
    );
  }
  const now = store.clock.now();
  const key = `authorize:${throttleAddress(address)}`;
  const counter = await increment(store.db, key, { now, length: LIMIT.windowMs });
  const throttle = decideThrottle(counter, LIMIT, now);
  if (throttle.allowed) return;
  throw new AppError('too_many_requests', 'Too many authorization requests from this address', {
    detail: { retryAfterSeconds: throttle.retryAfterSeconds },
  });
}
