import { sharedPostgres, type Postgres } from './postgres.ts';

/*
 * Empty PostgreSQL databases for one process. A file that runs alone starts its server with the first
 * one and stops it with the last.
 */

export interface BorrowedDatabase extends AsyncDisposable {
  url: string;
}

let server: Promise<Postgres> | undefined;
let borrowed = 0;

/** Makes an empty database; leaving its scope gives it back. */
export async function borrowDatabase(): Promise<BorrowedDatabase> {
  borrowed += 1;
  server ??= sharedPostgres();
  const postgres = await server;
  const url = await postgres.createDatabase();
  return {
    url,
    async [Symbol.asyncDispose]() {
      borrowed -= 1;
      if (borrowed > 0) return;
      server = undefined;
      await postgres[Symbol.asyncDispose]();
    },
  };
}
