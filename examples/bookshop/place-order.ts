import type { DatabaseSync } from 'node:sqlite';

/** What a customer wants to buy. */
export interface NewOrder {
  customerId: number;
  /** The day of the order, YYYY-MM-DD. */
  orderedAt: string;
  lines: readonly { bookId: number; quantity: number }[];
}

export interface PlacedLine {
  bookId: number;
  title: string;
  quantity: number;
  unitPriceCents: number;
  /** Copies left after this order. */
  left: number;
}

export interface PlacedOrder {
  orderId: number;
  orderedAt: string;
  status: string;
  totalCents: number;
  lines: PlacedLine[];
}

export type OrderOutcome =
  | { outcome: 'placed'; order: PlacedOrder }
  | { outcome: 'refused'; why: string };

interface Copies {
  title: string;
  price: number;
  stock: number;
}

/**
 * Checks the customer and every line, takes the copies from stock and writes
 * the order, in one transaction: a refusal changes nothing.
 */
export function placeOrder(db: DatabaseSync, order: NewOrder): OrderOutcome {
  db.exec('BEGIN IMMEDIATE');
  try {
    const outcome = place(db, order);
    db.exec(outcome.outcome === 'placed' ? 'COMMIT' : 'ROLLBACK');
    return outcome;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function place(db: DatabaseSync, order: NewOrder): OrderOutcome {
  const { customerId, orderedAt } = order;
  if (order.lines.length === 0) return refused('An order needs at least one book');
  if (db.prepare('SELECT 1 FROM customer WHERE id = ?').get(customerId) === undefined) {
    return refused(`No customer has the id ${customerId}`);
  }
  const lines: PlacedLine[] = [];
  for (const [bookId, quantity] of merge(order.lines)) {
    const line = take(db, bookId, quantity);
    if ('why' in line) return line;
    lines.push(line);
  }
  const totalCents = lines.reduce((sum, line) => sum + line.quantity * line.unitPriceCents, 0);
  const orderId = insert(db, { customerId, orderedAt, totalCents, lines });
  return { outcome: 'placed', order: { orderId, orderedAt, status: 'placed', totalCents, lines } };
}

/** The same book on two lines is one line. */
function merge(lines: NewOrder['lines']): Map<number, number> {
  const quantities = new Map<number, number>();
  for (const { bookId, quantity } of lines) {
    quantities.set(bookId, (quantities.get(bookId) ?? 0) + quantity);
  }
  return quantities;
}

function take(db: DatabaseSync, bookId: number, quantity: number) {
  const book = db
    .prepare('SELECT title, price_cents AS price, stock FROM book WHERE id = ?')
    .get(bookId) as Copies | undefined;
  if (book === undefined) return refused(`No book has the id ${bookId}`);
  if (book.stock < quantity) return refused(tooFew(book));
  db.prepare('UPDATE book SET stock = stock - ? WHERE id = ?').run(quantity, bookId);
  const left = book.stock - quantity;
  return { bookId, title: book.title, quantity, unitPriceCents: book.price, left };
}

function insert(
  db: DatabaseSync,
  order: { customerId: number; orderedAt: string; totalCents: number; lines: PlacedLine[] },
): number {
  const { customerId, orderedAt, totalCents, lines } = order;
  const { lastInsertRowid } = db
    .prepare(
      `INSERT INTO purchase (customer_id, ordered_at, status, total_cents)
       VALUES (?, ?, 'placed', ?)`,
    )
    .run(customerId, orderedAt, totalCents);
  const line = db.prepare(
    `INSERT INTO purchase_line (purchase_id, book_id, quantity, unit_price_cents)
     VALUES (?, ?, ?, ?)`,
  );
  for (const item of lines) {
    line.run(lastInsertRowid, item.bookId, item.quantity, item.unitPriceCents);
  }
  return Number(lastInsertRowid);
}

function refused(why: string): { outcome: 'refused'; why: string } {
  return { outcome: 'refused', why };
}

function tooFew({ title, stock }: Copies): string {
  if (stock === 0) return `"${title}" is out of stock`;
  return stock === 1
    ? `Only 1 copy of "${title}" is left`
    : `Only ${stock} copies of "${title}" are left`;
}
