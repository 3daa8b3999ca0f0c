/** A book of the catalogue, before it gets a price and a stock. */
export interface Book {
  readonly title: string;
  readonly author: string;
  /** Year of first publication; 44 BC is -44. */
  readonly year: number;
  /** Original language, ISO 639-1. */
  readonly language: string;
}

/** One line of the lists: title, author, year of first publication, original language. */
export type BookRow = readonly [title: string, author: string, year: number, language: string];
