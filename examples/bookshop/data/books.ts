/**
 * The catalogue: real books in the public domain, one list a file.
 *
 * Titles are the ones the books are known by in English. The year is that of
 * the first publication: of the first part for a serial or a work in volumes,
 * of the first performance on record for a play, of its completion for a work
 * older than printing. ISO 639-1 has one code for ancient and modern Greek.
 */
import { american } from './american.ts';
import { ancient } from './ancient.ts';
import { asian } from './asian.ts';
import type { Book, BookRow } from './book.ts';
import { british } from './british.ts';
import { eastern } from './eastern.ts';
import { french } from './french.ts';
import { german } from './german.ts';
import { iberian } from './iberian.ts';
import { italian } from './italian.ts';
import { nordic } from './nordic.ts';

const rows: readonly BookRow[] = [
  ...british,
  ...american,
  ...french,
  ...german,
  ...italian,
  ...iberian,
  ...nordic,
  ...eastern,
  ...asian,
  ...ancient,
];

/** Every book of the shop, in a fixed order. */
export const books: readonly Book[] = rows.map(([title, author, year, language]) => ({
  title,
  author,
  year,
  language,
}));
