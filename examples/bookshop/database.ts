/**
 * Builds the demo database. Nothing here reads the clock or true randomness
 * into the data: two builds hold the same rows.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { makeSample, type Sample } from './sample.ts';

const schema = `
  CREATE TABLE author (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;
  CREATE TABLE book (
    id INTEGER PRIMARY KEY,
    author_id INTEGER NOT NULL REFERENCES author (id),
    title TEXT NOT NULL,
    year INTEGER NOT NULL,
    language TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents > 0),
    stock INTEGER NOT NULL CHECK (stock >= 0),
    UNIQUE (author_id, title)
  ) STRICT;
  CREATE INDEX book_language_year ON book (language, year);
  CREATE TABLE customer (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL COLLATE NOCASE UNIQUE,
    city TEXT NOT NULL,
    country TEXT NOT NULL,
    since TEXT NOT NULL
  ) STRICT;
  CREATE TABLE purchase (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer (id),
    ordered_at TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('placed', 'shipped', 'delivered', 'cancelled')),
    total_cents INTEGER NOT NULL CHECK (total_cents >= 0)
  ) STRICT;
  CREATE INDEX purchase_customer ON purchase (customer_id, ordered_at);
  CREATE INDEX purchase_ordered_at ON purchase (ordered_at);
  CREATE TABLE purchase_line (
    purchase_id INTEGER NOT NULL REFERENCES purchase (id),
    book_id INTEGER NOT NULL REFERENCES book (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_price_cents INTEGER NOT NULL CHECK (unit_price_cents > 0),
    PRIMARY KEY (purchase_id, book_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX purchase_line_book ON purchase_line (book_id);
`;

/** Creates the database unless the file is there; true if it did. */
export function ensureBookshop(path: string): boolean {
  if (existsSync(path)) return false;
  try {
    createBookshop(path);
    return true;
  } catch (error) {
    // Another process may have finished the same database first.
    if (existsSync(path)) return false;
    throw error;
  }
}

/**
 * Builds the database in memory, writes it to a temporary file beside `path` and
 * moves it there when it is whole, so that a killed run leaves no half-made shop.
 *
 * @throws when `path` exists: two processes that start at once must not replace
 * a database that one of them already sells from.
 */
export function createBookshop(path: string): void {
  const temporary = `${path}.${randomUUID()}.tmp.db`;
  try {
    write(temporary, makeSample());
    flush(temporary);
    if (!existsSync(path)) removeLeftovers(path);
    linkSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** The log of a database that was deleted would be played into the new one. */
function removeLeftovers(path: string): void {
  for (const suffix of ['-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}

function flush(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function write(path: string, sample: Sample): void {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true });
  try {
    db.exec(schema);
    db.exec('BEGIN');
    insertBooks(db, sample);
    insertCustomers(db, sample);
    insertPurchases(db, sample);
    db.exec('COMMIT');
    db.prepare('VACUUM INTO ?').run(path);
  } finally {
    db.close();
  }
}

function insertBooks(db: DatabaseSync, sample: Sample): void {
  const author = db.prepare('INSERT INTO author (id, name) VALUES (?, ?)');
  const book = db.prepare(
    `INSERT INTO book (id, author_id, title, year, language, price_cents, stock)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const authorIds = new Map<string, number>();
  for (const row of sample.books) {
    const authorId = authorIds.get(row.author) ?? authorIds.size + 1;
    if (!authorIds.has(row.author)) author.run(authorId, row.author);
    authorIds.set(row.author, authorId);
    book.run(row.id, authorId, row.title, row.year, row.language, row.priceCents, row.stock);
  }
}

function insertCustomers(db: DatabaseSync, sample: Sample): void {
  const customer = db.prepare(
    'INSERT INTO customer (id, name, email, city, country, since) VALUES (?, ?, ?, ?, ?, ?)',
  );
  for (const row of sample.customers) {
    customer.run(row.id, row.name, row.email, row.city, row.country, row.since);
  }
}

function insertPurchases(db: DatabaseSync, sample: Sample): void {
  const purchase = db.prepare(
    `INSERT INTO purchase (id, customer_id, ordered_at, status, total_cents)
     VALUES (?, ?, ?, ?, ?)`,
  );
  const line = db.prepare(
    `INSERT INTO purchase_line (purchase_id, book_id, quantity, unit_price_cents)
     VALUES (?, ?, ?, ?)`,
  );
  for (const row of sample.purchases) {
    purchase.run(row.id, row.customerId, row.orderedAt, row.status, row.totalCents);
    for (const item of row.lines) {
      line.run(row.id, item.bookId, item.quantity, item.unitPriceCents);
    }
  }
}
