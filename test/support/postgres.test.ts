import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import pg from 'pg';
import { sharedPostgres } from './postgres.ts';

describe('PostgreSQL for tests', () => {
  it('gives every caller an empty database of its own and drops it at the end', async () => {
    const urls: string[] = [];
    {
      await using postgres = await sharedPostgres();
      urls.push(await postgres.createDatabase(), await postgres.createDatabase());
      for (const connectionString of urls) {
        const client = new pg.Client({ connectionString });
        await client.connect();
        // The name is the same in both: they do not see one another.
        await client.query('CREATE TABLE thing (id int)');
        const { rows } = await client.query('SHOW server_version_num');
        assert.match(rows[0].server_version_num, /^18/);
        await client.end();
      }
    }
    for (const connectionString of urls) {
      await assert.rejects(new pg.Client({ connectionString }).connect());
    }
  });

  it('ends with the process that started it, however that ends', async () => {
    const owner = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { startPostgres } from ${JSON.stringify(import.meta.resolve('./postgres.ts'))};
         console.log((await startPostgres()).url);
         setInterval(() => {}, 1000);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [connectionString] = (await once(createInterface(owner.stdout), 'line')) as [string];
    const client = new pg.Client({ connectionString });
    await client.connect();
    // The server's farewell is an error to the client.
    client.on('error', () => {});
    const { promise: ended, resolve } = Promise.withResolvers<undefined>();
    client.once('end', () => resolve(undefined));
    owner.kill('SIGKILL');
    await ended;
  });
});
