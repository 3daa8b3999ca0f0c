import { de } from '#src/http/texts/de.ts';
import { en, type Texts } from '#src/http/texts/en.ts';
import { fr } from '#src/http/texts/fr.ts';

/** The languages that pages are written in, and which of them a browser asks for (RFC 9110 section 12.5.4). */

const TEXTS = { en, de, fr } satisfies Record<string, Texts>;

export type Language = keyof typeof TEXTS;

const FALLBACK: Language = 'en';
const LANGUAGES = Object.keys(TEXTS) as Language[];
const MAX_LENGTH = 500;
const MAX_RANGES = 20;
const WEIGHT = /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/;

export function textsFor(language: Language): Texts {
  return TEXTS[language];
}

/** The best available language; English when the header is absent, too long or asks for none of ours. */
export function selectLanguage(acceptLanguage: string | undefined): Language {
  return preferredLanguage(acceptLanguage ?? '', LANGUAGES) ?? FALLBACK;
}

/** Which of the languages (two or three letters, the first one by default) the header likes best. */
export function preferredLanguage<Name extends string>(
  acceptLanguage: string,
  available: readonly Name[],
): Name | undefined {
  if (acceptLanguage.length > MAX_LENGTH) return undefined;
  const ranges = acceptLanguage.split(',').slice(0, MAX_RANGES).map(readRange);
  const named = new Set(ranges.map(({ language }) => language));
  const wanted = ranges.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight);
  for (const { language } of wanted) {
    const found = available.find((one) => (language === '*' ? !named.has(one) : one === language));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** One range without its region, because no page is written for one. */
function readRange(text: string): { language: string; weight: number } {
  const [tag = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  const [language = ''] = tag.split('-');
  return { language, weight: WEIGHT.test(weight) ? Number(weight) : 0 };
}
