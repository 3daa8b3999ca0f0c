import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { textsFor, type Language } from '#src/http/language.ts';
import { readMarkup } from '../support/markup.ts';
import { renderSample, samplePages, sampleRenderer } from '../support/sample-pages.ts';

/*
 * Translations are compared with the English texts key by key, then their pages word by word: what
 * the compiler cannot see is a sentence that nobody translated, or one that a view holds itself.
 */

/** The same in both languages, because the language says so. */
const SAME: Record<Exclude<Language, 'en'>, string[]> = {
  de: ['home.name', 'apps.chatgpt.where', 'apps.cursor.where', 'apps.claudeCode.where'],
  fr: ['apps.chatgpt.where', 'apps.claudeCode.where'],
};
/** Words that every English sentence is likely to have and that are none of the other languages. */
const ENGLISH = /\b(the|and|you|your|this|with|for|not|from|it|to|of|is|are|we|has|have|can)\b/i;
const OUTSIDE = { appName: 'Qqq', userName: 'Qqq', privilege: 'Qqq', quoted: 'Qqq' };

/** What a person reads at every key; parameters are written as `‹0›` or `‹0.host›`. */
function readTexts(texts: unknown, path = ''): [path: string, text: string][] {
  if (typeof texts === 'function') {
    const text = texts as (...values: unknown[]) => unknown;
    return readTexts(
      text(...Array.from({ length: text.length }, (_, index) => new Marker(String(index)))),
      path,
    );
  }
  if (typeof texts === 'string' || isSentence(texts)) return [[path, flatten(texts)]];
  return Object.entries(texts as object).flatMap(([key, text]) =>
    readTexts(text, path === '' ? key : `${path}.${key}`),
  );
}

/** Everything that a parameter can be: a name, a time, the values of an error page. */
class Marker {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
    for (const part of ['absolute', 'iso', 'relative', 'distance', 'site', 'mcpUrl', 'host'])
      Object.assign(this, { [part]: `‹${name}.${part}›` });
  }
  toString(): string {
    return `‹${this.name}›`;
  }
}

/** A list of sentences has no part of its own. */
function isSentence(text: unknown): boolean {
  return Array.isArray(text) && text.some((one) => typeof one === 'object' && !Array.isArray(one));
}

function flatten(text: unknown): string {
  if (text instanceof Marker) return text.toString();
  if (typeof text !== 'object' || text === null) return String(text);
  return Object.values(text).map(flatten).join('');
}

/** Not what stands behind a dot: that is a host. */
function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/(?<![.\p{L}])\p{L}+/gu));
}

function vocabulary(language: Language): Set<string> {
  const texts = readTexts(textsFor(language)).map(([, text]) => text);
  return wordsOf(texts.join(' ').replaceAll(/‹[^›]*›/g, ' '));
}

const english = new Map(readTexts(textsFor('en')));

for (const language of ['de', 'fr'] as const) {
  describe(`the texts in ${language}`, () => {
    const texts = new Map(readTexts(textsFor(language)));

    it('are all there', () => {
      assert.deepEqual([...texts.keys()].toSorted(), [...english.keys()].toSorted());
      for (const [path, text] of texts) assert.match(text, /\S/, path);
    });

    it('are all translated', () => {
      const same = [...texts].filter(([path, text]) => text === english.get(path));
      assert.deepEqual(
        same.map(([path]) => path),
        SAME[language],
      );
      for (const [path, text] of texts) assert.doesNotMatch(text, ENGLISH, path);
    });

    it('say all that the English ones say', () => {
      const said = (text = ''): string[] => (text.match(/‹[^›]*›/g) ?? []).toSorted();
      for (const [path, text] of texts) assert.deepEqual(said(text), said(english.get(path)), path);
    });

    it('leave no English word on a page', () => {
      const own = vocabulary(language);
      const foreign = vocabulary('en').difference(own);
      assert.ok(foreign.size > 200);
      const renderer = sampleRenderer();
      for (const [name, page] of samplePages({ language, words: OUTSIDE })) {
        const html = renderSample(renderer, page);
        const { tags } = readMarkup(html);
        const labels = tags.map(({ attributes }) => attributes.get('aria-label') ?? '');
        // What is to be typed or sent on to an administrator is no sentence.
        const prose = html.replaceAll(/<(code|textarea)\b[^>]*>[^<]*<\/\1>/g, '');
        const words = wordsOf([...labels, readMarkup(prose).text].join(' '));
        assert.deepEqual([...words.intersection(foreign)], [], name);
      }
    });
  });
}

describe('every language', () => {
  for (const language of ['en', 'de', 'fr'] as const) {
    it(`names a locale of ${language} that this runtime knows`, () => {
      const { locale } = textsFor(language);
      assert.deepEqual(Intl.DateTimeFormat.supportedLocalesOf(locale), [locale]);
      assert.equal(new Intl.Locale(locale).language, language);
    });
  }
});

describe('typography', () => {
  for (const language of ['en', 'de', 'fr'] as const) {
    it(`has no typewriter signs in ${language}`, () => {
      for (const [path, text] of readTexts(textsFor(language)))
        assert.doesNotMatch(text, /["']|\.\.\.| - | {2}/, path);
    });
  }

  it('has German quotation marks in German', () => {
    for (const [path, text] of readTexts(textsFor('de'))) {
      assert.doesNotMatch(text, /”|‘|’|«|»/, path);
      assert.equal(text.split('„').length, text.split('“').length, path);
    }
  });

  it('has spaces that do not break before French signs and inside guillemets', () => {
    for (const [path, text] of readTexts(textsFor('fr'))) {
      assert.doesNotMatch(text, /(?<!\u202F)[?!;]|(?<!\u00A0)[:»]|«(?!\u00A0)|[“”„]/, path);
    }
  });
});
