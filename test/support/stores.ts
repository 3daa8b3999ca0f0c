import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '#src/clock.ts';
import type { ClientId } from '#src/ids.ts';
import { insertClient } from '#src/storage/clients.ts';
import { createGrant } from '#src/storage/grants.ts';
import type { Grant } from '#src/grants/grant.ts';
import { openStore, type Store } from '#src/storage/open.ts';
import { insertToken } from '#src/storage/tokens.ts';
import { addUser } from '#src/storage/users.ts';
import type { User } from '#src/users/user.ts';
import { sharedPostgres } from './postgres.ts';
import { temporaryFolder } from './temp.ts';

/** State stores for tests: the same suite runs on each kind. */

export const STORE_KINDS = ['sqlite', 'postgres'] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

/** A clock that moves when it is told to. */
export class TestClock implements Clock {
  #now: number;

  constructor(now = Date.UTC(2026, 10, 30, 12)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}

/** An empty database that any number of stores can be opened on, as several processes would. */
export interface TestDatabase {
  url: string;
  auditKey: Buffer;
  open(clock?: Clock): Promise<Store>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Stores that were opened through it are closed with it. */
export async function testDatabase(kind: StoreKind): Promise<TestDatabase> {
  const stack = new AsyncDisposableStack();
  const url = kind === 'sqlite' ? await sqliteUrl(stack) : await postgresUrl(stack);
  const auditKey = randomBytes(32);
  return {
    url,
    auditKey,
    async open(clock) {
      return stack.use(await openStore({ url, auditKey, clock }));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function sqliteUrl(stack: AsyncDisposableStack): Promise<string> {
  const folder = stack.use(await temporaryFolder());
  return `sqlite:${join(folder.path, 'state', 'state.db')}`;
}

async function postgresUrl(stack: AsyncDisposableStack): Promise<string> {
  return stack.use(await sharedPostgres()).createDatabase();
}

/** A user without a usable password. */
export async function makeUser(
  store: Store,
  name = 'anna',
  roles: string[] = ['clerk'],
): Promise<User> {
  return store.transaction((work) => addUser(work, 'test', { name, passwordHash: 'none', roles }));
}

export async function makeClient(
  store: Store,
  id = 'cli_test',
  name = 'Test client',
): Promise<ClientId> {
  await store.transaction((work) =>
    insertClient(work, {
      id: id as ClientId,
      kind: 'registered',
      name,
      metadata: {},
      secretDigest: null,
    }),
  );
  return id as ClientId;
}

export interface GrantWishes {
  user: User;
  clientId: ClientId;
  privileges?: string[];
  expiresAt?: number;
  redirectUri?: string;
}

export async function makeGrant(store: Store, wishes: GrantWishes): Promise<Grant> {
  const privileges = wishes.privileges ?? ['reader'];
  return store.transaction((work) =>
    createGrant(work, {
      userId: wishes.user.id,
      userName: wishes.user.name,
      clientId: wishes.clientId,
      clientName: 'Test client',
      redirectUri: wishes.redirectUri ?? 'https://app.example/cb',
      redirectHost: 'app.example',
      privileges,
      offered: privileges,
      expiresAt: wishes.expiresAt ?? work.now + 1_000_000,
    }),
  );
}

/** A live refresh token under a grant; returns its digest. */
export async function makeToken(
  store: Store,
  grant: Grant,
  kind: 'access' | 'refresh' | 'code' = 'refresh',
): Promise<string> {
  const digest = randomBytes(16).toString('hex');
  const now = store.clock.now();
  await insertToken(store.db, now, {
    digest,
    kind,
    grantId: grant.id,
    clientId: grant.clientId,
    expiresAt: now + 100_000,
  });
  return digest;
}
