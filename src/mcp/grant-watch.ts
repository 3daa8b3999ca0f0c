import { SECOND, type Clock } from '#src/clock.ts';
import type { Authentication, Denial } from '#src/credentials/authenticate.ts';

/*
 * A call may run for minutes, and its grant may be revoked meanwhile. While it runs the grant is looked
 * at once a second; a call that is over sooner costs no read beside the one that let it in.
 */

export interface GrantWatch extends Disposable {
  /** Aborted when the caller has gone or the grant no longer counts. */
  readonly signal: AbortSignal;
  /**
   * Why the grant no longer counts, or undefined. Looks once more when the call took longer than a
   * second: nothing may be told that a new request would be refused.
   * @throws `store_unavailable` when the store does not answer.
   */
  verdict(): Promise<Denial | undefined>;
}

export interface WatchedGrant {
  recheck: Extract<Authentication, { ok: true }>['recheck'];
  clock: Clock;
  /** Aborted when the caller has gone. */
  gone: AbortSignal;
}

const LOOK_EVERY_MS = SECOND;

/** Looks at a grant until it is disposed. Nothing of it keeps the process alive. */
export function watchGrant({ recheck, clock, gone }: WatchedGrant): GrantWatch {
  const startedAt = clock.now();
  const control = new AbortController();
  let denial: Denial | undefined;
  let isLong = false;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const lookLater = (): void => {
    if (isOver) return;
    timer = setTimeout(() => void look(), LOOK_EVERY_MS);
    timer.unref();
  };
  const look = async (): Promise<void> => {
    isLong = true;
    try {
      denial = await recheck();
    } catch {
      // A store that is away for a moment stops no work half-way; without it nothing is answered.
    }
    if (denial === undefined) lookLater();
    else control.abort(new Error(`the grant no longer counts: ${denial}`));
  };
  const leave = (): void => control.abort(gone.reason);
  if (gone.aborted) leave();
  else gone.addEventListener('abort', leave, { once: true });
  lookLater();
  return {
    signal: control.signal,
    async verdict() {
      const tookLong = isLong || clock.now() - startedAt >= LOOK_EVERY_MS;
      if (denial === undefined && tookLong) denial = await recheck();
      return denial;
    },
    [Symbol.dispose]() {
      isOver = true;
      clearTimeout(timer);
      gone.removeEventListener('abort', leave);
    },
  };
}
