import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stableJson } from '#src/tools/stable-json.ts';

describe('the text of a value for a digest', () => {
  it('is the same in whatever order it was written', () => {
    assert.equal(
      stableJson({ a: 1, b: { d: 1, c: [2] } }),
      stableJson({ b: { c: [2], d: 1 }, a: 1 }),
    );
    assert.equal(stableJson(Object.create(null)), '{}');
  });

  it('tells values apart that look alike', () => {
    const values = [
      5,
      5n,
      '5',
      '5n',
      [5],
      { 5: 5 },
      null,
      '',
      new Date(5),
      Buffer.from('5'),
      { a: 5 },
    ];
    assert.equal(new Set(values.map(stableJson)).size, values.length);
    assert.notEqual(stableJson(JSON.parse('{"__proto__":1}')), stableJson({}));
  });

  for (const [name, value] of [
    ['a Set', new Set(['draft'])],
    ['a Map', new Map([['a', 1]])],
    ['a buffer of JavaScript’s own', new ArrayBuffer(2)],
    ['no number', Number.NaN],
    ['what has no end', Number.POSITIVE_INFINITY],
    ['a pattern', /a/],
    ['an instance', new URLSearchParams('a=1')],
  ] as const) {
    it(`is refused for ${name}, which JSON cannot tell from another`, () => {
      assert.throws(() => stableJson({ value }), TypeError);
    });
  }
});
