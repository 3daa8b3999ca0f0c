import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type pg from 'pg';
import { AppError } from '#src/errors.ts';
import type { AccessRecord } from '#src/grants/grant.ts';
import type { AccessSessionId, ClientId, GrantId, UserId } from '#src/ids.ts';

/*
 * The check of every request: one read by primary key that returns all that the decision needs.
 * SQLite answers within the call. On PostgreSQL the reads of one event-loop turn go out together.
 * Nothing is kept from one request to the next, so a revocation counts at the very next one.
 */

/** Reads what a token's grant says now. `kid` names the key that signed the token. */
export type ReadAccess = (
  grantId: string,
  kid: string,
) => AccessRecord | undefined | Promise<AccessRecord | undefined>;

/** The row of settings that says whether the endpoint is switched on. */
export const MCP_SETTING = 'mcp';
export const OFF = 'off';

/** What its value means; nothing is switched off that nobody switched. */
export function isOnValue(value: string | null | undefined): boolean {
  return value !== OFF;
}

interface AccessRow {
  id: string;
  user_id: string;
  client_id: string;
  privileges: string;
  expires_at: number;
  revoked_at: number | null;
  last_used_at: number | null;
  user_name: string;
  roles: string;
  user_privileges: string | null;
  user_status: AccessRecord['userStatus'];
  client_name: string;
  client_status: AccessRecord['clientStatus'];
  mcp: string | null;
  session_id: string | null;
  session_opened_at: number | null;
  session_expires_at: number | null;
  key_status: AccessRecord['keyStatus'];
  retires_at: number | null;
}

const COLUMNS = `g.id, g.user_id, g.client_id, g.privileges, g.expires_at, g.revoked_at, g.last_used_at,
  u.name AS user_name, u.roles, u.privileges AS user_privileges, u.status AS user_status,
  g.client_name, c.status AS client_status,
  (SELECT value FROM settings WHERE name = '${MCP_SETTING}') AS mcp, s.id AS session_id, s.opened_at AS session_opened_at, s.expires_at AS session_expires_at, k.status AS key_status, k.retires_at`;
const JOINS = `JOIN users u ON u.id = g.user_id JOIN clients c ON c.id = g.client_id
  LEFT JOIN access_sessions s ON s.key = 'oauth ' || g.user_id || ' ' || g.client_id`;

/** By the primary keys of grants, users, clients and signing_keys, and the key of access_sessions. */
export function sqliteAccessReader(reader: DatabaseSync): ReadAccess {
  let statement: StatementSync | undefined;
  return (grantId, kid) => {
    try {
      statement ??= reader.prepare(
        `SELECT ${COLUMNS} FROM grants g ${JOINS} LEFT JOIN signing_keys k ON k.kid = ? WHERE g.id = ?`,
      );
      const row = statement.get(kid, grantId);
      return row === undefined ? undefined : toRecord(row as unknown as AccessRow);
    } catch (error) {
      throw unavailable(error);
    }
  };
}

interface Waiting {
  grantId: string;
  kid: string;
  resolve(record: AccessRecord | undefined): void;
  reject(error: unknown): void;
}

/** By the same keys, for all requests of one event-loop turn at once. */
export function postgresAccessReader(pool: pg.Pool): ReadAccess {
  const text = `SELECT ${COLUMNS}, q.kid AS asked_kid FROM unnest($1::text[], $2::text[]) AS q(gid, kid)
    JOIN grants g ON g.id = q.gid ${JOINS} LEFT JOIN signing_keys k ON k.kid = q.kid`;
  let waiting: Waiting[] = [];
  const send = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    try {
      const values = [batch.map((one) => one.grantId), batch.map((one) => one.kid)];
      const result = await pool.query<AccessRow & { asked_kid: string }>({
        name: 'access',
        text,
        values,
      });
      const found = new Map(result.rows.map((row) => [`${row.id} ${row.asked_kid}`, row]));
      for (const one of batch) {
        const row = found.get(`${one.grantId} ${one.kid}`);
        one.resolve(row === undefined ? undefined : toRecord(row));
      }
    } catch (error) {
      for (const one of batch) one.reject(unavailable(error));
    }
  };
  return (grantId, kid) => {
    const { promise, resolve, reject } = Promise.withResolvers<AccessRecord | undefined>();
    if (waiting.length === 0) setImmediate(() => void send());
    waiting.push({ grantId, kid, resolve, reject });
    return promise;
  };
}

function toRecord(row: AccessRow): AccessRecord {
  return {
    grantId: row.id as GrantId,
    userId: row.user_id as UserId,
    clientId: row.client_id as ClientId,
    userName: row.user_name,
    clientName: row.client_name,
    privileges: row.privileges,
    roles: row.roles,
    userPrivileges: row.user_privileges,
    userStatus: row.user_status,
    clientStatus: row.client_status,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    isServing: isOnValue(row.mcp),
    session: sessionOf(row),
    keyStatus: row.key_status,
    keyRetiresAt: row.retires_at,
  };
}

function sessionOf(row: AccessRow): AccessRecord['session'] {
  if (row.session_id === null) return undefined;
  return {
    id: row.session_id as AccessSessionId,
    isOpen: row.session_opened_at !== null,
    expiresAt: row.session_expires_at ?? 0,
  };
}

function unavailable(cause: unknown): AppError {
  return new AppError('store_unavailable', 'The state store does not answer', { cause });
}
