import { tool, toolError } from 'castellan';
import { z } from 'zod';
import { fields } from '../shapes.ts';
import { openShop } from '../shop.ts';

export default tool({
  name: 'books-set-price',
  description:
    'Sets the price of a book. Use it only when the person names the book and the new price. ' +
    'Orders placed before keep the price they were placed at. The answer holds the old price.',
  input: z.object({
    id: fields.bookId,
    priceCents: z
      .int()
      .min(100)
      .max(100_000)
      .describe('New price of one copy in euro cents: 1290 is 12.90 euros'),
  }),
  output: z.object({
    id: fields.bookId,
    title: z.string().describe('Title of the book'),
    oldPriceCents: z.int().describe('Price of one copy until now, in euro cents'),
    priceCents: fields.priceCents,
  }),
  annotations: {
    title: 'Set the price of a book',
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  run({ id, priceCents }) {
    const change = openShop().setPrice(id, priceCents);
    if (change === undefined) throw toolError(`No book has the id ${id}`);
    return change;
  },
});
