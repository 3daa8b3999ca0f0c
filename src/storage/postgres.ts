import { Socket } from 'node:net';
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { AppError } from '#src/errors.ts';
import type { Database } from './schema.ts';

/*
 * PostgreSQL, and engines that speak as it does. Three pools to one database. Transactions, of which
 * a process runs one at a time, have a connection of their own: behind a flood of reads that anybody
 * can cause, the holder of the turn would wait for a connection, and everybody else for the turn.
 * Notes (last use) commit without waiting for the disk.
 *
 * A network that swallows packets without a word is the hard case: a connection looks alive and
 * never answers. Every query has a deadline here; when it passes, that connection is destroyed, and
 * so are those that lie idle, because they went through the same network. The next request connects
 * anew, so the server works again as soon as the network does.
 */

const POOL_SIZE = 10;
const WRITERS_POOL_SIZE = 1;
const NOTES_POOL_SIZE = 2;
const KEEP_ALIVE_DELAY_MS = 5_000;
/** Shares of the time a request waits: the engine gives up before we give up on the connection. */
const CONNECT_SHARE = 0.6;
const STATEMENT_SHARE = 0.8;
const INT8 = 20;
const NUMERIC_TIME_TYPES = new Set([INT8]);

export interface PostgresConnections {
  db: Kysely<Database>;
  /** For transactions, one at a time. */
  writer: Kysely<Database>;
  notes: Kysely<Database>;
  pool: pg.Pool;
  close: () => Promise<void>;
}

export interface PostgresOptions {
  onError: (error: Error) => void;
  /** How long a query may take in all before its connection is given up, in milliseconds. */
  waitMs: number;
}

/** Opens the pools; a connection is made when it is first needed. */
export function openPostgres(url: string, options: PostgresOptions): PostgresConnections {
  const pool = newPool(url, { max: POOL_SIZE, options: '-c timezone=UTC' }, options);
  const writers = newPool(url, { max: WRITERS_POOL_SIZE, options: '-c timezone=UTC' }, options);
  const relaxed = { max: NOTES_POOL_SIZE, options: '-c timezone=UTC -c synchronous_commit=off' };
  const notesPool = newPool(url, relaxed, options);
  const pools = [pool, writers, notesPool];
  distrustIdleTogether(pools);
  return {
    db: newKysely(pool),
    writer: newKysely(writers),
    notes: newKysely(notesPool),
    pool,
    async close() {
      await Promise.all(pools.map((one) => one.end()));
    },
  };
}

function newKysely(pool: pg.Pool): Kysely<Database> {
  const guarded = {
    options: pool.options,
    connect: async () => new GuardedClient(await pool.connect()),
    end: () => pool.end(),
  };
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool: guarded }) });
}

function newPool(
  url: string,
  size: { max: number; options: string },
  { onError, waitMs }: PostgresOptions,
): pg.Pool {
  if (!URL.canParse(url)) {
    throw new AppError('config_invalid', 'The PostgreSQL URL of the state store cannot be read', {
      hint: 'It looks like postgres://user:password@host:5432/database',
    });
  }
  const pool = new pg.Pool({
    connectionString: url,
    ...size,
    application_name: 'castellan',
    connectionTimeoutMillis: Math.round(waitMs * CONNECT_SHARE),
    statement_timeout: Math.round(waitMs * STATEMENT_SHARE),
    query_timeout: waitMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    types: { getTypeParser: numericTimes },
    Client: SeverableClient,
  });
  // An idle connection that breaks must not end the process; the next query opens another.
  pool.on('error', onError);
  return pool;
}

/** When one connection fails, those that lie idle are cut too: each would cost a request its deadline. */
function distrustIdleTogether(pools: readonly pg.Pool[]): void {
  const idle = new Set<pg.PoolClient>();
  for (const pool of pools) watchIdle(pool, idle);
}

function watchIdle(pool: pg.Pool, idle: Set<pg.PoolClient>): void {
  pool.on('connect', (client) => {
    // The pool listens only while a client is idle; an unheard 'error' would end the process.
    client.on('error', () => {});
  });
  pool.on('acquire', (client) => idle.delete(client));
  pool.on('remove', (client) => idle.delete(client));
  pool.on('release', (error: unknown, client) => {
    if (!isConnectionFailure(error)) {
      if (!error) idle.add(client);
      return;
    }
    for (const other of idle) if (other instanceof SeverableClient) other.sever();
    idle.clear();
  });
}

/** A client whose socket can be destroyed without the farewell that a dead network never answers. */
class SeverableClient extends pg.Client {
  readonly #socket: Socket;

  constructor(config?: pg.ClientConfig) {
    const socket = new Socket();
    super({ ...config, stream: () => socket });
    this.#socket = socket;
  }

  sever(): void {
    // The pool takes a client that fails while idle out at once; the socket's own end comes too late.
    this.emit('error', new Error('Connection terminated: another one to the same server failed'));
    this.#socket.destroy();
  }
}

/** What Kysely is given: after a failure of the connection it asks nothing more of it. */
class GuardedClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient;
  #failure: Error | undefined;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  // Kysely's interface has cursors too; they are not configured, so none comes here.
  query: PostgresPoolClient['query'] = (async (sql: string, values: unknown[]) => {
    // A ROLLBACK after a timeout would wait for a second one.
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return await this.#client.query(sql, values);
    } catch (error) {
      if (isConnectionFailure(error)) this.#failure = error;
      throw error;
    }
  }) as unknown as PostgresPoolClient['query'];

  release(discard?: boolean): void {
    this.#client.release(this.#failure ?? discard);
  }
}

/** The engine's own errors come over a connection that works; all others leave it in doubt. */
function isConnectionFailure(error: unknown): error is Error {
  return error instanceof Error && !(error instanceof pg.DatabaseError);
}

/** Times are int8 and stay below 2^53, so they are numbers here as on SQLite. */
const numericTimes: typeof pg.types.getTypeParser = (oid: number, format?: unknown) => {
  if (NUMERIC_TIME_TYPES.has(oid)) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
};
