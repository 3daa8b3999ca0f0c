import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import {
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect as KyselyDialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { AppError, messageOf } from '#src/errors.ts';
import { Mutex } from './mutex.ts';
import type { Database } from './schema.ts';

/*
 * SQLite through `node:sqlite`. Three connections to one file in WAL mode:
 * - `db` commits with synchronous=FULL: what changes access survives a power cut once acknowledged;
 * - `notes` commits with synchronous=NORMAL: last use and the like survive a killed process;
 * - `reader` only reads, for the check of every request, and never waits for a transaction.
 * The two writers take turns within the process, because a busy wait would block the event loop
 * that the other one needs to finish.
 */

/** How long a writer of another process is waited for, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000;
const BUSY_PAUSE_MS = 2;
const SQLITE_BUSY = 5;
const STATEMENTS = 500;

export interface SqliteConnections {
  db: Kysely<Database>;
  notes: Kysely<Database>;
  reader: DatabaseSync;
  close: () => Promise<void>;
}

/**
 * Opens, and creates when missing, the state file.
 *
 * @throws `store_unavailable` when the file cannot be opened.
 */
export function openSqlite(path: string): SqliteConnections {
  const databases: DatabaseSync[] = [];
  const open = (synchronous: 'FULL' | 'NORMAL'): DatabaseSync => {
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    databases.push(database);
    database.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF`,
    );
    // From here on a lock is waited for without blocking the event loop: `whenFree` does.
    database.exec('PRAGMA busy_timeout = 0');
    return database;
  };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const turns = new Mutex();
    const db = new Kysely<Database>({ dialect: new NodeSqliteDialect(open('FULL'), turns) });
    const notes = new Kysely<Database>({ dialect: new NodeSqliteDialect(open('NORMAL'), turns) });
    const reader = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    databases.push(reader);
    const close = async (): Promise<void> => {
      await db.destroy();
      await notes.destroy();
      for (const database of databases) if (database.isOpen) database.close();
    };
    return { db, notes, reader, close };
  } catch (error) {
    for (const database of databases) database.close();
    throw new AppError(
      'store_unavailable',
      `The state store ${path} cannot be opened: ${messageOf(error)}`,
      {
        cause: error,
        hint: 'Check that the folder exists and can be written.',
      },
    );
  }
}

/** Kysely's seam to `node:sqlite`. */
class NodeSqliteDialect implements KyselyDialect {
  readonly #database: DatabaseSync;
  readonly #turns: Mutex;

  constructor(database: DatabaseSync, turns: Mutex) {
    this.#database = database;
    this.#turns = turns;
  }

  createAdapter(): SqliteAdapter {
    return new SqliteAdapter();
  }

  createDriver(): Driver {
    return new NodeSqliteDriver(this.#database, this.#turns);
  }

  createIntrospector(db: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(db);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler();
  }
}

class NodeSqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #turns: Mutex;
  readonly #connection: NodeSqliteConnection;
  #release: (() => void) | undefined;

  constructor(database: DatabaseSync, turns: Mutex) {
    this.#database = database;
    this.#turns = turns;
    this.#connection = new NodeSqliteConnection(database);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    this.#release = await this.#turns.acquire();
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    // IMMEDIATE: the write lock is taken before anything is read, so no decision is made on old rows.
    await whenFree(() => this.#database.exec('BEGIN IMMEDIATE'));
  }

  async commitTransaction(): Promise<void> {
    this.#database.exec('COMMIT');
  }

  async rollbackTransaction(): Promise<void> {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  async releaseConnection(): Promise<void> {
    this.#release?.();
  }

  async destroy(): Promise<void> {}
}

/** Runs a statement, again and again while another process writes. Other requests go on meanwhile. */
async function whenFree<T>(run: () => T): Promise<T> {
  const deadline = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await setTimeout(BUSY_PAUSE_MS);
    }
  }
}

function isBusy(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return false;
  // The low byte is the primary code; BUSY_SNAPSHOT and the like are not waited for.
  return error.errcode === SQLITE_BUSY;
}

class NodeSqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new LRUCache<string, StatementSync>({ max: STATEMENTS });

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const statement = this.#prepare(query.sql);
    const values = query.parameters as SQLInputValue[];
    return whenFree(() => {
      if (statement.columns().length > 0) return { rows: statement.all(...values) as Row[] };
      return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
    });
  }

  // eslint-disable-next-line require-yield
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new AppError('internal', 'node:sqlite queries are not streamed');
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
