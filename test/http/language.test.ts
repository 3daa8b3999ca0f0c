import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { preferredLanguage, selectLanguage, type Language } from '#src/http/language.ts';

describe('preferredLanguage', () => {
  const available = ['en', 'de', 'fr'] as const;
  const cases: [why: string, header: string, chosen: (typeof available)[number] | undefined][] = [
    ['nothing asked for', '', undefined],
    ['one language', 'de', 'de'],
    ['upper case and blanks', ' FR ; Q=0.5 ', 'fr'],
    ['a region', 'de-CH', 'de'],
    ['a script and a region', 'de-Latn-CH, en;q=0.9', 'de'],
    ['the first of equals', 'fr, de', 'fr'],
    ['the heaviest', 'en;q=0.3, fr;q=0.5, de;q=0.4', 'fr'],
    ['the next that there is', 'nl, it;q=0.9, de;q=0.1', 'de'],
    ['none of ours', 'nl, it;q=0.9', undefined],
    ['another language with the same letters', 'den, dea', undefined],
    ['anything', '*', 'en'],
    ['anything but what is named', 'en;q=0, *', 'de'],
    ['anything after one that there is not', 'nl, *;q=0.1', 'en'],
    ['anything that is not named heavier', '*;q=0.9, en;q=0.1', 'de'],
    ['nothing at all', '*;q=0', undefined],
    ['not this one', 'de;q=0', undefined],
    ['not this one, to three digits', 'de;q=0.000, fr;q=0.001', 'fr'],
    ['other parameters', 'de;level=1;q=0.2, fr;q=0.1', 'de'],
    ['a weight over one', 'de;q=2, fr;q=0.1', 'fr'],
    ['a negative weight', 'de;q=-1, fr;q=0.1', 'fr'],
    ['a weight in words', 'de;q=high, fr;q=0.1', 'fr'],
    ['an empty weight', 'de;q=, fr;q=0.1', 'fr'],
    ['a hexadecimal weight', 'de;q=0x1, fr;q=0.1', 'fr'],
    ['a weight with an exponent', 'de;q=1e0, fr;q=0.1', 'fr'],
    ['names that every object has', 'constructor, __proto__, toString', undefined],
    ['separators only', ',;,;;q=,==,-,;q=1', undefined],
    ['control characters', 'de\u0000, \u2028, fr', 'fr'],
    ['more ranges than anybody needs', `${'nl,'.repeat(20)}de`, undefined],
    ['a header that is too long', `de,${'x'.repeat(500)}`, undefined],
  ];
  for (const [why, header, chosen] of cases) {
    it(`${why}: ${chosen ?? 'none'}`, () => {
      assert.equal(preferredLanguage(header, available), chosen);
    });
  }

  it('is quick with a hostile header', () => {
    const start = performance.now();
    preferredLanguage(';'.repeat(1_000_000), available);
    for (let turn = 0; turn < 1_000; turn++) preferredLanguage('-;,'.repeat(166), available);
    assert.ok(performance.now() - start < 2_000);
  });
});

describe('selectLanguage', () => {
  const cases: [header: string, chosen: Language][] = [
    ['de-AT', 'de'],
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['fr-CA,en;q=0.5', 'fr'],
    ['en;q=0.4,fr;q=0.7', 'fr'],
    ['en;q=0, fr', 'fr'],
    ['*', 'en'],
    ['nl,*;q=0.5', 'en'],
  ];
  for (const [header, chosen] of cases) {
    it(`${header}: ${chosen}`, () => {
      assert.equal(selectLanguage(header), chosen);
    });
  }

  for (const header of [undefined, '', 'en', 'en-US,en;q=0.9', 'tlh', 'en;q=0', 'x'.repeat(501)]) {
    it(`${JSON.stringify(header)?.slice(0, 40)}: English`, () => {
      assert.equal(selectLanguage(header), 'en');
    });
  }
});
