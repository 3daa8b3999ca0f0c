import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideThrottle, type ThrottleDecision } from '#src/limits/throttle.ts';

const NOW = 1_800_000_000_000;
const LIMIT = { max: 3, windowMs: 900_000 };
const refused = (retryAfterSeconds: number): ThrottleDecision => ({
  allowed: false,
  retryAfterSeconds,
});

describe('how many attempts a window allows', () => {
  const cases: [count: number, endsInMs: number, decision: ThrottleDecision][] = [
    [0, 0, { allowed: true }],
    [1, 900_000, { allowed: true }],
    [3, 900_000, { allowed: true }],
    [4, 900_000, refused(900)],
    [4, 899_001, refused(900)],
    [4, 899_000, refused(899)],
    [1_000_000, 5_000, refused(5)],
    [4, 1, refused(1)],
    [4, 0, refused(1)],
    [4, -5_000, refused(1)],
  ];
  for (const [count, endsInMs, decision] of cases) {
    it(`${count} of 3 with ${endsInMs} ms left`, () => {
      assert.deepEqual(
        decideThrottle({ count, windowEndsAt: NOW + endsInMs }, LIMIT, NOW),
        decision,
      );
    });
  }
});
