import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { visible, visibleLines } from '#src/cli/output.ts';
import { counted, fields, minute, table, width } from '#src/cli/table.ts';

describe('tables', () => {
  it('align columns by what a terminal shows', () => {
    const text = table(
      ['NAME', 'N'],
      [
        ['ana', 1],
        ['日本語', 2],
        ['e\u0301a', 3],
        ['🎉', 4],
      ],
    );
    assert.deepEqual(text.split('\n').slice(1), [
      'ana     1',
      '日本語  2',
      'e\u0301a      3',
      '🎉      4',
    ]);
  });

  it('show nothing as a dash, lists with commas, and no rows as no text', () => {
    assert.equal(table(['A', 'B', 'C'], [[null, ['x', 'y'], '']]).split('\n')[1], '-  x, y  -');
    assert.equal(table(['A'], []), '');
  });

  it('cut long cells, and fields do not', () => {
    const long = 'x'.repeat(100);
    assert.equal(table(['A'], [[long]]).split('\n')[1], `${'x'.repeat(59)}…`);
    assert.equal(width(table(['A'], [['語'.repeat(50)]]).split('\n')[1] ?? ''), 59);
    assert.equal(fields({ A: long, Longer: null }), `A       ${long}\nLonger  -`);
  });

  it('keep each row on its line', () => {
    assert.equal(table(['A'], [['x\ny\u2028z']]).split('\n').length, 2);
  });
});

describe('text for people', () => {
  it('shows characters that steer a terminal as escapes', () => {
    assert.equal(
      visible('a\u001b[1m\u0007\u009b\u202e\ufeff\n\t'),
      'a\\x1b[1m\\x07\\x9b\\u{202e}\\u{feff}\\x0a\\x09',
    );
    assert.equal(visible('Ünïcode 日本 🎉'), 'Ünïcode 日本 🎉');
    assert.equal(visibleLines('a\nb\r'), 'a\nb\\x0d');
  });

  it('counts and tells time', () => {
    assert.deepEqual([counted(0, 'token'), counted(1, 'token')], ['0 tokens', '1 token']);
    assert.equal(minute(Date.UTC(2026, 0, 2, 3, 4, 59)), '2026-01-02 03:04');
    assert.equal(minute(null), null);
  });
});
