import { AppError } from '#src/errors.ts';

/*
 * Turns at a resource that one caller at a time may use. Nobody waits for ever and the queue has an
 * end: behind a database that hangs, requests would otherwise pile up until the memory is gone.
 */

const MAX_WAITING = 1_000;

export interface MutexOptions {
  /** How long a caller waits for its turn, counted from when it came, in milliseconds. */
  waitMs: number;
  /** How many may wait; whoever comes then is refused at once. */
  maxWaiting?: number | undefined;
}

/** Lets one holder at a time run; the others wait in order. */
export class Mutex {
  readonly #waitMs: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Set<() => void>();
  #isHeld = false;
  #deadline = 0;

  constructor(options: MutexOptions) {
    this.#waitMs = options.waitMs;
    this.#maxWaiting = options.maxWaiting ?? MAX_WAITING;
  }

  /**
   * Until when the present holder may wait for anything else, on `performance.now()`'s scale: the
   * time it spent in the queue counts.
   */
  get deadline(): number {
    return this.#deadline;
  }

  /**
   * Resolves, with the function that lets the next one in, when it is this caller's turn.
   *
   * @throws `store_unavailable` when the turn does not come in time, or too many wait already.
   */
  async acquire(): Promise<() => void> {
    const deadline = performance.now() + this.#waitMs;
    if (this.#isHeld) await this.#queue();
    this.#isHeld = true;
    this.#deadline = deadline;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#next();
    };
  }

  #queue(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#waiting.size >= this.#maxWaiting) {
      reject(busy('too many requests wait for it'));
      return promise;
    }
    const timer = setTimeout(() => {
      this.#waiting.delete(enter);
      reject(busy(`no turn within ${this.#waitMs} ms`));
    }, this.#waitMs);
    const enter = (): void => {
      clearTimeout(timer);
      resolve();
    };
    this.#waiting.add(enter);
    return promise;
  }

  /** The turn is handed over without a gap, so that a newcomer cannot slip in between. */
  #next(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#isHeld = false;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

function busy(reason: string): AppError {
  return new AppError('store_unavailable', `The state store does not answer: ${reason}`);
}
