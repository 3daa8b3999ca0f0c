import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signTest } from './sign-test.ts';

describe('the sign test', () => {
  const cases: [wins: number, pairs: number, probability: number][] = [
    [0, 1, 1],
    [1, 2, 1],
    [0, 3, 0.25],
    [5, 5, 0.0625],
    [2, 10, 0.109375],
    [8, 10, 0.109375],
    [20, 40, 1],
  ];
  for (const [wins, pairs, probability] of cases) {
    it(`of ${wins} in ${pairs} is ${probability}`, () => {
      assert.ok(Math.abs(signTest(wins, pairs) - probability) < 1e-12);
    });
  }

  it('of 6 in 40 is rarer than 1 in 100,000, and of 7 is not', () => {
    assert.ok(signTest(6, 40) < 1e-5);
    assert.ok(signTest(7, 40) > 1e-5);
  });
});
