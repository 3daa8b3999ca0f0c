import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { AppError } from '#src/errors.ts';
import { asStoreError, openStore, type Store } from '#src/storage/open.ts';
import { findUserByName } from '#src/storage/users.ts';
import { startTestApp } from '../support/app.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { makeClient, makeUser } from '../support/stores.ts';

/** A network that drops packets without a word, as a failed-over database or a lost NAT entry does. */

const WAIT_MS = 500;
const CONNECTIONS = 10;

interface Wire extends AsyncDisposable {
  url: string;
  /** From now on the connections there are carry nothing, in either direction, and stay open. */
  swallow(): void;
  /** Ends the connections there are. */
  cut(): void;
  /** Whether new connections carry anything. */
  carriesNew: boolean;
}

/** A TCP proxy before the database. */
async function startWire(url: string): Promise<Wire> {
  const target = new URL(url);
  const databasePort = Number(target.port);
  const links = new Set<{ isSilent: boolean; ends: readonly [Socket, Socket] }>();
  const server = createServer((client) => {
    const ends = [client, connect(databasePort, target.hostname)] as const;
    const link = { isSilent: !wire.carriesNew, ends };
    links.add(link);
    for (const [from, to] of [ends, ends.toReversed() as [Socket, Socket]]) {
      from.on('data', (data) => link.isSilent || to.write(data));
      from.on('close', () => to.destroy());
      from.on('error', () => {});
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.port = String((server.address() as AddressInfo).port);
  const cut = (): void => {
    for (const { ends } of links) for (const end of ends) end.destroy();
    links.clear();
  };
  const wire: Wire = {
    url: target.href,
    carriesNew: true,
    swallow() {
      for (const link of links) link.isSilent = true;
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
  return wire;
}

/** A store behind a wire, with all its connections made. */
async function storeBehind(stack: AsyncDisposableStack): Promise<{ wire: Wire; store: Store }> {
  const postgres = stack.use(await sharedPostgres());
  const wire = stack.use(await startWire(await postgres.createDatabase()));
  const auditKey = randomBytes(32);
  const store = stack.use(await openStore({ url: wire.url, auditKey, waitMs: WAIT_MS }));
  await makeUser(store, 'anna');
  await Promise.all(askEverything(store));
  await Promise.all(Array.from({ length: CONNECTIONS }, () => findUserByName(store.db, 'anna')));
  return { wire, store };
}

/** Every kind of access that requests make, at once. */
function askEverything(store: Store): Promise<unknown>[] {
  return [
    findUserByName(store.db, 'anna'),
    makeClient(store, `cli_${randomBytes(4).toString('hex')}`),
    Promise.resolve(store.readAccess('gr_none', 'k1')),
    store.notes.updateTable('grants').set({ last_used_at: 1 }).execute(),
  ];
}

async function assertAllUnavailable(store: Store): Promise<void> {
  const start = performance.now();
  for (const one of await Promise.allSettled(askEverything(store))) {
    assert.equal(one.status, 'rejected');
    const error = asStoreError(one.reason);
    assert.ok(error instanceof AppError && error.code === 'store_unavailable', String(error));
  }
  const took = performance.now() - start;
  assert.ok(took < 2 * WAIT_MS, `it took ${took} ms`);
}

describe('a PostgreSQL store behind a network that goes silent', () => {
  it('refuses in time and works at the next request, whatever connections it had', async () => {
    await using stack = new AsyncDisposableStack();
    const { wire, store } = await storeBehind(stack);
    wire.swallow();
    await assertAllUnavailable(store);
    await Promise.all(askEverything(store));
  });

  it('refuses in time while new connections are swallowed too, and works when they are not', async () => {
    await using stack = new AsyncDisposableStack();
    const { wire, store } = await storeBehind(stack);
    wire.carriesNew = false;
    wire.swallow();
    await assertAllUnavailable(store);
    await assertAllUnavailable(store);
    wire.carriesNew = true;
    await Promise.all(askEverything(store));
  });

  it('is told to be not ready within about a second', async () => {
    await using stack = new AsyncDisposableStack();
    const postgres = stack.use(await sharedPostgres());
    const wire = stack.use(await startWire(await postgres.createDatabase()));
    const app = stack.use(await startTestApp({ dialect: 'postgres', state: wire.url }));
    const probe = () => fetch(new URL('/readyz', app.url));
    assert.equal((await probe()).status, 200);
    wire.swallow();
    const start = performance.now();
    assert.equal((await probe()).status, 503);
    const took = performance.now() - start;
    assert.ok(took < 1_500, `it took ${took} ms`);
  });

  it('survives that its connections are cut in the middle of a transaction', async () => {
    await using stack = new AsyncDisposableStack();
    const { wire, store } = await storeBehind(stack);
    const cut = store.transaction(async ({ db }) => {
      await findUserByName(db, 'anna');
      wire.cut();
      await findUserByName(db, 'anna');
    });
    await assert.rejects(
      cut,
      (error) => error instanceof AppError && error.code === 'store_unavailable',
    );
    await makeClient(store);
  });
});
