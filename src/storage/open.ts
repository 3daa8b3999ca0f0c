import { sql, type Kysely, type Transaction } from 'kysely';
import { MINUTE, SECOND, systemClock, type Clock } from '#src/clock.ts';
import { AppError, messageOf } from '#src/errors.ts';
import { systemRandom, type Random } from '#src/ids.ts';
import { postgresAccessReader, sqliteAccessReader, type ReadAccess } from './access-reader.ts';
import { AuditChain, type AuditEntry } from './audit.ts';
import { isDriverError, isRetryable, type Dialect } from './dialect.ts';
import { migrate } from './migrate.ts';
import { Mutex } from './mutex.ts';
import type { Database } from './schema.ts';
import { openSqlite } from './sqlite.ts';

/*
 * The state store: connections, transactions with their audit rows, and the store's time. It knows
 * no rules; the files beside it hold the queries, one subject each.
 */

/** What a unit of work that changes access is given. Its audit rows commit with it. */
export interface Work {
  db: Transaction<Database>;
  dialect: Dialect;
  now: number;
  random: Random;
  audit: (...entries: AuditEntry[]) => Promise<void>;
}

export interface Store {
  dialect: Dialect;
  /** Reads, and writes that need no audit row. */
  db: Kysely<Database>;
  /** Writes that may be lost in a power cut: last use. */
  notes: Kysely<Database>;
  /** The store's time: on PostgreSQL the database's, so that machines agree. */
  clock: Clock;
  random: Random;
  readAccess: ReadAccess;
  /**
   * Runs one unit of work: all of it, with its audit rows, or nothing.
   * @throws `store_unavailable` when the engine fails; what the work itself throws otherwise.
   */
  transaction<T>(work: (work: Work) => Promise<T>): Promise<T>;
  /** The migrations that ran when the store was opened. */
  migrated: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export interface StoreOptions {
  /** `sqlite:PATH` or `postgres://...`. */
  url: string;
  /** Keys the audit chain; asked for when the first row is written. */
  auditKey: Buffer | (() => Buffer);
  /** Instead of the store's own time, for tests. */
  clock?: Clock | undefined;
  random?: Random | undefined;
  /** Told about connections that broke while idle. */
  onError?: ((message: string) => void) | undefined;
  /** How long a request waits for the store before it is refused; 5 s unless a test says otherwise. */
  waitMs?: number | undefined;
}

const RETRIES = 3;
const WAIT_MS = 5 * SECOND;

/**
 * Opens the state store and brings it to this version.
 *
 * @throws `store_unavailable` when it cannot be reached, `state_too_new` when a newer version wrote it.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const connections = await connect(options.url, {
    onError: (error) => options.onError?.(messageOf(error)),
    waitMs: options.waitMs ?? WAIT_MS,
  });
  const { dialect, db, notes, readAccess } = connections;
  try {
    const migrated = await migrate(db, dialect);
    const time = await storeClock(db, dialect, options.clock);
    const random = options.random ?? systemRandom;
    const chain = new AuditChain({ key: options.auditKey, clock: time.clock, random });
    return {
      dialect,
      db,
      notes,
      clock: time.clock,
      random,
      readAccess,
      migrated,
      transaction: transactions({ ...connections, chain, clock: time.clock, random }),
      async [Symbol.asyncDispose]() {
        time.stop();
        await connections.close();
      },
    };
  } catch (error) {
    await connections.close();
    throw error instanceof AppError ? error : unavailable(error);
  }
}

interface Connections {
  dialect: Dialect;
  db: Kysely<Database>;
  /** For transactions of whoever holds the turn. */
  writer: Kysely<Database>;
  turns: Mutex;
  notes: Kysely<Database>;
  readAccess: ReadAccess;
  close: () => Promise<void>;
}

async function connect(
  url: string,
  options: { onError: (error: unknown) => void; waitMs: number },
): Promise<Connections> {
  if (url.startsWith('sqlite:')) {
    const { reader, ...rest } = openSqlite(url.slice('sqlite:'.length), options.waitMs);
    return { ...rest, dialect: 'sqlite', readAccess: sqliteAccessReader(reader) };
  }
  // The driver is read only where it is needed: a server on SQLite starts without it.
  const { openPostgres } = await import('./postgres.ts');
  const { pool, ...rest } = openPostgres(url, options);
  return {
    ...rest,
    dialect: 'postgres',
    turns: new Mutex(options),
    readAccess: postgresAccessReader(pool),
  };
}

interface TransactionParts {
  writer: Kysely<Database>;
  turns: Mutex;
  dialect: Dialect;
  chain: AuditChain;
  clock: Clock;
  random: Random;
}

function transactions(parts: TransactionParts): Store['transaction'] {
  const { turns, chain } = parts;
  return async (work) => {
    // One at a time in this process, because each continues the audit chain where the last one ended.
    const release = await turns.acquire();
    try {
      for (let attempt = 1; ; attempt += 1) {
        const progress = { isCommitting: false };
        try {
          return await attemptOnce(parts, work, progress);
        } catch (error) {
          // What an unfinished commit left behind is unknown.
          if (progress.isCommitting || isDriverError(error)) chain.restart();
          if (isRetryable(error) && attempt < RETRIES) continue;
          throw asStoreError(error);
        }
      }
    } finally {
      release();
    }
  };
}

function attemptOnce<T>(
  { writer, dialect, chain, clock, random }: TransactionParts,
  work: (work: Work) => Promise<T>,
  progress: { isCommitting: boolean },
): Promise<T> {
  return writer.transaction().execute(async (tx) => {
    const audit = chain.begin(tx);
    const result = await work({ db: tx, dialect, now: clock.now(), random, audit: audit.write });
    // Reached only when nothing threw; what fails from here on is the COMMIT.
    audit.commit();
    progress.isCommitting = true;
    return result;
  });
}

/** On PostgreSQL, this machine's clock moved to the database's; measured again every minute. */
async function storeClock(
  db: Kysely<Database>,
  dialect: Dialect,
  given: Clock | undefined,
): Promise<{ clock: Clock; stop(): void }> {
  const base = given ?? systemClock;
  if (dialect === 'sqlite' || given !== undefined) return { clock: base, stop: () => {} };
  let offset = await measureOffset(db, base);
  const timer = setInterval(() => {
    measureOffset(db, base).then(
      (measured) => {
        offset = measured;
      },
      () => {
        // The last good offset stays until the database answers again.
      },
    );
  }, MINUTE);
  timer.unref();
  return { clock: { now: () => base.now() + offset }, stop: () => clearInterval(timer) };
}

async function measureOffset(db: Kysely<Database>, base: Clock): Promise<number> {
  const before = base.now();
  const result = await sql<{
    now: string;
  }>`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`.execute(db);
  const middle = (before + base.now()) / 2;
  return Math.round(Number(result.rows[0]?.now ?? middle) - middle);
}

/** A failure of the engine as `store_unavailable`; other errors as they are. */
export function asStoreError(error: unknown): unknown {
  return isDriverError(error) ? unavailable(error) : error;
}

function unavailable(cause: unknown): AppError {
  return new AppError('store_unavailable', `The state store does not answer: ${messageOf(cause)}`, {
    cause,
    hint: 'Check the address in `state` or CASTELLAN_DATABASE_URL, and that the database runs.',
  });
}
