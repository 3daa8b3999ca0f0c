import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nameKey, nameProblem, passwordProblem } from '#src/users/user.ts';

describe('a user name', () => {
  const good = [
    'a',
    'anna',
    'Anna.Maria-2',
    'anna@example.com',
    'anna+castellan@example.com',
    'ńëẁ_näme',
    'Ελένη',
    '山田太郎',
    '3com',
    'x'.repeat(64),
    // As macOS writes é; it is stored as one letter.
    'e\u0301lodie',
    'ａｎｎａ',
  ];
  for (const name of good) {
    it(`may be ${name}`, () => assert.equal(nameProblem(name), undefined));
  }

  const bad = [
    ['empty', ''],
    ['of 65 characters', 'x'.repeat(65)],
    ['with a space', 'anna b'],
    ['with a space at the end', 'anna '],
    ['with a line end', 'anna\n'],
    ['with a tab', 'an\tna'],
    ['with a NUL', 'an\0na'],
    ['beginning with a dot', '.anna'],
    ['beginning with a dash, like an option', '-anna'],
    ['a path', 'a/b'],
    ['markup', '<b>anna'],
    ['with a quote', 'o\u2019neil'],
    ['with a bidirectional mark', 'anna\u202e'],
    ['with a zero-width space', 'an\u200bna'],
    ['with a combining mark that stays one', 'x\u0323\u0301'],
    ['an emoji', '🙂'],
    ['one letter that stands for words', '\ufdfa'],
    ['a letter that becomes too long', 'ﷲ'.repeat(20)],
    ['with half a surrogate pair', 'a\ud83d'],
  ];
  for (const [what, name] of bad) {
    it(`may not be ${what}`, () => assert.match(nameProblem(name ?? '') ?? '', /^A user name has/));
  }
});

describe('names are the same', () => {
  const same = [
    ['in another case', 'Anna', 'aNNA'],
    ['in full width', 'anna', 'ＡＮＮＡ'],
    ['composed and decomposed', 'é', 'e\u0301'],
    ['with a ligature', 'ﬁnn', 'finn'],
    ['with the Kelvin sign', '\u212aim', 'kim'],
    ['with ß in capitals', 'Strauß', 'STRAUSS'],
    ['with a final sigma in capitals', 'οδυσσεύς', 'ΟΔΥΣΣΕΎΣ'],
    ['with a capital ß', 'strauß', 'strauẞ'],
  ];
  for (const [what, one = '', other = ''] of same) {
    it(what ?? '', () => assert.equal(nameKey(one), nameKey(other)));
  }

  it('only then: accents count', () => {
    assert.notEqual(nameKey('andré'), nameKey('andre'));
    assert.notEqual(nameKey('anna'), nameKey('anna1'));
  });

  /** The same key, whichever way the name is written, and the key is one already. */
  function assertStable(name: string): void {
    const key = nameKey(name);
    const ways = [key, name.toUpperCase(), name.toLowerCase(), name.normalize('NFD')];
    for (const way of ways) assert.equal(nameKey(way), key, JSON.stringify(name));
  }

  it('whatever letter has a case', () => {
    for (let code = 0; code < 0x2_0000; code += 1) {
      const letter = String.fromCodePoint(code);
      if (letter.toLowerCase() !== letter.toUpperCase()) assertStable(letter);
    }
  });

  it('whatever they are', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 8 }), assertStable), {
      numRuns: 2_000,
    });
  });
});

describe('a new password', () => {
  const cases: [what: string, password: string, name: string, problem: RegExp | undefined][] = [
    ['of 12 characters', 'abcdefghijkl', 'anna', undefined],
    ['of 11 characters', 'abcdefghijk', 'anna', /at least 12/],
    ['empty', '', 'anna', /at least 12/],
    ['of 11 emoji, which are 22 code units', '🙂'.repeat(11), 'anna', /at least 12/],
    ['of 12 emoji', '🙂'.repeat(12), 'anna', undefined],
    ['of 1,024 characters', 'x'.repeat(1_024), 'anna', undefined],
    ['of 1,025 characters', 'x'.repeat(1_025), 'anna', /at most 1024/],
    ['of spaces and signs', ' ü"\\<> \u00a0;,`$', 'anna', undefined],
    ['that is the user name', 'annamariabergmann', 'annamariabergmann', /not the user name/],
    ['that is it in another case', 'AnnaMariaBergmann', 'annamariabergmann', /not the user name/],
    [
      'that is it in full width',
      'ＡＮＮＡＭＡＲＩＡＢＥＲＧ',
      'annamariaberg',
      /not the user name/,
    ],
    ['with the name in it', 'correct anna battery', 'anna', undefined],
    ['with a short name in it', 'abcdefghijkl', 'a', undefined],
  ];
  for (const [what, password, name, problem] of cases) {
    it(`${problem === undefined ? 'may be' : 'may not be'} one ${what}`, () => {
      const found = passwordProblem(password, name);
      if (problem === undefined) assert.equal(found, undefined);
      else assert.match(found ?? '', problem);
    });
  }
});

describe('text that is no name', () => {
  it('is not put in normal form, which could take long', () => {
    const slow = `a${'\u0345'.repeat(16_000)}${'\u0334'.repeat(16_000)}`;
    assert.notEqual(nameProblem(slow), undefined);
    assert.ok(nameKey(slow).length < 2_000, 'only its beginning is looked at');
  });
});
