import { tool } from 'castellan';
import { z } from 'zod';
import { book, fields, following, pageSize } from '../shapes.ts';
import { openShop } from '../shop.ts';

export default tool({
  name: 'books-search',
  description:
    'Finds books of the shop by words in title or author, language or year, with price and stock. ' +
    'Use it first whenever a book is meant by name: the other tools need its id.',
  input: z.object({
    words: z
      .string()
      .max(200)
      .optional()
      .describe('Words that must all occur in title or author; case and accents do not matter'),
    language: fields.language.optional(),
    yearFrom: z
      .int()
      .min(-3000)
      .max(2100)
      .optional()
      .describe('First published in this year or later; negative for years before Christ'),
    yearTo: z
      .int()
      .min(-3000)
      .max(2100)
      .optional()
      .describe('First published in this year or earlier; negative for years before Christ'),
    limit: fields.limit,
    skip: fields.skip,
  }),
  output: z.object({
    books: z.array(z.object(book)).describe('The books of this page, by title'),
    total: fields.total,
    nextSkip: fields.nextSkip,
  }),
  annotations: {
    title: 'Search books',
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run({ words, language, yearFrom, yearTo, limit = pageSize, skip = 0 }) {
    const page = openShop().searchBooks({ words, language, yearFrom, yearTo, limit, skip });
    return { books: page.items, total: page.total, ...following(page, skip) };
  },
});
