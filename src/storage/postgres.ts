import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { AppError } from '#src/errors.ts';
import type { Database } from './schema.ts';

/*
 * PostgreSQL, and engines that speak as it does. Two pools to one database: what changes access
 * commits fully; notes (last use) commit without waiting for the disk.
 */

const POOL_SIZE = 10;
const NOTES_POOL_SIZE = 2;
const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 10_000;
const INT8 = 20;
const NUMERIC_TIME_TYPES = new Set([INT8]);

export interface PostgresConnections {
  db: Kysely<Database>;
  notes: Kysely<Database>;
  pool: pg.Pool;
  close: () => Promise<void>;
}

/** Opens the pools; a connection is made when it is first needed. */
export function openPostgres(url: string, onError: (error: Error) => void): PostgresConnections {
  const pool = newPool(url, { max: POOL_SIZE, options: '-c timezone=UTC' }, onError);
  const relaxed = { max: NOTES_POOL_SIZE, options: '-c timezone=UTC -c synchronous_commit=off' };
  const notesPool = newPool(url, relaxed, onError);
  return {
    db: new Kysely<Database>({ dialect: new PostgresDialect({ pool }) }),
    notes: new Kysely<Database>({ dialect: new PostgresDialect({ pool: notesPool }) }),
    pool,
    async close() {
      await Promise.all([pool.end(), notesPool.end()]);
    },
  };
}

function newPool(
  url: string,
  size: { max: number; options: string },
  onError: (error: Error) => void,
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
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS + CONNECT_TIMEOUT_MS,
    types: { getTypeParser: numericTimes },
  });
  // An idle connection that breaks must not end the process; the next query opens another.
  pool.on('error', onError);
  return pool;
}

/** Times are int8 and stay below 2^53, so they are numbers here as on SQLite. */
const numericTimes: typeof pg.types.getTypeParser = (oid: number, format?: unknown) => {
  if (NUMERIC_TIME_TYPES.has(oid)) return Number;
  return pg.types.getTypeParser(oid, format as 'text');
};
