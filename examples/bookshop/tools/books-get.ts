import { tool, toolError } from 'castellan';
import { z } from 'zod';
import { book, fields } from '../shapes.ts';
import { openShop } from '../shop.ts';

export default tool({
  name: 'books-get',
  description:
    'Returns one book by its id: price, stock, and what else the shop has by its author. ' +
    'Use it to check a price or the stock before an order, or to suggest more by an author.',
  input: z.object({ id: fields.bookId }),
  output: z.object({
    ...book,
    alsoByAuthor: z
      .array(
        z.object({
          id: book.id,
          title: book.title,
          year: book.year,
        }),
      )
      .describe('Other books of the same author in the shop, by year'),
  }),
  annotations: {
    title: 'Look up a book',
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run({ id }) {
    const shop = openShop();
    const found = shop.findBook(id);
    if (found === undefined) throw toolError(`No book has the id ${id}`);
    return { ...found, alsoByAuthor: shop.alsoByAuthor(id) };
  },
});
