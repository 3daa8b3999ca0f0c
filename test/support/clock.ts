import type { Clock } from '#src/clock.ts';

/** Real time, moved forward by hand. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void;
}

/** A clock that agrees with the machine's until it is advanced. */
export function createTestClock(): TestClock {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    advance(milliseconds) {
      ahead += milliseconds;
    },
  };
}
