import { SECOND } from '#src/clock.ts';
import { isMcpOn } from '#src/storage/settings.ts';
import type { Store } from '#src/storage/open.ts';

/*
 * Whether the endpoint is switched on, for requests that bring no credential: looked at behind them,
 * at most once a second. A request with a credential is told by the same read as its grant.
 */

const LOOK_EVERY_MS = SECOND;

export class McpSwitch {
  readonly #store: Store;
  readonly #isConfigured: boolean;
  #isOn = true;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @param isConfigured whether the configuration serves it at all. */
  constructor(store: Store, isConfigured: boolean) {
    this.#store = store;
    this.#isConfigured = isConfigured;
  }

  get isOn(): boolean {
    const now = performance.now();
    if (now - this.#lookedAt >= LOOK_EVERY_MS) {
      this.#lookedAt = now;
      // A store that is away switches nothing; whoever has a credential is refused by it.
      isMcpOn(this.#store.db).then(
        (isOn) => (this.#isOn = isOn),
        () => {},
      );
      // What was known is old: whoever has a credential is told by the read of the grant.
      return this.#isConfigured;
    }
    return this.#isConfigured && this.#isOn;
  }
}
