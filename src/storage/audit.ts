import { createHmac } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { Clock } from '#src/clock.ts';
import { newId, type Random } from '#src/ids.ts';
import type { AuditTable, Database } from './schema.ts';

/*
 * The audit log's rows. Every writing process has a chain: each row's hash covers the row and the
 * hash before it, keyed with a secret that is not in the database. Whoever alters, removes or
 * reorders rows cannot make the hashes fit again.
 */

/** One thing that changed who may do what. */
export interface AuditEntry {
  /** Who did it: `user:<name>`, `client:<id>`, `cli`, `server`. */
  actor: string;
  action: string;
  subject?: string | undefined;
  clientId?: string | undefined;
  grantId?: string | undefined;
  outcome?: 'done' | 'refused' | undefined;
  detail?: Record<string, unknown> | undefined;
}

/** The position of a process in its own chain. */
interface Position {
  sequence: number;
  hash: string;
}

/** Writes audit rows within transactions; moves on only when they have committed. */
export class AuditChain {
  readonly #key: () => Buffer;
  readonly #clock: Clock;
  readonly #random: Random;
  #chain: string;
  #committed: Position = START;

  constructor(options: { key: Buffer | (() => Buffer); clock: Clock; random: Random }) {
    const { key } = options;
    this.#key = typeof key === 'function' ? key : () => key;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#chain = newId('chain', options.random);
  }

  /** The writer for one transaction. The caller lets one transaction at a time use the chain. */
  begin(tx: Transaction<Database>): {
    write: (...entries: AuditEntry[]) => Promise<void>;
    commit: () => void;
  } {
    let position = this.#committed;
    return {
      write: async (...entries) => {
        const rows = entries.map((entry) => {
          const sequence = position.sequence + 1;
          const row = this.#row(entry, sequence);
          const hash = chainHash(this.#key(), position.hash, row);
          position = { sequence, hash };
          return { ...row, hash };
        });
        for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
          await tx
            .insertInto('audit')
            .values(rows.slice(from, from + ROWS_AT_ONCE))
            .execute();
        }
      },
      commit: () => {
        this.#committed = position;
      },
    };
  }

  /** After a commit whose outcome is unknown: the old chain ends, a new one begins. */
  restart(): void {
    this.#chain = newId('chain', this.#random);
    this.#committed = START;
  }

  #row(entry: AuditEntry, sequence: number): ChainedRow {
    return {
      chain: this.#chain,
      chain_seq: sequence,
      at: this.#clock.now(),
      actor: entry.actor,
      action: entry.action,
      subject: entry.subject ?? null,
      client_id: entry.clientId ?? null,
      grant_id: entry.grantId ?? null,
      outcome: entry.outcome ?? 'done',
      detail: JSON.stringify(entry.detail ?? {}),
    };
  }
}

/** Rows in one statement. */
const ROWS_AT_ONCE = 200;

const START: Position = { sequence: 0, hash: '' };

/** A row as it is chained: all of it but its number in the table and its own hash. */
type ChainedRow = Omit<AuditTable, 'seq' | 'hash'>;

/** The keyed hash of a row that follows the row with hash `previous`. */
export function chainHash(key: Buffer, previous: string, row: ChainedRow): string {
  const content = [
    previous,
    row.chain,
    row.chain_seq,
    row.at,
    row.actor,
    row.action,
    row.subject,
    row.client_id,
    row.grant_id,
    row.outcome,
    row.detail,
  ];
  return createHmac('sha256', key).update(JSON.stringify(content)).digest('base64url');
}
