import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { digest } from '#src/ids.ts';
import { findClient } from '#src/storage/clients.ts';
import { saveDocument } from '#src/storage/metadata-documents.ts';
import { borrowDatabase, type BorrowedDatabase } from '../support/test-database.ts';
import { cliAudit, ENGINES, EVIL_NAME, makeProject, seed } from './support.ts';

interface ClientJson {
  id: string;
  name: string;
  kind: string;
  redirectUris: string[];
  status: string;
  createdAt: string;
  lastUsedAt: string | null;
  grants: number;
}

const DOCUMENT = 'https://app.example/client.json';
const CALLBACK = 'https://sales.example/callback';

// Held for the file, so that its PostgreSQL starts once.
let held: BorrowedDatabase;
before(async () => {
  held = await borrowDatabase();
});
after(() => held[Symbol.asyncDispose]());

for (const engine of ENGINES) {
  describe(`clients on ${engine}`, () => {
    it('are listed in JSON of the documented shape, with their active grants', async () => {
      await using project = await makeProject({ engine });
      const { store } = await seed(project);
      const clients = await project.json<ClientJson[]>(['clients', 'list']);
      assert.deepEqual(clients.map((one) => `${one.id} ${one.grants}`).toSorted(), [
        'cli_evil 1',
        'cli_good 2',
      ]);
      const stored = await findClient(store.db, 'cli_good');
      assert.deepEqual(
        clients.find((one) => one.id === 'cli_good'),
        {
          id: 'cli_good',
          name: 'Good client',
          kind: 'registered',
          redirectUris: [],
          status: 'active',
          createdAt: new Date(stored?.createdAt ?? 0).toISOString(),
          lastUsedAt: null,
          grants: 2,
        },
      );
    });

    it('are blocked and unblocked, with a row each, and keep their grants', async () => {
      await using project = await makeProject({ engine });
      const { store } = await seed(project);
      const before = await store.db.selectFrom('grants').selectAll().orderBy('id').execute();
      const blocked = await project.cli(['clients', 'block', 'cli_good']);
      assert.equal(blocked.code, 0, blocked.stderr);
      assert.equal(
        blocked.stdout,
        'Good client is blocked. 2 active grants refused from now on.\n',
      );
      assert.match(blocked.stderr, /grants revoke --client cli_good/);
      const again = await project.cli(['clients', 'block', 'cli_good']);
      assert.deepEqual([again.code, again.stdout], [0, 'Good client was blocked before.\n']);
      const listed = await project.json<ClientJson[]>(['clients', 'list', '--status', 'blocked']);
      assert.deepEqual(
        listed.map((one) => [one.id, one.grants]),
        [['cli_good', 2]],
      );
      const unblocked = await project.json<ClientJson>(['clients', 'unblock', 'cli_good']);
      assert.deepEqual([unblocked.status, unblocked.grants], ['active', 2]);
      assert.match(
        (await project.cli(['clients', 'unblock', 'cli_good'])).stdout,
        /was not blocked/,
      );
      assert.deepEqual(await cliAudit(store), [
        'client.blocked Good client',
        'client.unblocked Good client',
      ]);
      assert.deepEqual(
        await store.db.selectFrom('grants').selectAll().orderBy('id').execute(),
        before,
      );
    });

    it('can be blocked ahead when they are documents that nobody has seen', async () => {
      await using project = await makeProject({ engine });
      const blocked = await project.json<ClientJson>(['clients', 'block', DOCUMENT]);
      assert.deepEqual(
        [blocked.id, blocked.kind, blocked.name, blocked.status, blocked.grants],
        [DOCUMENT, 'document', 'app.example', 'blocked', 0],
      );
      const { store } = await project.open();
      assert.equal((await findClient(store.db, DOCUMENT))?.status, 'blocked');
      const rows = (await cliAudit(store)).filter((row) => row.startsWith('client.'));
      assert.deepEqual(rows, ['client.added app.example', 'client.blocked app.example']);
      for (const id of ['cli_typo', 'https://app.example', 'http://app.example/client.json']) {
        assert.equal((await project.cli(['clients', 'block', id])).code, 3, id);
      }
    });

    it('show the redirect URIs of the copy of a document that was fetched last', async () => {
      await using project = await makeProject({ engine });
      await project.json(['clients', 'block', DOCUMENT]);
      const { store } = await project.open();
      const body = JSON.stringify({ client_id: DOCUMENT, redirect_uris: [CALLBACK] });
      const copy = { body, fetchedAt: 1, freshUntil: 2, failure: null };
      await saveDocument(store.db, DOCUMENT, copy);
      const [client] = await project.json<ClientJson[]>(['clients', 'list', '--kind', 'document']);
      assert.deepEqual(client?.redirectUris, [CALLBACK]);
    });

    it('are removed with every grant and token, and stay in the audit log', async () => {
      await using project = await makeProject({ engine });
      const { store, anaGood, anaEvil, benGood } = await seed(project);
      await project.json(['clients', 'block', 'cli_good']);
      const removed = await project.json<{ revoked: { id: string; tokens: number }[] }>([
        'clients',
        'remove',
        'cli_good',
        '--yes',
      ]);
      assert.deepEqual(
        removed.revoked.map(({ id }) => id).toSorted(),
        [anaGood.id, benGood.id].toSorted(),
      );
      assert.deepEqual(
        { ...removed, revoked: [] },
        { id: 'cli_good', name: 'Good client', removed: true, revoked: [], tokens: 2 },
      );
      assert.equal(await findClient(store.db, 'cli_good'), undefined);
      const left = await store.db.selectFrom('tokens').select('grant_id').execute();
      assert.deepEqual(
        left.map((token) => token.grant_id),
        [anaEvil.id],
      );
      assert.equal((await project.cli(['clients', 'remove', 'cli_good', '--yes'])).code, 3);
      const audit = await store.db
        .selectFrom('audit')
        .select(['action', 'client_id', 'detail'])
        .where('actor', '=', 'cli')
        .orderBy('seq')
        .execute();
      assert.deepEqual(
        audit.map((row) => `${row.action} ${row.client_id}`),
        [
          'client.blocked cli_good',
          'grant.revoked cli_good',
          'grant.revoked cli_good',
          'client.removed cli_good',
        ],
      );
      assert.match(audit[1]?.detail ?? '', /client_removed/);
    });

    it('are added for an app, public or with a secret of which the digest is stored', async () => {
      await using project = await makeProject({ engine });
      const uris = [CALLBACK, 'http://localhost/callback'];
      const options = uris.flatMap((uri) => ['--redirect-uri', uri]);
      const open = await project.json<ClientJson>(['clients', 'add', 'Sales app', ...options]);
      const { id, createdAt, ...rest } = open;
      assert.match(id, /^cli_[0-9a-f]{30}$/);
      assert.match(createdAt, /Z$/);
      assert.deepEqual(rest, {
        name: 'Sales app',
        kind: 'static',
        redirectUris: uris,
        status: 'active',
        lastUsedAt: null,
        grants: 0,
      });
      const keeper = await project.json<ClientJson & { secret: string }>([
        'clients',
        'add',
        'Keeper',
        '--secret',
        '--redirect-uri',
        CALLBACK,
      ]);
      assert.match(keeper.secret, /^[\w-]{43}$/);
      const { store } = await project.open();
      const stored = await findClient(store.db, keeper.id);
      assert.equal(stored?.secretDigest, digest(keeper.secret));
      assert.deepEqual(
        [stored?.metadata['token_endpoint_auth_method'], stored?.metadata['grant_types']],
        ['client_secret_basic', ['authorization_code', 'refresh_token']],
      );
      const shown = await project.cli(['clients', 'show', keeper.id, '--json']);
      assert.equal((JSON.parse(shown.stdout) as ClientJson).id, keeper.id);
      const list = await project.cli(['clients', 'list', '--json']);
      for (const text of [shown.stdout, list.stdout]) {
        assert.ok(!text.includes(keeper.secret) && !text.includes(digest(keeper.secret)));
      }
      const rows = (await cliAudit(store)).filter((row) => row.startsWith('client.'));
      assert.deepEqual(rows, ['client.added Sales app', 'client.added Keeper']);
    });

    it('are added for a resource server, always with a secret', async () => {
      await using project = await makeProject({ engine });
      const added = await project.cli(['clients', 'add', 'Billing', '--resource-server']);
      assert.equal(added.code, 0, added.stderr);
      assert.match(added.stdout, /^Client +Billing\nClient id +cli_\w+\nSecret +[\w-]{43}\n$/);
      assert.match(added.stderr, /not shown again.*\n.*introspect/);
      const [listed] = await project.json<ClientJson[]>([
        'clients',
        'list',
        '--kind',
        'resource-server',
      ]);
      assert.deepEqual([listed?.name, listed?.redirectUris], ['Billing', []]);
    });
  });
}

describe('clients add', () => {
  it('refuses what registration would refuse, naming it', async () => {
    await using project = await makeProject();
    const wrong: [args: string[], expected: RegExp][] = [
      [['App'], /hint: .*--redirect-uri/],
      [['App', '--redirect-uri', 'http://app.example/cb'], /http:\/\/app\.example\/cb must be/],
      [['App', '--redirect-uri', CALLBACK, '--redirect-uri', 'javascript:x'], /javascript:x must/],
      [['App', '--redirect-uri', `${CALLBACK}#x`], /fragment/],
      [['App', '--redirect-uri', 'custom://cb'], /private-use scheme/],
      [['API', '--resource-server', '--redirect-uri', CALLBACK], /sends nobody back/],
      [['', '--redirect-uri', CALLBACK], /1 to 60/],
      [['x'.repeat(61), '--redirect-uri', CALLBACK], /1 to 60/],
      [['App\u202e', '--redirect-uri', CALLBACK], /1 to 60/],
    ];
    for (const [args, expected] of wrong) {
      const { code, stdout, stderr } = await project.cli(['clients', 'add', ...args]);
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.match(stderr, expected);
    }
    const many = Array.from({ length: 21 }, (_, at) => ['--redirect-uri', `${CALLBACK}/${at}`]);
    assert.equal((await project.cli(['clients', 'add', 'App', ...many.flat()])).code, 1);
    assert.deepEqual(await project.json(['clients', 'list']), []);
  });
});

describe('clients', () => {
  it('show everything about one', async () => {
    await using project = await makeProject();
    await seed(project);
    const shown = await project.json<Record<string, unknown>>(['clients', 'show', 'cli_good']);
    assert.deepEqual([shown['grants'], shown['tokens'], shown['metadata']], [2, 2, {}]);
    assert.match((await project.cli(['clients', 'show', 'cli_good'])).stdout, /^Live tokens +2$/m);
  });

  it('are 3 when there is none with the id, and 2 for filters that do not exist', async () => {
    await using project = await makeProject();
    await seed(project);
    for (const command of ['show', 'block', 'unblock', 'remove']) {
      const { code, stderr } = await project.cli(['clients', command, 'cli_typo']);
      assert.equal(code, 3, command);
      assert.match(stderr, /^castellan: There is no client with the id "cli_typo"\nhint: /);
    }
    assert.equal((await project.cli(['clients', 'list', '--kind', 'other'])).code, 2);
    assert.equal((await project.cli(['clients', 'list', '--status', 'gone'])).code, 2);
  });

  it('are removed without a question only with --yes', async () => {
    await using project = await makeProject();
    await seed(project);
    const { code, stderr } = await project.cli(['clients', 'remove', 'cli_good'], { input: 'y\n' });
    assert.equal(code, 2);
    assert.match(stderr, /--yes/);
    assert.equal((await project.json<unknown[]>(['clients', 'list'])).length, 2);
  });

  it('cannot steer the terminal by their names', async () => {
    await using project = await makeProject();
    await seed(project);
    const steps = [
      ['list'],
      ['show', 'cli_evil'],
      ['block', 'cli_evil'],
      ['block', 'cli_evil'],
      ['unblock', 'cli_evil'],
      ['unblock', 'cli_evil'],
      ['show', 'cli_evil', '--json'],
      ['remove', 'cli_evil', '--yes'],
    ];
    const said: string[] = [];
    for (const args of steps) {
      const { code, stdout } = await project.cli(['clients', ...args]);
      assert.equal(code, 0);
      assert.doesNotMatch(stdout, /[^\P{C}\n]/u, args.join(' '));
      said.push(stdout);
    }
    assert.equal((JSON.parse(said[6] ?? '') as ClientJson).name, EVIL_NAME);
    assert.match(said[7] ?? '', /Evil\\x1b\[2J.* is removed\.\n$/);
  });
});
