/**
 * Invents what a bookshop has besides its books: prices, stock, customers and
 * their purchases. Pure: the same code gives the same rows, to the cent.
 */
import type { Book } from './data/book.ts';
import { books } from './data/books.ts';
import { regions } from './data/people.ts';
import { fold } from './fold.ts';
import { createRandom, type Random } from './random.ts';

/** The day the sample ends; the shop's history runs from 2019 to here. */
export const referenceDate = '2026-06-30';

const seed = 1855;
const customerCount = 480;
const firstYear = 2019;
const dayMs = 86_400_000;

/** Purchases a year; the last one is cut off at the reference date. */
const purchasesByYear = [520, 690, 760, 800, 850, 930, 1010, 1080];
/** How busy each month is, January to December; 1 is the average. */
const season = [0.85, 0.8, 0.9, 0.95, 0.95, 0.9, 0.85, 0.8, 1, 1.05, 1.25, 1.7];
/** Prices rose over the years: the share of today's price paid in each. */
const priceShareByYear = [0.84, 0.85, 0.87, 0.91, 0.95, 0.97, 0.99, 1];

export interface SampleBook extends Book {
  readonly id: number;
  readonly priceCents: number;
  readonly stock: number;
}

export interface SampleCustomer {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly city: string;
  readonly country: string;
  readonly since: string;
}

export interface SampleLine {
  readonly bookId: number;
  readonly quantity: number;
  readonly unitPriceCents: number;
}

export interface SamplePurchase {
  readonly id: number;
  readonly customerId: number;
  readonly orderedAt: string;
  readonly status: 'placed' | 'shipped' | 'delivered' | 'cancelled';
  readonly totalCents: number;
  readonly lines: readonly SampleLine[];
}

export interface Sample {
  readonly books: readonly SampleBook[];
  readonly customers: readonly SampleCustomer[];
  readonly purchases: readonly SamplePurchase[];
}

/** Makes the whole sample. */
export function makeSample(): Sample {
  const random = createRandom(seed);
  const priced = books.map((book, index) => ({
    ...book,
    id: index + 1,
    priceCents: random.int(7, 34) * 100 + random.pick([50, 90]),
    stock: random.next() < 0.04 ? 0 : random.int(1, 60),
  }));
  const customers = makeCustomers(random);
  return { books: priced, customers, purchases: makePurchases(random, priced, customers) };
}

/** Customers in the order in which they joined, so that ids grow with time. */
function makeCustomers(random: Random): SampleCustomer[] {
  const emails = new Set<string>();
  const people: Omit<SampleCustomer, 'id' | 'since'>[] = [];
  while (people.length < customerCount) {
    const region = random.pick(regions);
    const name = `${random.pick(region.given)} ${random.pick(region.family)}`;
    const email = `${fold(name).replace(' ', '.')}@example.com`;
    if (emails.has(email)) continue;
    emails.add(email);
    people.push({ name, email, city: random.pick(region.cities), country: region.country });
  }
  const from = Date.parse('2018-03-01');
  const days = (Date.parse(referenceDate) - from) / dayMs;
  const joined = people.map(() => isoDate(from + random.int(0, days - 30) * dayMs)).toSorted();
  return people.map((person, index) => ({
    ...person,
    id: index + 1,
    since: joined[index] ?? referenceDate,
  }));
}

function makePurchases(
  random: Random,
  catalogue: readonly SampleBook[],
  customers: readonly SampleCustomer[],
): SamplePurchase[] {
  const byPopularity = random.shuffle(catalogue);
  const purchases: SamplePurchase[] = [];
  for (const orderedAt of orderDates(random)) {
    const lines = makeLines(random, byPopularity, Number(orderedAt.slice(0, 4)));
    purchases.push({
      id: purchases.length + 1,
      customerId: pickCustomer(random, customers, orderedAt).id,
      orderedAt,
      status: makeStatus(random, orderedAt),
      totalCents: lines.reduce((sum, line) => sum + line.quantity * line.unitPriceCents, 0),
      lines,
    });
  }
  return purchases;
}

/** The dates of all purchases, ascending. */
function orderDates(random: Random): string[] {
  const dates: string[] = [];
  for (const [yearIndex, perYear] of purchasesByYear.entries()) {
    for (const [month, share] of season.entries()) {
      const start = Date.UTC(firstYear + yearIndex, month, 1);
      const days = (Date.UTC(firstYear + yearIndex, month + 1, 1) - start) / dayMs;
      const count = Math.round((perYear / 12) * share * (0.9 + random.next() * 0.2));
      for (let made = 0; made < count; made++) {
        dates.push(isoDate(start + random.int(0, days - 1) * dayMs));
      }
    }
  }
  return dates.filter((date) => date <= referenceDate).toSorted();
}

/** One to five different books; a few sell far better than the rest. */
function makeLines(random: Random, byPopularity: readonly SampleBook[], year: number) {
  const share = priceShareByYear[year - firstYear] ?? 1;
  const wanted = random.pick([1, 1, 1, 2, 2, 2, 3, 3, 4, 5]);
  const lines = new Map<number, SampleLine>();
  while (lines.size < wanted) {
    // A product leans to the front, and is exact on every machine, unlike a power.
    const book = byPopularity[Math.floor(random.next() * random.next() * byPopularity.length)];
    if (book === undefined || lines.has(book.id)) continue;
    lines.set(book.id, {
      bookId: book.id,
      quantity: random.next() < 0.86 ? 1 : random.int(2, 4),
      unitPriceCents: Math.round((book.priceCents * share) / 10) * 10,
    });
  }
  return [...lines.values()];
}

/** Someone who had joined by then; those who came early buy more often. */
function pickCustomer(random: Random, customers: readonly SampleCustomer[], date: string) {
  const known = customers.findLastIndex((customer) => customer.since <= date) + 1;
  const customer = customers[Math.min(random.int(0, known - 1), random.int(0, known - 1))];
  if (customer === undefined) throw new Error(`No customer had joined by ${date}`);
  return customer;
}

function makeStatus(random: Random, orderedAt: string): SamplePurchase['status'] {
  const ageDays = (Date.parse(referenceDate) - Date.parse(orderedAt)) / dayMs;
  if (random.next() < 0.03) return 'cancelled';
  if (ageDays <= 3) return 'placed';
  return ageDays <= 9 ? 'shipped' : 'delivered';
}

function isoDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
