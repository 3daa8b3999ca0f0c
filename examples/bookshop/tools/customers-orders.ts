import { tool, toolError } from 'castellan';
import { z } from 'zod';
import { customer, fields, following, orderLine, pageSize } from '../shapes.ts';
import { openShop } from '../shop.ts';

const order = z.object({
  id: z.int().describe('Id of the order'),
  orderedAt: z.string().describe('Day of the order, YYYY-MM-DD'),
  status: z.string().describe('placed, shipped, delivered or cancelled'),
  totalCents: z.int().describe('Sum of the lines in euro cents'),
  lines: z.array(z.object(orderLine)).describe('The books of the order'),
});

export default tool({
  name: 'customers-orders',
  description:
    'Lists the orders of one customer with their books, newest first. ' +
    'Use it when someone asks what a customer bought or where an order stands. ' +
    'Give either customerId or email.',
  input: z.object({
    customerId: fields.customerId.optional(),
    email: z.string().max(200).optional().describe('Email address of the customer, in full'),
    limit: fields.limit,
    skip: fields.skip,
  }),
  output: z.object({
    customer,
    orders: z.array(order).describe('The orders of this page, newest first'),
    total: fields.total,
    nextSkip: fields.nextSkip,
  }),
  annotations: {
    title: 'Orders of a customer',
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run({ customerId, email, limit = pageSize, skip = 0 }) {
    const shop = openShop();
    const found = shop.findCustomer(oneOf(customerId, email));
    if (found === undefined) {
      throw toolError(
        `No customer has the ${email === undefined ? `id ${customerId}` : `email ${email}`}`,
      );
    }
    const page = shop.ordersOf({ customerId: found.id, limit, skip });
    return { customer: found, orders: page.items, total: page.total, ...following(page, skip) };
  },
});

function oneOf(id: number | undefined, email: string | undefined) {
  if (id !== undefined && email === undefined) return { id };
  if (email !== undefined && id === undefined) return { email };
  throw toolError('Give either customerId or email');
}
