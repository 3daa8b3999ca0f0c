import { tool } from 'castellan';
import { z } from 'zod';
import { customer, fields, following, pageSize } from '../shapes.ts';
import { openShop } from '../shop.ts';

export default tool({
  name: 'customers-search',
  description:
    'Finds customers by words in their name, email address or city. ' +
    'Use it to get the id of a customer before placing an order or looking at sales.',
  input: z.object({
    words: z
      .string()
      .min(2)
      .max(200)
      .describe('Words that must all occur in name, email or city; case and accents do not matter'),
    limit: fields.limit,
    skip: fields.skip,
  }),
  output: z.object({
    customers: z.array(customer).describe('The customers of this page, by name'),
    total: fields.total,
    nextSkip: fields.nextSkip,
  }),
  annotations: {
    title: 'Search customers',
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run({ words, limit = pageSize, skip = 0 }) {
    const page = openShop().searchCustomers({ words, limit, skip });
    return { customers: page.items, total: page.total, ...following(page, skip) };
  },
});
