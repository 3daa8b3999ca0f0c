/** What several tools take or give back, described once. */
import { z } from 'zod';

/** How many results a page holds when the caller does not say. */
export const pageSize = 20;

/** Single fields. */
export const fields = {
  language: z
    .string()
    .regex(/^[a-z]{2}$/)
    .describe('Original language, ISO 639-1 code in lower case, such as en, fr or ru'),
  bookId: z.int().min(1).describe('Id of the book'),
  customerId: z.int().min(1).describe('Id of the customer'),
  priceCents: z.int().describe('Price of one copy today, in euro cents'),
  limit: z
    .int()
    .min(1)
    .max(50)
    .optional()
    .describe(`How many results to return at most, 1 to 50; ${pageSize} if left out`),
  skip: z
    .int()
    .min(0)
    .max(100_000)
    .optional()
    .describe('How many results to skip, for the next page: nextSkip of the page before'),
  total: z.int().describe('How many results there are on all pages together'),
  nextSkip: z
    .int()
    .optional()
    .describe('Value of skip for the next page; left out on the last page'),
};

/** The fields of a book. */
export const book = {
  id: fields.bookId,
  title: z.string().describe('Title the book is known by in English'),
  author: z.string().describe('Name of the author'),
  year: z.int().describe('Year of first publication; negative for years before Christ'),
  language: fields.language,
  priceCents: fields.priceCents,
  stock: z.int().describe('Copies in stock'),
};

/** A customer, whole. */
export const customer = z
  .object({
    id: fields.customerId,
    name: z.string().describe('Full name'),
    email: z.string().describe('Email address'),
    city: z.string().describe('City'),
    country: z.string().describe('Country, in English'),
    since: z.string().describe('Customer since this day, YYYY-MM-DD'),
  })
  .describe('The customer');

/** The fields of a line of an order. */
export const orderLine = {
  bookId: fields.bookId,
  title: z.string().describe('Title of the book'),
  quantity: z.int().describe('Copies ordered'),
  unitPriceCents: z.int().describe('Price paid for one copy, in euro cents'),
};

/** The part of a page's result that leads to the next one. */
export function following(page: { items: readonly unknown[]; total: number }, skipped: number) {
  const next = skipped + page.items.length;
  return next < page.total && page.items.length > 0 ? { nextSkip: next } : {};
}
