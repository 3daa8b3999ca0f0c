import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { Shop, type ShopBook } from '../../examples/bookshop/shop.ts';

let folder: string;
let path: string;
let shop: Shop;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookshop-'));
  path = join(folder, 'bookshop.db');
  shop = new Shop(path);
});

after(async () => {
  shop[Symbol.dispose]();
  await rm(folder, { recursive: true, force: true });
});

const page = { limit: 50, skip: 0 };

function titles(words: string): string[] {
  return shop.searchBooks({ words, ...page }).items.map((found) => found.title);
}

/** The only book of this title, by this author. */
function book(words: string): ShopBook {
  const [found, ...others] = shop.searchBooks({ words, ...page }).items;
  assert.ok(found !== undefined && others.length === 0, words);
  return found;
}

/** Gives a book a stock, past the shop. */
function setStock(id: number, stock: number): void {
  using db = new DatabaseSync(path, { timeout: 5000 });
  db.prepare('UPDATE book SET stock = ? WHERE id = ?').run(stock, id);
}

describe('bookshop: searching books', () => {
  const cases: { words: string; finds: string[] }[] = [
    { words: 'emma austen', finds: ['Emma'] },
    { words: '  WUTHERING   heights ', finds: ['Wuthering Heights'] },
    { words: 'bronte wildfell', finds: ['The Tenant of Wildfell Hall'] },
    { words: 'soren anxiety', finds: ['The Concept of Anxiety'] },
    { words: 'Słowacki kordian', finds: ['Kordian'] },
    { words: "gulliver's", finds: ["Gulliver's Travels"] },
    { words: 'gulliver’s', finds: ["Gulliver's Travels"] },
    { words: 'austen melville', finds: [] },
    { words: '%', finds: [] },
    { words: '_', finds: [] },
    { words: '"', finds: [] },
    { words: "' OR 1=1 --", finds: [] },
    { words: '\\', finds: [] },
    { words: '*', finds: [] },
    { words: '\0', finds: [] },
  ];
  for (const { words, finds } of cases) {
    it(`finds ${JSON.stringify(finds)} for ${JSON.stringify(words)}`, () => {
      assert.deepEqual(titles(words), finds);
    });
  }

  it('finds everything without a condition, a page at a time', () => {
    const all = shop.searchBooks(page);
    assert.equal(all.items.length, 50);
    const ids = new Set<number>();
    for (let skip = 0; skip < all.total; skip += 50) {
      for (const found of shop.searchBooks({ limit: 50, skip }).items) ids.add(found.id);
    }
    assert.equal(ids.size, all.total);
    assert.deepEqual(shop.searchBooks({ limit: 50, skip: all.total }).items, []);
  });

  it('narrows by language and years, before Christ too', () => {
    const russian = shop.searchBooks({ language: 'ru', yearFrom: 1860, yearTo: 1869, ...page });
    assert.ok(russian.items.some((found) => found.title === 'Crime and Punishment'));
    for (const { language, year } of russian.items) {
      assert.ok(language === 'ru' && year >= 1860 && year <= 1869);
    }
    const early = shop.searchBooks({ yearTo: -1, ...page });
    assert.ok(early.items.some((found) => found.title === 'The Aeneid'));
    assert.ok(early.items.every((found) => found.year < 0));
  });

  it('returns a book, and what else its author wrote', () => {
    const emma = book('emma austen');
    assert.deepEqual(shop.findBook(emma.id), emma);
    const others = shop.alsoByAuthor(emma.id);
    assert.deepEqual(others[0]?.title, 'Sense and Sensibility');
    assert.ok(others.every((other) => other.id !== emma.id));
    assert.equal(shop.findBook(99_999), undefined);
    assert.deepEqual(shop.alsoByAuthor(99_999), []);
  });
});

describe('bookshop: customers and their orders', () => {
  it('finds a customer by words, by id and by email in any case', () => {
    const customer = shop.findCustomer({ id: 1 });
    assert.ok(customer);
    assert.deepEqual(shop.findCustomer({ email: customer.email.toUpperCase() }), customer);
    const found = shop.searchCustomers({ words: `${customer.name} ${customer.city}`, ...page });
    assert.deepEqual(found, { items: [customer], total: 1 });
    assert.equal(shop.findCustomer({ id: 99_999 }), undefined);
    assert.equal(shop.findCustomer({ email: '%@example.com' }), undefined);
    assert.equal(shop.searchCustomers({ words: '%_', ...page }).total, 0);
  });

  it('lists orders with their lines, newest first, a page at a time', () => {
    const first = shop.ordersOf({ customerId: 1, limit: 2, skip: 0 });
    const second = shop.ordersOf({ customerId: 1, limit: 2, skip: 2 });
    assert.ok(first.total > 4);
    assert.equal(second.total, first.total);
    const dates = [...first.items, ...second.items].map((order) => order.orderedAt);
    assert.deepEqual(dates, dates.toSorted().toReversed());
    for (const order of first.items) {
      const sum = order.lines.reduce((all, line) => all + line.quantity * line.unitPriceCents, 0);
      assert.equal(sum, order.totalCents);
    }
    assert.deepEqual(shop.ordersOf({ customerId: 99_999, ...page }), { items: [], total: 0 });
  });
});

describe('bookshop: sales', () => {
  const months = Array.from({ length: 12 }, (_, index) => index + 1);

  function yearTotal(part: { language?: string; customerId?: number } = {}): number {
    const year = months.map((month) => shop.salesOfMonth({ year: 2024, month, ...part }));
    return year.reduce((sum, month) => sum + month.totalCents, 0);
  }

  it('adds up to the totals of the orders that were not cancelled', () => {
    using db = new DatabaseSync(path, { readOnly: true });
    const row = db
      .prepare(
        `SELECT sum(total_cents) AS total FROM purchase
         WHERE ordered_at LIKE '2024-%' AND status <> 'cancelled'`,
      )
      .get();
    assert.equal(yearTotal(), row?.['total']);
  });

  it('splits by language and by customer without loss', () => {
    using db = new DatabaseSync(path, { readOnly: true });
    const languages = db.prepare('SELECT DISTINCT language FROM book').all();
    const byLanguage = languages.map((row) => yearTotal({ language: String(row['language']) }));
    assert.equal(
      byLanguage.reduce((sum, part) => sum + part, 0),
      yearTotal(),
    );
    const mine = yearTotal({ customerId: 1 });
    assert.ok(mine > 0 && mine < yearTotal());
  });

  it('is zero where nothing was sold', () => {
    const nothing = { totalCents: 0, orders: 0, copies: 0 };
    assert.deepEqual(shop.salesOfMonth({ year: 2001, month: 12 }), nothing);
    assert.deepEqual(shop.salesOfMonth({ year: 2024, month: 1, language: 'xx' }), nothing);
  });
});

describe('bookshop: placing an order', () => {
  const orderedAt = '2026-07-01';

  it('takes the copies from stock and writes the order', () => {
    const [emma, dracula] = [book('emma austen'), book('dracula')];
    setStock(emma.id, 3);
    setStock(dracula.id, 5);
    const lines = [
      { bookId: emma.id, quantity: 1 },
      { bookId: dracula.id, quantity: 2 },
      { bookId: emma.id, quantity: 2 },
    ];
    const result = shop.placeOrder({ customerId: 7, orderedAt, lines });
    assert.equal(result.outcome, 'placed');
    assert.equal(result.order.totalCents, 3 * emma.priceCents + 2 * dracula.priceCents);
    assert.deepEqual(
      result.order.lines.map(({ quantity, left }) => ({ quantity, left })),
      [
        { quantity: 3, left: 0 },
        { quantity: 2, left: 3 },
      ],
    );
    assert.equal(shop.findBook(dracula.id)?.stock, 3);
    const [latest] = shop.ordersOf({ customerId: 7, ...page }).items;
    assert.equal(latest?.id, result.order.orderId);
    assert.equal(latest.status, 'placed');
    assert.equal(latest.totalCents, result.order.totalCents);
  });

  it('refuses in plain words and changes nothing', () => {
    const [darkness, hamlet] = [book('heart of darkness'), book('hamlet')];
    setStock(hamlet.id, 9);
    const ordersBefore = shop.ordersOf({ customerId: 8, ...page }).total;
    const refusals: [stock: number, why: string][] = [
      [0, '"Heart of Darkness" is out of stock'],
      [1, 'Only 1 copy of "Heart of Darkness" is left'],
      [2, 'Only 2 copies of "Heart of Darkness" are left'],
    ];
    for (const [stock, why] of refusals) {
      setStock(darkness.id, stock);
      const lines = [
        { bookId: hamlet.id, quantity: 4 },
        { bookId: darkness.id, quantity: 3 },
      ];
      const result = shop.placeOrder({ customerId: 8, orderedAt, lines });
      assert.deepEqual(result, { outcome: 'refused', why });
      assert.equal(shop.findBook(hamlet.id)?.stock, 9);
      assert.equal(shop.findBook(darkness.id)?.stock, stock);
    }
    assert.equal(shop.ordersOf({ customerId: 8, ...page }).total, ordersBefore);
  });

  it('refuses unknown customers, unknown books and empty orders', () => {
    const hamlet = book('hamlet');
    const lines = [{ bookId: hamlet.id, quantity: 1 }];
    const refusals = [
      { order: { customerId: 99_999, orderedAt, lines }, why: 'No customer has the id 99999' },
      {
        order: { customerId: 8, orderedAt, lines: [{ bookId: 99_999, quantity: 1 }] },
        why: 'No book has the id 99999',
      },
      {
        order: { customerId: 8, orderedAt, lines: [] },
        why: 'An order needs at least one book',
      },
    ];
    for (const { order, why } of refusals) {
      assert.deepEqual(shop.placeOrder(order), { outcome: 'refused', why });
    }
  });

  it('rolls back when a statement fails', () => {
    const hamlet = book('hamlet');
    const order = { customerId: 8, orderedAt, lines: [{ bookId: hamlet.id, quantity: 0 }] };
    assert.throws(() => shop.placeOrder(order), /CHECK constraint failed/);
    assert.equal(shop.findBook(hamlet.id)?.stock, hamlet.stock);
    assert.equal(shop.setPrice(hamlet.id, 1500)?.priceCents, 1500);
  });

  it('changes a price for later orders only', () => {
    const emma = book('emma austen');
    const change = shop.setPrice(emma.id, 4210);
    assert.deepEqual(change, {
      id: emma.id,
      title: 'Emma',
      oldPriceCents: emma.priceCents,
      priceCents: 4210,
    });
    assert.equal(shop.findBook(emma.id)?.priceCents, 4210);
    const [earlier] = shop.ordersOf({ customerId: 7, ...page }).items;
    const line = earlier?.lines.find(({ bookId }) => bookId === emma.id);
    assert.equal(line?.unitPriceCents, emma.priceCents);
    assert.equal(shop.setPrice(99_999, 1000), undefined);
  });
});

describe('bookshop: opening', () => {
  it('opens again after it was closed, with the settings it needs', () => {
    const again = new Shop(path);
    assert.ok(again.findBook(1));
    again[Symbol.dispose]();
    assert.ok(again.findBook(1));
    again[Symbol.dispose]();
    using db = new DatabaseSync(path, { readOnly: true });
    assert.equal(db.prepare('PRAGMA journal_mode').get()?.['journal_mode'], 'wal');
  });
});
