import { defineConfig } from 'castellan';

export default defineConfig({
  server: {
    name: 'Bookshop',
    version: '1.0.0',
    instructions: [
      'A bookshop for classics, with its customers and orders since 2019.',
      'Find a book with books-search and a customer with customers-search before you use an id; never guess one.',
      'All amounts are in euro cents: say them in euros, 1290 is 12.90 euros.',
      'Years before Christ are negative. The language of a book is the one it was written in; titles are in English.',
      'Before orders-place or books-set-price, repeat to the person what will happen and wait for a yes.',
      'If a tool is missing or refused, say that the permission is missing; do not work around it.',
    ].join('\n'),
  },
});
