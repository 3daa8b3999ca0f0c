import { tool, toolError } from 'castellan';
import { z } from 'zod';
import { fields } from '../shapes.ts';
import { openShop, type Sales } from '../shop.ts';

const figures = {
  totalCents: z.int().describe('Sales in euro cents'),
  orders: z.int().describe('Number of orders'),
  copies: z.int().describe('Number of copies sold'),
};

export default tool({
  name: 'sales-year-total',
  description:
    'Adds up the sales of a year, in total and month by month, cancelled orders left out. ' +
    'Use it for turnover, best months, or what one customer or one language brought in. ' +
    'Sales are recorded from 2019 on.',
  input: z.object({
    year: z.int().min(2000).max(2100).describe('Calendar year'),
    language: fields.language.optional(),
    customerId: fields.customerId.optional(),
  }),
  output: z.object({
    year: z.int().describe('Calendar year'),
    ...figures,
    months: z
      .array(z.object({ month: z.int().describe('Month, 1 is January'), ...figures }))
      .describe('The same for each of the twelve months'),
  }),
  annotations: {
    title: 'Sales of a year',
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  async run({ year, language, customerId }, ctx) {
    const shop = openShop();
    if (customerId !== undefined && shop.findCustomer({ id: customerId }) === undefined) {
      throw toolError(`No customer has the id ${customerId}`);
    }
    const months: (Sales & { month: number })[] = [];
    for (let month = 1; month <= 12; month++) {
      ctx.signal.throwIfAborted();
      months.push({ month, ...shop.salesOfMonth({ year, month, language, customerId }) });
      await ctx.progress(month, 12);
    }
    return {
      year,
      totalCents: months.reduce((sum, month) => sum + month.totalCents, 0),
      orders: months.reduce((sum, month) => sum + month.orders, 0),
      copies: months.reduce((sum, month) => sum + month.copies, 0),
      months,
    };
  },
});
