import { tool, toolError } from 'castellan';
import { z } from 'zod';
import { fields, orderLine } from '../shapes.ts';
import { openShop } from '../shop.ts';

export default tool({
  name: 'orders-place',
  description:
    "Places an order for a customer at today's prices and takes the copies from stock. " +
    'Use it only when the person has named the customer, the books and the quantities; ' +
    'calling it twice places two orders. If one book is short, nothing is ordered.',
  input: z.object({
    customerId: fields.customerId,
    lines: z
      .array(
        z.object({
          bookId: fields.bookId,
          quantity: z.int().min(1).max(100).describe('Copies to order, 1 to 100'),
        }),
      )
      .min(1)
      .max(20)
      .describe('The books to order, 1 to 20'),
  }),
  output: z.object({
    orderId: z.int().describe('Id of the new order'),
    orderedAt: z.string().describe('Day of the order, YYYY-MM-DD, UTC'),
    status: z.string().describe('Always placed'),
    totalCents: z.int().describe('Sum of the lines in euro cents'),
    lines: z
      .array(
        z.object({
          ...orderLine,
          left: z.int().describe('Copies left in stock after this order'),
        }),
      )
      .describe('What was ordered'),
  }),
  annotations: {
    title: 'Place an order',
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  },
  run({ customerId, lines }) {
    const orderedAt = new Date().toISOString().slice(0, 10);
    const result = openShop().placeOrder({ customerId, orderedAt, lines });
    if (result.outcome === 'refused') throw toolError(result.why);
    return result.order;
  },
});
