import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  decideRefresh,
  type RefreshDecision,
  type RefreshQuestion,
  type ShownToken,
} from '#src/grants/refresh-rule.ts';

const NOW = 1_800_000_000_000;
const RETRY = 10_000;
const FRESH: ShownToken = { clientId: 'cli_1', expiresAt: NOW + 1, usedAt: null };

type Change = Partial<Omit<RefreshQuestion, 'shown'>> & { shown?: Partial<ShownToken> };

function decide({ shown, ...change }: Change): RefreshDecision {
  return decideRefresh({
    shown: { ...FRESH, ...shown },
    clientId: 'cli_1',
    now: NOW,
    retryMs: RETRY,
    isGrantLive: true,
    successorUnused: true,
    ...change,
  });
}

const usedAgo = (ms: number): Partial<ShownToken> => ({ usedAt: NOW - ms });

describe('what happens to a refresh token that is shown', () => {
  const cases: [name: string, decision: RefreshDecision, change: Change][] = [
    ['the first use', 'rotate', {}],
    ['the first use, a millisecond before it expires', 'rotate', { shown: { expiresAt: NOW + 1 } }],
    ['the first use as it expires', 'expired', { shown: { expiresAt: NOW } }],
    ['the first use, a millisecond too late', 'expired', { shown: { expiresAt: NOW - 1 } }],
    ['the first use without retries', 'rotate', { retryMs: 0 }],
    ['again at the same moment', 'repeat', { shown: usedAgo(0) }],
    ['again at the last moment', 'repeat', { shown: usedAgo(RETRY) }],
    ['again a millisecond later than that', 'reuse', { shown: usedAgo(RETRY + 1) }],
    ['again after the successor', 'reuse', { shown: usedAgo(1), successorUnused: false }],
    ['again without retries, at the same moment', 'reuse', { shown: usedAgo(0), retryMs: 0 }],
    ['again without retries, later', 'reuse', { shown: usedAgo(1), retryMs: 0 }],
    [
      'again in time, though it has expired',
      'repeat',
      { shown: { ...usedAgo(1), expiresAt: NOW } },
    ],
    ['again long after it expired', 'reuse', { shown: { ...usedAgo(9e9), expiresAt: 1 } }],
    ['a clock that runs behind', 'repeat', { shown: usedAgo(-50) }],
    ['by another client', 'other_client', { clientId: 'cli_2' }],
    ['by another client, used', 'other_client', { clientId: 'cli_2', shown: usedAgo(1e6) }],
    ['by another client, expired', 'other_client', { clientId: 'cli_2', shown: { expiresAt: 1 } }],
    ['by another client, ended', 'other_client', { clientId: 'cli_2', isGrantLive: false }],
    ['of a grant that has ended', 'ended', { isGrantLive: false }],
    ['used, of a grant that has ended', 'ended', { isGrantLive: false, shown: usedAgo(1e6) }],
  ];
  for (const [name, decision, change] of cases) {
    it(`${decision}: ${name}`, () => assert.equal(decide(change), decision));
  }

  it('unknown: none of ours', () => {
    const question = { clientId: 'cli_1', now: NOW, retryMs: RETRY, isGrantLive: true };
    assert.equal(
      decideRefresh({ ...question, shown: undefined, successorUnused: false }),
      'unknown',
    );
  });
});

describe('whatever is asked', () => {
  const question = fc.record({
    shown: fc.record({
      clientId: fc.constantFrom('cli_1', 'cli_2'),
      expiresAt: fc.integer({ min: NOW - 3, max: NOW + 3 }),
      usedAt: fc.option(fc.integer({ min: NOW - RETRY - 3, max: NOW })),
    }),
    retryMs: fc.constantFrom(0, 1, RETRY),
    isGrantLive: fc.boolean(),
    successorUnused: fc.boolean(),
  });
  const check = (property: (change: Change, decision: RefreshDecision) => void): void =>
    fc.assert(
      fc.property(question, (change) => property(change, decide(change))),
      { numRuns: 1_000 },
    );

  it('only the owner of a live grant is given a token', () => {
    check(({ shown, isGrantLive }, decision) => {
      if (decision !== 'rotate' && decision !== 'repeat') return;
      assert.ok(shown?.clientId === 'cli_1' && isGrantLive);
    });
  });

  it('another client can neither take nor end anything', () => {
    check(({ shown }, decision) => {
      if (shown?.clientId === 'cli_2') assert.equal(decision, 'other_client');
    });
  });

  it('a used token never rotates, and an unused one never ends its grant', () => {
    check(({ shown }, decision) => {
      if (shown?.usedAt === null) assert.notEqual(decision, 'reuse');
      else assert.notEqual(decision, 'rotate');
    });
  });
});
