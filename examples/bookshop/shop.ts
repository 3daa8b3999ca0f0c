/**
 * The shop's side of the tools: one connection a process and the questions the
 * tools ask of it. It owns SQL, not wording for the assistant; what a caller
 * may hear when something cannot be done comes back as a refusal.
 */
import { fileURLToPath } from 'node:url';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { ensureBookshop } from './database.ts';
import { fold } from './fold.ts';
import { placeOrder, type NewOrder, type OrderOutcome } from './place-order.ts';

/** A book as it stands in the shop today. */
export interface ShopBook {
  id: number;
  title: string;
  author: string;
  year: number;
  language: string;
  priceCents: number;
  stock: number;
}

/** What to look for; what is left out does not narrow the search. */
export interface BookSearch {
  words?: string | undefined;
  language?: string | undefined;
  yearFrom?: number | undefined;
  yearTo?: number | undefined;
  limit: number;
  skip: number;
}

export interface Customer {
  id: number;
  name: string;
  email: string;
  city: string;
  country: string;
  since: string;
}

export interface OrderLine {
  bookId: number;
  title: string;
  quantity: number;
  unitPriceCents: number;
}

export interface Order {
  id: number;
  orderedAt: string;
  status: string;
  totalCents: number;
  lines: OrderLine[];
}

/** One page of a longer list. */
export interface Page<T> {
  items: T[];
  /** How many there are on all pages together. */
  total: number;
}

/** A month and, if only a part of its sales counts, which. */
export interface SalesQuestion {
  year: number;
  /** 1 to 12. */
  month: number;
  language?: string | undefined;
  customerId?: number | undefined;
}

export interface Sales {
  totalCents: number;
  orders: number;
  copies: number;
}

export interface PriceChange {
  id: number;
  title: string;
  oldPriceCents: number;
  priceCents: number;
}

type Values = Record<string, SQLInputValue>;

const bookColumns = `b.id, b.title, a.name AS author, b.year, b.language,
  b.price_cents AS priceCents, b.stock`;

/** Every word must occur; a LIKE pattern would give % and _ a meaning. */
const bookMatches = `NOT EXISTS (
    SELECT 1 FROM json_each(:words) AS word
    WHERE instr(fold(b.title || ' ' || a.name), word.value) = 0)
  AND (:language IS NULL OR b.language = :language)
  AND (:yearFrom IS NULL OR b.year >= :yearFrom)
  AND (:yearTo IS NULL OR b.year <= :yearTo)`;

const customerMatches = `NOT EXISTS (
    SELECT 1 FROM json_each(:words) AS word
    WHERE instr(fold(c.name || ' ' || c.email || ' ' || c.city), word.value) = 0)`;

/** A bookshop database, opened at the first question and closed with `using`. */
export class Shop {
  readonly #path: string;
  #db: DatabaseSync | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Books that match, by title. */
  searchBooks(search: BookSearch): Page<ShopBook> {
    const values = {
      words: wordsOf(search.words),
      language: search.language ?? null,
      yearFrom: search.yearFrom ?? null,
      yearTo: search.yearTo ?? null,
    };
    const from = `FROM book b JOIN author a ON a.id = b.author_id WHERE ${bookMatches}`;
    return {
      items: this.#all<ShopBook>(
        `SELECT ${bookColumns} ${from}
         ORDER BY b.title COLLATE NOCASE, b.id LIMIT :limit OFFSET :skip`,
        { ...values, limit: search.limit, skip: search.skip },
      ),
      total: this.#count(from, values),
    };
  }

  /** One book, by primary key. */
  findBook(id: number): ShopBook | undefined {
    return this.#all<ShopBook>(
      `SELECT ${bookColumns} FROM book b JOIN author a ON a.id = b.author_id WHERE b.id = :id`,
      { id },
    )[0];
  }

  /** The other books of a book's author, by year; index of UNIQUE (author_id, title). */
  alsoByAuthor(bookId: number): { id: number; title: string; year: number }[] {
    return this.#all(
      `SELECT b.id, b.title, b.year FROM book b
       WHERE b.author_id = (SELECT author_id FROM book WHERE id = :bookId) AND b.id <> :bookId
       ORDER BY b.year, b.id`,
      { bookId },
    );
  }

  /** Customers whose name, email or city holds every word, by name. */
  searchCustomers(search: { words: string; limit: number; skip: number }): Page<Customer> {
    const values = { words: wordsOf(search.words) };
    const from = `FROM customer c WHERE ${customerMatches}`;
    return {
      items: this.#all<Customer>(
        `SELECT c.* ${from} ORDER BY c.name COLLATE NOCASE, c.id LIMIT :limit OFFSET :skip`,
        { ...values, limit: search.limit, skip: search.skip },
      ),
      total: this.#count(from, values),
    };
  }

  /** One customer, by primary key or by the unique email, whatever its case. */
  findCustomer(by: { id: number } | { email: string }): Customer | undefined {
    const found =
      'id' in by
        ? this.#all<Customer>('SELECT * FROM customer WHERE id = :id', { id: by.id })
        : this.#all<Customer>('SELECT * FROM customer WHERE email = :email', { email: by.email });
    return found[0];
  }

  /** A customer's orders with their lines, newest first; index purchase_customer. */
  ordersOf(question: { customerId: number; limit: number; skip: number }): Page<Order> {
    const { customerId, limit, skip } = question;
    const from = 'FROM purchase p WHERE p.customer_id = :customerId';
    const orders = this.#all<Omit<Order, 'lines'>>(
      `SELECT p.id, p.ordered_at AS orderedAt, p.status, p.total_cents AS totalCents ${from}
       ORDER BY p.ordered_at DESC, p.id DESC LIMIT :limit OFFSET :skip`,
      { customerId, limit, skip },
    );
    return {
      items: orders.map((order) => ({ ...order, lines: this.#linesOf(order.id) })),
      total: this.#count(from, { customerId }),
    };
  }

  /** What a month brought in, cancelled orders left out; index purchase_ordered_at. */
  salesOfMonth(question: SalesQuestion): Sales {
    const { year, month, language, customerId } = question;
    const [sales] = this.#all<Sales>(
      `SELECT coalesce(sum(l.quantity * l.unit_price_cents), 0) AS totalCents,
         count(DISTINCT p.id) AS orders, coalesce(sum(l.quantity), 0) AS copies
       FROM purchase p
       JOIN purchase_line l ON l.purchase_id = p.id
       JOIN book b ON b.id = l.book_id
       WHERE p.ordered_at >= :from AND p.ordered_at < :until AND p.status <> 'cancelled'
         AND (:language IS NULL OR b.language = :language)
         AND (:customerId IS NULL OR p.customer_id = :customerId)`,
      {
        from: firstOfMonth(year, month),
        until: firstOfMonth(year, month + 1),
        language: language ?? null,
        customerId: customerId ?? null,
      },
    );
    return sales ?? { totalCents: 0, orders: 0, copies: 0 };
  }

  /** Takes an order whole or not at all. */
  placeOrder(order: NewOrder): OrderOutcome {
    return placeOrder(this.#open(), order);
  }

  /** Sets today's price; orders placed before keep theirs. */
  setPrice(id: number, priceCents: number): PriceChange | undefined {
    const db = this.#open();
    db.exec('BEGIN IMMEDIATE');
    try {
      const book = this.findBook(id);
      if (book !== undefined) {
        db.prepare('UPDATE book SET price_cents = ? WHERE id = ?').run(priceCents, id);
      }
      db.exec('COMMIT');
      return book && { id, title: book.title, oldPriceCents: book.priceCents, priceCents };
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#db?.close();
    this.#db = undefined;
  }

  #linesOf(purchaseId: number): OrderLine[] {
    return this.#all<OrderLine>(
      `SELECT l.book_id AS bookId, b.title, l.quantity, l.unit_price_cents AS unitPriceCents
       FROM purchase_line l JOIN book b ON b.id = l.book_id
       WHERE l.purchase_id = :purchaseId ORDER BY l.book_id`,
      { purchaseId },
    );
  }

  #count(from: string, values: Values): number {
    return this.#all<{ total: number }>(`SELECT count(*) AS total ${from}`, values)[0]?.total ?? 0;
  }

  #all<T>(sql: string, values: Values): T[] {
    return this.#open()
      .prepare(sql)
      .all(values)
      .map((row) => ({ ...row }) as T);
  }

  #open(): DatabaseSync {
    if (this.#db !== undefined) return this.#db;
    ensureBookshop(this.#path);
    const db = new DatabaseSync(this.#path, { timeout: 5000 });
    db.exec('PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL');
    db.function('fold', { deterministic: true }, (text) => fold(String(text)));
    this.#db = db;
    return db;
  }
}

const bookshop = new Shop(fileURLToPath(new URL('bookshop.db', import.meta.url)));

/** The shop of this process: `bookshop.db` in this folder, made when it is missing. */
export function openShop(): Shop {
  return bookshop;
}

function wordsOf(text = ''): string {
  return JSON.stringify(fold(text).split(/\s+/).filter(Boolean));
}

function firstOfMonth(year: number, month: number): string {
  return new Date(Date.UTC(year, month - 1, 1)).toISOString().slice(0, 10);
}
