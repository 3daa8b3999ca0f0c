import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { books } from '../../examples/bookshop/data/books.ts';
import { createBookshop, ensureBookshop } from '../../examples/bookshop/database.ts';
import { referenceDate } from '../../examples/bookshop/sample.ts';

let folder: string;
let path: string;
let db: DatabaseSync;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookshop-'));
  path = join(folder, 'bookshop.db');
  createBookshop(path);
  db = new DatabaseSync(path, { readOnly: true });
});

after(async () => {
  db.close();
  await rm(folder, { recursive: true, force: true });
});

/** The one value of a query that returns one. */
function value(sql: string): unknown {
  return Object.values(db.prepare(sql).get() ?? {})[0];
}

/** A hash of every row of every table, in order. */
function contentHash(file: string): string {
  const hash = createHash('sha256');
  using reader = new DatabaseSync(file, { readOnly: true });
  for (const table of ['author', 'book', 'customer', 'purchase', 'purchase_line']) {
    hash.update(JSON.stringify(reader.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all()));
  }
  return hash.digest('hex');
}

describe('bookshop: the catalogue', () => {
  it('has enough books, authors and languages', () => {
    assert.ok(books.length >= 320);
    assert.ok(new Set(books.map((book) => book.author)).size >= 200);
    assert.ok(new Set(books.map((book) => book.language)).size >= 20);
  });

  it('has no book twice', () => {
    const keys = books.map(({ author, title }) => `${author}: ${title}`.toLowerCase());
    assert.deepEqual(
      keys.filter((key, index) => keys.indexOf(key) !== index),
      [],
    );
  });

  it('has plausible fields in every book', () => {
    const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
    for (const book of books) {
      const label = JSON.stringify(book);
      assert.equal(book.title, book.title.trim(), label);
      assert.equal(book.author, book.author.trim(), label);
      assert.ok(book.title !== '' && book.author !== '', label);
      assert.ok(Number.isInteger(book.year) && book.year !== 0, label);
      assert.ok(book.year >= -800 && book.year <= 1929, label);
      assert.match(book.language, /^[a-z]{2}$/, label);
      assert.ok(names.of(book.language), label);
    }
  });

  it('gives no author works more than a lifetime apart', () => {
    const years = Map.groupBy(books, (book) => book.author);
    for (const [author, works] of years) {
      if (author === 'Anonymous') continue;
      const span = works.map((book) => book.year).toSorted((a, b) => a - b);
      assert.ok((span.at(-1) ?? 0) - (span[0] ?? 0) <= 80, author);
    }
  });
});

describe('bookshop: the database', () => {
  it('is the same at every build', () => {
    const again = join(folder, 'again.db');
    createBookshop(again);
    assert.equal(contentHash(again), contentHash(path));
  });

  it('is made once and never replaced', () => {
    const target = join(folder, 'once.db');
    assert.equal(ensureBookshop(target), true);
    assert.equal(ensureBookshop(target), false);
    assert.throws(() => createBookshop(target), { code: 'EEXIST' });
  });

  it('leaves nothing beside the database, even when the build fails', async () => {
    assert.throws(() => createBookshop(join(folder, 'missing', 'bookshop.db')));
    assert.throws(() => createBookshop(folder), { code: 'EEXIST' });
    const files = await readdir(folder);
    assert.deepEqual(
      files.filter((name) => name.includes('tmp')),
      [],
    );
  });

  it('drops the log of a database that was deleted', async () => {
    const target = join(folder, 'deleted.db');
    await writeFile(`${target}-wal`, 'leftover');
    createBookshop(target);
    assert.equal(existsSync(`${target}-wal`), false);
    assert.equal(contentHash(target), contentHash(path));
  });

  it('is sound', () => {
    assert.deepEqual(db.prepare('PRAGMA foreign_key_check').all(), []);
    assert.equal(value('PRAGMA integrity_check'), 'ok');
  });

  it('has the books, the customers and the purchases', () => {
    assert.equal(value('SELECT count(*) FROM book'), books.length);
    assert.ok(Number(value('SELECT count(*) FROM customer')) >= 400);
    assert.ok(Number(value('SELECT count(*) FROM purchase')) >= 5000);
    assert.equal(value("SELECT count(*) FROM customer WHERE email NOT LIKE '%@example.com'"), 0);
  });

  it('covers 2019 to the reference date, with every status', () => {
    assert.match(String(value('SELECT min(ordered_at) FROM purchase')), /^2019-01-/);
    assert.ok(String(value('SELECT max(ordered_at) FROM purchase')) <= referenceDate);
    assert.equal(value('SELECT count(DISTINCT substr(ordered_at, 1, 4)) FROM purchase'), 8);
    assert.equal(value('SELECT count(DISTINCT status) FROM purchase'), 4);
  });

  it('has totals that are the sums of their lines', () => {
    const wrong = db
      .prepare(
        `SELECT p.id FROM purchase p LEFT JOIN purchase_line l ON l.purchase_id = p.id
         GROUP BY p.id HAVING p.total_cents IS NOT sum(l.quantity * l.unit_price_cents)`,
      )
      .all();
    assert.deepEqual(wrong, []);
  });

  it('has no purchase before its customer joined', () => {
    const sql = `SELECT count(*) FROM purchase p JOIN customer c ON c.id = p.customer_id
                 WHERE p.ordered_at < c.since`;
    assert.equal(value(sql), 0);
  });
});
