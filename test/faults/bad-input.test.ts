import assert from 'node:assert/strict';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  copyBookshop,
  runCastellan,
  serveProject,
  type CommandResult,
  type ProjectPlace,
} from '../support/castellan.ts';
import { temporaryFolder } from '../support/temp.ts';

/** What a person gets wrong when they start a server: a clear error, and nothing is changed. */

async function bookshop(stack: AsyncDisposableStack): Promise<ProjectPlace> {
  const { path: folder } = stack.use(await temporaryFolder());
  await copyBookshop(folder);
  return { folder };
}

/** `serve` ends by itself when it cannot start. */
async function serveFails(
  place: ProjectPlace,
  args: string[] = ['--port', '0'],
): Promise<CommandResult> {
  const result = await runCastellan(place, ['serve', ...args]);
  assert.equal(result.code, 1, `${result.stdout}${result.stderr}`);
  assert.equal(result.stdout, '');
  return result;
}

describe('a server that cannot start', () => {
  it('names a misspelt field of the configuration', async () => {
    await using stack = new AsyncDisposableStack();
    const place = await bookshop(stack);
    const file = join(place.folder, 'castellan.config.ts');
    await writeFile(
      file,
      "import { defineConfig } from 'castellan';\nexport default defineConfig({ oauth: { acessTokenTtlSeconds: 60 } });\n",
    );
    const { stderr } = await serveFails(place);
    assert.match(stderr, /oauth\.acessTokenTtlSeconds: unknown field/);
  });

  it('names a field of the wrong kind', async () => {
    await using stack = new AsyncDisposableStack();
    const place = await bookshop(stack);
    await writeFile(
      join(place.folder, 'castellan.config.ts'),
      "export default { listen: { port: '80' } };\n",
    );
    const { stderr } = await serveFails(place);
    assert.match(stderr, /listen\.port: .*expected number/);
  });

  it('names unknown privileges, tools and dataClasses in roles.json, with their place', async () => {
    await using stack = new AsyncDisposableStack();
    const place = await bookshop(stack);
    const file = join(place.folder, 'roles.json');
    const roles = JSON.parse(await readFile(file, 'utf8')) as {
      roles: { privileges: string[] }[];
      permissions: { allowed: Record<string, unknown>[] };
    };
    roles.roles[0]?.privileges.push('catalogWriter');
    roles.permissions.allowed.push({ applyTo: 'books-burn', type: 'tool', execute: [] });
    roles.permissions.allowed.push({ applyTo: 'Order', type: 'dataClass', read: [] });
    await writeFile(file, JSON.stringify(roles));
    const { stderr } = await serveFails(place);
    assert.match(stderr, /roles\[0\]\.privileges: unknown privilege "catalogWriter"/);
    assert.match(stderr, /permissions\.allowed\[7\]\.applyTo: unknown tool "books-burn"/);
    assert.match(stderr, /permissions\.allowed\[8\]\.applyTo: unknown dataClass "Order"/);
  });

  it('says that its port is taken, and by what to get around it', async () => {
    await using stack = new AsyncDisposableStack();
    const place = await bookshop(stack);
    const other = createServer();
    const listening = Promise.withResolvers<void>();
    other.listen(0, '127.0.0.1', listening.resolve);
    await listening.promise;
    stack.defer(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const { stderr } = await serveFails(place, ['--port', String(port)]);
    assert.match(stderr, new RegExp(`Another program listens on 127\\.0\\.0\\.1:${port}`));
    assert.match(stderr, /--port/);
  });

  it('leaves a state store of a newer version as it is', async () => {
    await using stack = new AsyncDisposableStack();
    const place = await bookshop(stack);
    assert.equal((await runCastellan(place, ['migrate'])).code, 0);
    const file = join(place.folder, '.castellan', 'state.db');
    const database = new DatabaseSync(file);
    database.exec('UPDATE schema_version SET version = 99');
    database.close();
    const { stderr } = await serveFails(place);
    assert.match(stderr, /The state store is of version 99; this program knows version \d+/);
    const after = new DatabaseSync(file, { readOnly: true });
    assert.equal(after.prepare('SELECT version FROM schema_version').get()?.['version'], 99);
    after.close();
  });

  it('does not use keys that others on the machine can read, and leaves them as they are', async () => {
    await using stack = new AsyncDisposableStack();
    const place = await bookshop(stack);
    assert.equal((await runCastellan(place, ['migrate'])).code, 0);
    const file = join(place.folder, 'keys', 'castellan.json');
    const before = await readFile(file, 'utf8');
    await chmod(file, 0o644);
    const { stderr } = await serveFails(place);
    assert.match(stderr, /Others on this machine can read the keys/);
    assert.match(stderr, /chmod 600/);
    assert.equal(await readFile(file, 'utf8'), before);
  });

  it('does not make new keys in place of broken ones', async () => {
    await using stack = new AsyncDisposableStack();
    const place = await bookshop(stack);
    assert.equal((await runCastellan(place, ['migrate'])).code, 0);
    const file = join(place.folder, 'keys', 'castellan.json');
    await writeFile(file, '{"version":1', { mode: 0o600 });
    const { stderr } = await serveFails(place);
    assert.match(stderr, /cannot be used: it is not JSON/);
    assert.equal(await readFile(file, 'utf8'), '{"version":1');
  });
});

describe('a tool file that throws while loading', () => {
  it('is named in the log, and the others serve', async () => {
    await using stack = new AsyncDisposableStack();
    const place = await bookshop(stack);
    await writeFile(
      join(place.folder, 'tools', 'broken.ts'),
      "throw new Error('no such table: authors');\n",
    );
    await writeFile(
      join(place.folder, 'tools', 'clash.ts'),
      await readFile(join(place.folder, 'tools', 'books-get.ts')),
    );
    const server = stack.use(await serveProject(place, 0));
    const home = await (await fetch(server.url)).text();
    assert.match(home, /7 tools/);
    const log = server.output();
    assert.match(
      log,
      /"tools\.rejected","file":"broken\.ts","reason":"it threw while loading: no such table: authors"/,
    );
    assert.match(
      log,
      /"file":"clash\.ts","reason":"books-get\.ts already defines a tool named books-get"/,
    );
  });
});
