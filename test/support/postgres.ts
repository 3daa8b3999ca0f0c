import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startCluster } from './postgres-cluster.ts';

/*
 * A real PostgreSQL 18 for tests. `test/run.ts` starts one for the whole run and names it in the
 * environment; a test file that runs alone starts its own. Every caller makes databases of its own in
 * it, so that files do not see one another.
 */

/** The variable in which `test/run.ts` names the server that all files of a run share. */
export const SHARED_POSTGRES = 'CASTELLAN_TEST_POSTGRES_URL';

/** A running server, in one test's hands. */
export interface Postgres extends AsyncDisposable {
  /** URL of its maintenance database, as a superuser. */
  url: string;
  /** Creates an empty database, under a random name if none is given, and returns its URL. */
  createDatabase(name?: string): Promise<string>;
}

/** Starts a server on a free port of 127.0.0.1, in about a second; leaving its scope stops it. */
export async function startPostgres(): Promise<Postgres> {
  const { url, stop } = await startCluster();
  return { url, createDatabase: (name) => createDatabase(url, name), [Symbol.asyncDispose]: stop };
}

/**
 * The server of this run, or one of its own outside a run. Leaving its scope drops the databases that
 * were created through it, whoever is still connected to them.
 */
export async function sharedPostgres(): Promise<Postgres> {
  const url = process.env[SHARED_POSTGRES];
  if (url === undefined || url === '') return startPostgres();
  const created: string[] = [];
  return {
    url,
    async createDatabase(name) {
      const database = await createDatabase(url, name);
      created.push(new URL(database).pathname.slice(1));
      return database;
    },
    async [Symbol.asyncDispose]() {
      const drops = created.map((name) => `DROP DATABASE IF EXISTS ${quote(name)} WITH (FORCE)`);
      await execute(url, drops);
    },
  };
}

async function createDatabase(
  url: string,
  name = `test_${randomBytes(8).toString('hex')}`,
): Promise<string> {
  if (!/^\w+$/.test(name)) throw new Error(`Not a plain name for a database: ${name}`);
  await execute(url, [`CREATE DATABASE ${quote(name)}`]);
  return new URL(`/${name}`, url).href;
}

/** Runs statements one after the other, each in a transaction of its own. */
async function execute(url: string, statements: string[]): Promise<void> {
  if (statements.length === 0) return;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const quote = pg.escapeIdentifier;
