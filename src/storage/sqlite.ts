import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
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
  type Driver,
  type QueryResult,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { AppError, messageOf } from '#src/errors.ts';
import { Mutex } from './mutex.ts';
import type { Database } from './schema.ts';

/*
 * SQLite through `node:sqlite`. Four connections to one file in WAL mode:
 * - one commits with synchronous=FULL: what changes access survives a power cut once acknowledged;
 * - one commits with synchronous=NORMAL (`notes`): last use and the like survive a killed process;
 * - one serves reads outside transactions, and `reader` the check of every request: in WAL mode
 *   neither waits for a writer, and each sees what was committed before it began.
 * The two writers take turns within the process, because a busy wait would block the event loop
 * that the other one needs to finish.
 */

/** How long opening the file waits for another process, in milliseconds. */
const OPEN_TIMEOUT_MS = 5_000;
const BUSY_PAUSE_MS = 2;
const SQLITE_BUSY = 5;
const STATEMENTS = 500;
const OWNER_ONLY = 0o600;
const OTHERS = 0o077;

export interface SqliteConnections {
  /** Takes a turn for every write and every transaction. */
  db: Kysely<Database>;
  /** Transactions of a caller that holds the turn. */
  writer: Kysely<Database>;
  turns: Mutex;
  notes: Kysely<Database>;
  reader: DatabaseSync;
  close: () => Promise<void>;
}

/**
 * Opens, and creates when missing, the state file. `waitMs` is how long a write waits for its turn
 * and for the file together.
 *
 * @throws `store_unavailable` when the file cannot be opened.
 */
export function openSqlite(path: string, waitMs: number): SqliteConnections {
  const databases: DatabaseSync[] = [];
  const open = (mode: 'FULL' | 'NORMAL' | 'read'): Statements => {
    const readOnly = mode === 'read';
    const database = new DatabaseSync(path, { readOnly, timeout: OPEN_TIMEOUT_MS });
    databases.push(database);
    if (!readOnly) {
      database.exec(
        `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${mode}; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF`,
      );
    }
    // From here on a lock is waited for without blocking the event loop: `whenFree` does.
    database.exec('PRAGMA busy_timeout = 0');
    return new Statements(database);
  };
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    keepToOwner(path);
    const turns = new Mutex({ waitMs });
    const full = open('FULL');
    const relaxed = open('NORMAL');
    const parts = { reads: open('read'), turns, waitMs };
    const db = newKysely({ ...parts, writes: full, holdsTurn: false });
    const writer = newKysely({ ...parts, writes: full, holdsTurn: true });
    const notes = newKysely({ ...parts, writes: relaxed, holdsTurn: false });
    const reader = new DatabaseSync(path, { readOnly: true, timeout: OPEN_TIMEOUT_MS });
    databases.push(reader);
    const close = async (): Promise<void> => {
      for (const one of [db, writer, notes]) await one.destroy();
      closeAll(databases);
    };
    return { db, writer, turns, notes, reader, close };
  } catch (error) {
    closeAll(databases);
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

/**
 * The last of all connections to close moves what is in `-wal` into the file and removes it, unless it
 * may only read: so the readers go first, and the writer that syncs, which was opened first, is last.
 */
function closeAll(databases: readonly DatabaseSync[]): void {
  for (const database of databases.toReversed()) if (database.isOpen) database.close();
}

/**
 * The file holds password hashes and who uses what: its owner alone may read it. SQLite gives the
 * mode of the file to `-wal` and `-shm` when it makes them.
 */
function keepToOwner(path: string): void {
  closeSync(openSync(path, 'a', OWNER_ONLY));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined || (stats.mode & OTHERS) === 0) continue;
    try {
      chmodSync(file, OWNER_ONLY);
    } catch {
      // Another account owns it, or the file system has no modes: whoever arranged that decided so.
    }
  }
}

interface ConnectionParts {
  writes: Statements;
  reads: Statements;
  turns: Mutex;
  waitMs: number;
  /** Whether whoever begins a transaction has taken the turn already. */
  holdsTurn: boolean;
}

/** Kysely's seam to `node:sqlite`. */
function newKysely(parts: ConnectionParts): Kysely<Database> {
  return new Kysely<Database>({
    dialect: {
      createAdapter: () => new NodeSqliteAdapter(),
      createDriver: () => new NodeSqliteDriver(parts),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

/** Without this, Kysely would let reads wait for the transaction that runs. */
class NodeSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class NodeSqliteDriver implements Driver {
  readonly #parts: ConnectionParts;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<NodeSqliteConnection> {
    return new NodeSqliteConnection(this.#parts);
  }

  async beginTransaction(connection: NodeSqliteConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: NodeSqliteConnection): Promise<void> {
    connection.commit();
  }

  async rollbackTransaction(connection: NodeSqliteConnection): Promise<void> {
    connection.rollBack();
  }

  async releaseConnection(connection: NodeSqliteConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {}
}

/** What one statement or one transaction uses: it decides which of the connections and when. */
class NodeSqliteConnection implements DatabaseConnection {
  readonly #parts: ConnectionParts;
  #isTransaction = false;
  #endTurn: (() => void) | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  async begin(): Promise<void> {
    const { writes, turns, holdsTurn } = this.#parts;
    if (!holdsTurn) this.#endTurn = await turns.acquire();
    // IMMEDIATE: the write lock is taken before anything is read, so no decision is made on old rows.
    await whenFree(() => writes.execute('BEGIN IMMEDIATE'), turns.deadline);
    this.#isTransaction = true;
  }

  commit(): void {
    this.#parts.writes.execute('COMMIT');
  }

  rollBack(): void {
    this.#parts.writes.rollBack();
  }

  release(): void {
    this.#endTurn?.();
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { writes, reads, turns, waitMs } = this.#parts;
    if (this.#isTransaction) return writes.run(query);
    if (query.query.kind === 'SelectQueryNode') {
      return whenFree(() => reads.run<Row>(query), performance.now() + waitMs);
    }
    const endTurn = await turns.acquire();
    try {
      return await whenFree(() => writes.run<Row>(query), turns.deadline);
    } finally {
      endTurn();
    }
  }

  // eslint-disable-next-line require-yield
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new AppError('internal', 'node:sqlite queries are not streamed');
  }
}

/** A connection to the file with its prepared statements. */
class Statements {
  readonly #database: DatabaseSync;
  readonly #prepared = new LRUCache<string, StatementSync>({ max: STATEMENTS });

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  execute(sql: string): void {
    this.#database.exec(sql);
  }

  rollBack(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  run<Row>(query: CompiledQuery): QueryResult<Row> {
    const statement = this.#prepare(query.sql);
    const values = query.parameters as SQLInputValue[];
    if (statement.columns().length > 0) return { rows: statement.all(...values) as Row[] };
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/**
 * Runs a statement, again and again while another process writes, until `deadline` on
 * `performance.now()`'s scale. Other requests go on meanwhile.
 */
async function whenFree<T>(run: () => T, deadline: number): Promise<T> {
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
