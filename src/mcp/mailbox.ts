import {
  answerMail,
  deleteMail,
  expectMail,
  leaveMail,
  readMail,
  type MailKey,
} from '#src/storage/session-mail.ts';
import type { Store } from '#src/storage/open.ts';

/*
 * How a message for a running call of a session reaches the process that runs it. In the same process
 * it is handed over; from another one it comes as a row, looked for while somebody waits. There is no
 * look for a call that is over within the first interval.
 */

const LOOK_EVERY_MS = 250;
const KEPT_MS = 60_000;

export interface Waiting extends Disposable {
  /** Resolves with the message; never rejects. */
  readonly arrived: Promise<string>;
}

export class Mailbox {
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  readonly #waiting = new Map<string, { key: MailKey; resolve: (payload: string) => void }>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(store: Store, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  /** Waits for a message, until it is disposed. */
  wait(key: MailKey): Waiting {
    const { promise, resolve } = Promise.withResolvers<string>();
    const name = nameOf(key);
    this.#waiting.set(name, { key, resolve });
    this.#lookLater();
    return {
      arrived: promise,
      [Symbol.dispose]: () => {
        if (this.#waiting.get(name)?.resolve === resolve) this.#waiting.delete(name);
        if (this.#waiting.size > 0) return;
        clearTimeout(this.#timer);
        this.#timer = undefined;
      },
    };
  }

  /** The same for an answer that only one may give, once, until the given time. */
  async expect(key: MailKey, expiresAt: number): Promise<Waiting> {
    await expectMail(this.#store.db, { ...key, expiresAt });
    const waiting = this.wait(key);
    return {
      arrived: waiting.arrived,
      [Symbol.dispose]: () => {
        waiting[Symbol.dispose]();
        // Left behind, it would expire.
        deleteMail(this.#store.db, key).catch(this.#onError);
      },
    };
  }

  /** Gives the answer that somebody expects, wherever. Nothing happens when nobody does. */
  async answer(key: MailKey, payload: string): Promise<void> {
    const now = this.#store.clock.now();
    if (await answerMail(this.#store.db, { ...key, payload, now })) this.#deliver(key, payload);
  }

  /** Leaves a message for whoever waits for it, wherever. */
  async leave(key: MailKey): Promise<void> {
    if (this.#deliver(key, '{}')) return;
    await leaveMail(this.#store.db, { ...key, expiresAt: this.#store.clock.now() + KEPT_MS });
  }

  #deliver(key: MailKey, payload: string): boolean {
    const waiting = this.#waiting.get(nameOf(key));
    waiting?.resolve(payload);
    return waiting !== undefined;
  }

  #lookLater(): void {
    if (this.#timer !== undefined || this.#isLooking) return;
    this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      const sessions = new Set([...this.#waiting.values()].map(({ key }) => key.session));
      if (sessions.size === 0) return;
      for (const { payload, ...key } of await readMail(this.#store.db, [...sessions]))
        this.#deliver(key, payload);
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#isLooking = false;
      this.#timer = undefined;
      if (this.#waiting.size > 0) this.#lookLater();
    }
  }
}

function nameOf({ session, ref }: MailKey): string {
  return `${session} ${ref}`;
}
