import { MINUTE, SECOND } from '#src/clock.ts';
import type { SessionHook } from '#src/config.ts';
import type { Principal } from '#src/credentials/principal.ts';
import { messageOf } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import type { AccessSessionId } from '#src/ids.ts';
import { decideThrottle } from '#src/limits/throttle.ts';
import {
  deleteAccessSession,
  findAccessSession,
  finishOpening,
  openAccessSession,
  touchAccessSession,
} from '#src/storage/access-sessions.ts';
import type { Store } from '#src/storage/open.ts';
import { increment } from '#src/storage/throttles.ts';
import { RPC, type RpcFailure } from './rpc-error.ts';
import { sessionStorage, type SessionStorage } from './session-storage.ts';

/*
 * Seats: the access session of a caller, whatever the era. The check of every request reads it along
 * with the grant; here a new one is opened while there is a seat, the project's hook is run once for
 * it, and the requests of each are counted.
 */

export interface SeatParts {
  store: Store;
  /** A session that nobody uses this long is over. */
  idleMs: number;
  /** Sessions at once; undefined for any number. */
  seats: number | undefined;
  /** undefined for any number. */
  requestsPerMinute: number | undefined;
  onSession: SessionHook | undefined;
  emit: Emit;
}

export type Admission =
  | {
      ok: true;
      session: AccessSessionId;
      storage: SessionStorage;
      /** Counts one more request; why it may not be served, if so. The first one is counted. */
      charge: () => Promise<RpcFailure | undefined>;
    }
  | { ok: false; failure: RpcFailure };

export interface Seats {
  /** Lets a known caller in, or says when to come again. @throws `store_unavailable`. */
  admit(principal: Principal, address: string): Promise<Admission>;
}

const FULL_RETRY_SECONDS = 30;
const HOOK_WITHIN_MS = 10 * SECOND;
/** A use is written down when the end could be this much later, or a tenth of the idle time. */
const TOUCH_EVERY_MS = 30 * SECOND;
const LOOK_EVERY_MS = 50;

export function createSeats(parts: SeatParts): Seats {
  const { store, requestsPerMinute } = parts;
  return {
    async admit(principal, address) {
      const id = await sessionOf(parts, principal, address);
      if (typeof id !== 'string') return { ok: false, failure: id };
      const charge = async (): Promise<RpcFailure | undefined> =>
        requestsPerMinute === undefined ? undefined : countRequest(store, id, requestsPerMinute);
      const failure = await charge();
      if (failure !== undefined) return { ok: false, failure };
      return { ok: true, session: id, storage: sessionStorage(store, id), charge };
    },
  };
}

async function sessionOf(
  parts: SeatParts,
  principal: Principal,
  address: string,
): Promise<AccessSessionId | RpcFailure> {
  const { store, idleMs } = parts;
  const { session, grantId } = principal;
  const now = store.clock.now();
  if (session === undefined || session.expiresAt <= now) return open(parts, principal, address);
  if (!session.isOpen) return waitFor(store, session.id);
  if (session.expiresAt < now + idleMs - Math.min(TOUCH_EVERY_MS, idleMs / 10)) {
    const use = { id: session.id, grantId, at: now, expiresAt: now + idleMs };
    // A note: without it the session ends earlier, and a new one begins.
    touchAccessSession(store.notes, use).catch(() => {});
  }
  return session.id;
}

async function open(
  parts: SeatParts,
  { user, client, grantId }: Principal,
  address: string,
): Promise<AccessSessionId | RpcFailure> {
  const { store, seats, onSession, idleMs, emit } = parts;
  const opened = await store.transaction((work) =>
    openAccessSession(work, {
      user,
      client,
      grantId,
      address,
      expiresAt: work.now + idleMs,
      seats,
      isOpen: onSession === undefined,
    }),
  );
  if (opened.kind === 'full') {
    emit({ type: 'session.refused', userId: user.id, address });
    return comeAgain(503, 'Every session is taken, try again later', FULL_RETRY_SECONDS);
  }
  if (opened.isOpen) return opened.id;
  if (opened.kind === 'there' || onSession === undefined) return waitFor(store, opened.id);
  try {
    const storage = sessionStorage(store, opened.id);
    await inTime(onSession({ user: { ...user }, client: { ...client }, address, storage }));
  } catch (error) {
    await deleteAccessSession(store.db, opened.id);
    emit({ type: 'server.error', where: 'onSession', message: messageOf(error) });
    return notOpened();
  }
  // It may have been closed, or its grant revoked, while the hook ran.
  return (await finishOpening(store.db, opened.id, store.clock.now())) ? opened.id : notOpened();
}

/** Another request is opening the session: its project may have something to do first. */
async function waitFor(store: Store, id: AccessSessionId): Promise<AccessSessionId | RpcFailure> {
  for (let waited = 0; waited < HOOK_WITHIN_MS; waited += LOOK_EVERY_MS) {
    const session = await findAccessSession(store.db, id);
    if (session === undefined) break;
    if (session.isOpen) return id;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  // Whoever was opening it failed, or its process ended.
  await deleteAccessSession(store.db, id);
  return notOpened();
}

async function inTime(work: Promise<void> | void): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = new Error(`no answer within ${HOOK_WITHIN_MS / SECOND} s`);
  const timer = setTimeout(() => reject(late), HOOK_WITHIN_MS);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function countRequest(
  store: Store,
  id: AccessSessionId,
  max: number,
): Promise<RpcFailure | undefined> {
  const now = store.clock.now();
  const counter = await increment(store.db, `quota:${id}`, { now, length: MINUTE });
  const throttle = decideThrottle(counter, { max, windowMs: MINUTE }, now);
  return throttle.allowed
    ? undefined
    : comeAgain(429, 'Too many requests in this session', throttle.retryAfterSeconds);
}

function notOpened(): RpcFailure {
  return comeAgain(503, 'The session could not be opened, try again shortly', 5);
}

function comeAgain(status: number, message: string, seconds: number): RpcFailure {
  const headers = { 'retry-after': String(seconds) };
  return { status, code: RPC.unavailable, message, headers };
}
