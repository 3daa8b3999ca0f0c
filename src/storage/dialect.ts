import { systemCode } from '#src/errors.ts';

/** Which SQL engine keeps the state. */
export type Dialect = 'sqlite' | 'postgres';

const SQLITE_CONSTRAINT_UNIQUE = 2067;
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555;
/** The low byte of SQLite's extended codes names the family. */
const SQLITE_CONSTRAINT = 19;
const POSTGRES_UNIQUE = '23505';
/** SQLSTATE class 23: integrity constraint violations. */
const POSTGRES_CONSTRAINT = /^23[0-9A-Z]{3}$/;
/** Serialization failure and deadlock: the transaction did nothing and may run again. */
const POSTGRES_RETRY = new Set(['40001', '40P01']);

/** Whether an insert met a row that is already there. */
export function isUniqueViolation(error: unknown): boolean {
  const sqlite = sqliteCode(error);
  if (sqlite !== undefined) {
    return sqlite === SQLITE_CONSTRAINT_UNIQUE || sqlite === SQLITE_CONSTRAINT_PRIMARYKEY;
  }
  return systemCode(error) === POSTGRES_UNIQUE;
}

/** Whether the engine asks to run the transaction again. */
export function isRetryable(error: unknown): boolean {
  const code = systemCode(error);
  return code !== undefined && POSTGRES_RETRY.has(code);
}

/**
 * Whether an engine or its connection failed. A violated constraint is not that: the store answered,
 * and what it says is a conflict or a mistake of ours, which "unavailable" would hide.
 */
export function isDriverError(error: unknown): boolean {
  const sqlite = sqliteCode(error);
  if (sqlite !== undefined) return (sqlite & 0xff) !== SQLITE_CONSTRAINT;
  const code = systemCode(error);
  if (code === undefined) return isPoolError(error);
  if (POSTGRES_CONSTRAINT.test(code)) return false;
  return /^([0-9A-Z]{5}|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ERR_INVALID_STATE)$/.test(
    code,
  );
}

function sqliteCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

/** pg reports a lost or unavailable connection as a plain Error. */
function isPoolError(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Client was closed|Cannot use a pool after|Query read timeout)/.test(
      error.message,
    )
  );
}
