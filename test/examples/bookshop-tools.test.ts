import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Tool, ToolContext } from 'castellan';
import { z } from 'zod';
import type { Shop } from '../../examples/bookshop/shop.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const names = (await readdir(join(root, 'examples/bookshop/tools')))
  .map((file) => basename(file, '.ts'))
  .toSorted();

let folder: string;
let shop: Shop;

/** The tools write to the database beside them, so they run in a copy of the project. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookshop-'));
  await cp(join(root, 'examples/bookshop'), folder, {
    recursive: true,
    filter: (path) => !/\.db(-\w+)?$|\.castellan$|keys$/.test(path),
  });
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules/castellan'), 'junction');
  await symlink(join(root, 'node_modules/zod'), join(folder, 'node_modules/zod'), 'junction');
  shop = (await load('shop.ts'))['openShop']();
});

after(async () => {
  shop[Symbol.dispose]();
  await rm(folder, { recursive: true, force: true });
});

async function load(file: string) {
  return import(pathToFileURL(join(folder, file)).href);
}

async function loadTool(name: string): Promise<Tool> {
  return (await load(`tools/${name}.ts`))['default'];
}

const steps: [done: number, total: number | undefined][] = [];

const context: ToolContext = {
  user: { id: 'u1', name: 'clerk', roles: ['clerk'] },
  client: { id: 'c1', name: 'test' },
  privileges: new Set(),
  signal: new AbortController().signal,
  progress: async (done, total) => void steps.push([done, total]),
  log: { info() {}, warn() {}, error() {} },
  session: {
    storage: {
      get: () => assert.fail('nothing is kept'),
      set: () => assert.fail('nothing is kept'),
      delete: () => assert.fail('nothing is kept'),
    },
  },
  ask: () => assert.fail('nobody is there to ask'),
  confirm: () => assert.fail('nobody is there to ask'),
};

/** Runs a tool as the server does: arguments and result are both checked. */
async function call(name: string, args: Record<string, unknown>) {
  const { input, output, run } = await loadTool(name);
  assert.ok(output);
  const result = await run(input.parse(args) as never, context);
  return JSON.parse(JSON.stringify(z.strictObject(output.shape).parse(result)));
}

type Schema = z.core.JSONSchema._JSONSchema;

/** Every schema inside a JSON Schema, with its path; the root has the path ''. */
function fieldsOf(schema: Schema, path = ''): [string, z.core.JSONSchema.BaseSchema][] {
  if (typeof schema === 'boolean') return [];
  const properties = Object.entries(schema.properties ?? {});
  const items = schema.items === undefined ? [] : [schema.items].flat();
  return [
    [path, schema],
    ...properties.flatMap(([name, child]) => fieldsOf(child, `${path}.${name}`)),
    ...items.flatMap((child) => fieldsOf(child, `${path}[]`)),
  ];
}

describe('bookshop: what a client sees of the tools', () => {
  for (const name of names) {
    it(`${name} is described in full`, async () => {
      const { input, output, annotations, description, ...tool } = await loadTool(name);
      assert.equal(tool.name, name);
      assert.match(name, /^[A-Za-z0-9_-]{1,40}$/);
      assert.match(description ?? '', /Use it/);
      assert.deepEqual(Object.keys(annotations ?? {}).toSorted(), [
        'destructiveHint',
        'idempotentHint',
        'openWorldHint',
        'readOnlyHint',
        'title',
      ]);
      for (const schema of [input, output]) {
        assert.ok(schema);
        for (const [path, field] of fieldsOf(z.toJSONSchema(schema))) {
          assert.equal(typeof field.type, 'string', path);
          assert.ok(path === '' || path.endsWith('[]') || field.description, path);
          for (const word of ['$ref', 'anyOf', 'oneOf', 'allOf', 'const', 'default']) {
            assert.ok(!(word in field), `${path}: ${word}`);
          }
        }
      }
    });
  }

  it('lets roles.json permit every tool, and no other', async () => {
    const roles = JSON.parse(await readFile(join(root, 'examples/bookshop/roles.json'), 'utf8'));
    const permitted: { applyTo: string; type: string }[] = roles.permissions.allowed;
    assert.deepEqual(permitted.map(({ applyTo }) => applyTo).toSorted(), names);
    assert.ok(permitted.every(({ type }) => type === 'tool'));
  });
});

describe('bookshop: running the tools', () => {
  it('searches, page by page, until there is no next page', async () => {
    const first = await call('books-search', { words: 'jane austen', limit: 4 });
    assert.deepEqual([first.books.length, first.total, first.nextSkip], [4, 6, 4]);
    const last = await call('books-search', { words: 'jane austen', limit: 4, skip: 4 });
    assert.deepEqual([last.books.length, last.nextSkip], [2, undefined]);
  });

  it('looks up a book and its author', async () => {
    const { books } = await call('books-search', { words: 'middlemarch' });
    const book = await call('books-get', { id: books[0].id });
    assert.equal(book.author, 'George Eliot');
    assert.ok(book.alsoByAuthor.length > 0);
  });

  it('places an order and lists it for the customer', async () => {
    const { customers } = await call('customers-search', { words: 'berlin', limit: 1 });
    const { books } = await call('books-search', { words: 'walden' });
    const lines = [{ bookId: books[0].id, quantity: 1 }];
    const placed = await call('orders-place', { customerId: customers[0].id, lines });
    assert.equal(placed.totalCents, books[0].priceCents);
    const { orders } = await call('customers-orders', { email: customers[0].email, limit: 1 });
    assert.equal(orders[0].id, placed.orderId);
  });

  it('adds up a year and tells how far it is', async () => {
    steps.length = 0;
    const sales = await call('sales-year-total', { year: 2025 });
    assert.equal(sales.months.length, 12);
    assert.ok(sales.totalCents > 0 && sales.orders > 500);
    assert.deepEqual([steps.length, steps.at(-1)], [12, [12, 12]]);
    const french = await call('sales-year-total', { year: 2025, language: 'fr' });
    assert.ok(french.totalCents > 0 && french.totalCents < sales.totalCents);
  });

  it('sets a price and gives back the old one', async () => {
    const change = await call('books-set-price', { id: 1, priceCents: 1290 });
    assert.equal((await call('books-get', { id: 1 })).priceCents, 1290);
    assert.notEqual(change.oldPriceCents, 1290);
  });

  const refusals: [name: string, args: Record<string, unknown>, message: string][] = [
    ['books-get', { id: 99_999 }, 'No book has the id 99999'],
    ['books-set-price', { id: 99_999, priceCents: 500 }, 'No book has the id 99999'],
    ['customers-orders', {}, 'Give either customerId or email'],
    ['customers-orders', { customerId: 1, email: 'a@b' }, 'Give either customerId or email'],
    ['customers-orders', { customerId: 99_999 }, 'No customer has the id 99999'],
    ['customers-orders', { email: 'a@b' }, 'No customer has the email a@b'],
    ['sales-year-total', { year: 2024, customerId: 99_999 }, 'No customer has the id 99999'],
    [
      'orders-place',
      { customerId: 99_999, lines: [{ bookId: 1, quantity: 1 }] },
      'No customer has the id 99999',
    ],
  ];
  for (const [name, args, message] of refusals) {
    it(`${name} refuses ${JSON.stringify(args)}`, async () => {
      await assert.rejects(call(name, args), { message });
    });
  }

  const wrong: [name: string, args: Record<string, unknown>][] = [
    ['books-search', { limit: 51 }],
    ['books-search', { limit: 0 }],
    ['books-search', { language: 'English' }],
    ['books-set-price', { id: 1, priceCents: 12.5 }],
    ['orders-place', { customerId: 1, lines: [] }],
    ['orders-place', { customerId: 1, lines: [{ bookId: 1, quantity: 0 }] }],
  ];
  for (const [name, args] of wrong) {
    it(`${name} does not take ${JSON.stringify(args)}`, async () => {
      await assert.rejects(call(name, args), z.ZodError);
    });
  }
});
