import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { borrowDatabase, type BorrowedDatabase } from '../support/test-database.ts';
import { cliAudit, ENGINES, EVIL_NAME, makeProject, seed } from './support.ts';

interface GrantJson {
  id: string;
  user: string;
  status: string;
  revokedReason: string | null;
}

// Held for the file, so that its PostgreSQL starts once.
let held: BorrowedDatabase;
before(async () => {
  held = await borrowDatabase();
});
after(() => held[Symbol.asyncDispose]());

for (const engine of ENGINES) {
  describe(`grants list on ${engine}`, () => {
    it('is JSON of the documented shape', async () => {
      await using project = await makeProject({ engine });
      const { anaEvil } = await seed(project);
      const grants = await project.json<GrantJson[]>(['grants', 'list']);
      assert.deepEqual(grants.map((one) => `${one.user} ${one.status}`).toSorted(), [
        'ana active',
        'ana active',
        'ben active',
        'ben expired',
      ]);
      assert.deepEqual(
        grants.find((one) => one.id === anaEvil.id),
        {
          id: anaEvil.id,
          user: 'ana',
          clientId: 'cli_evil',
          clientName: EVIL_NAME,
          redirectHost: 'app.example',
          privileges: ['reader'],
          createdAt: new Date(anaEvil.createdAt).toISOString(),
          lastUsedAt: null,
          lastUsedIp: null,
          expiresAt: new Date(anaEvil.expiresAt).toISOString(),
          status: 'active',
          revokedReason: null,
        },
      );
    });
  });

  describe(`grants revoke on ${engine}`, () => {
    it('ends grants by id, once however often one is named', async () => {
      await using project = await makeProject({ engine });
      const { anaGood, store } = await seed(project);
      const ids = [anaGood.id, anaGood.id];
      assert.deepEqual(await project.json(['grants', 'revoke', ...ids]), {
        revoked: [
          {
            id: anaGood.id,
            user: 'ana',
            clientId: 'cli_good',
            clientName: 'Good client',
            tokens: 2,
          },
        ],
        tokens: 2,
        dryRun: false,
        unknown: [],
      });
      const left = await store.db.selectFrom('tokens').select('digest').execute();
      assert.deepEqual(
        left.map((token) => token.digest),
        ['evil'],
      );
      assert.deepEqual(await cliAudit(store), ['grant.revoked ana']);
      const again = await project.cli(['grants', 'revoke', anaGood.id]);
      assert.equal(again.code, 3);
      assert.match(again.stderr, /was revoked before \(administrator\)/);
    });

    it('ends what a user allowed one client, or all clients', async () => {
      await using project = await makeProject({ engine });
      const { anaEvil, anaGood } = await seed(project);
      const one = await project.json<{ revoked: { id: string }[] }>([
        'grants',
        'revoke',
        '--user',
        'ana',
        '--client',
        'cli_evil',
      ]);
      assert.deepEqual(
        one.revoked.map(({ id }) => id),
        [anaEvil.id],
      );
      const rest = await project.json<{ revoked: { id: string }[] }>([
        'grants',
        'revoke',
        '--user',
        'ana',
      ]);
      assert.deepEqual(
        rest.revoked.map(({ id }) => id),
        [anaGood.id],
      );
      assert.equal((await project.cli(['grants', 'revoke', '--user', 'ana'])).code, 3);
      assert.equal((await project.cli(['grants', 'revoke', '--user', 'zoe'])).code, 3);
    });

    it('shows the same with --dry-run and changes nothing', async () => {
      await using project = await makeProject({ engine });
      const { store } = await seed(project);
      const before = await store.db.selectFrom('grants').selectAll().orderBy('id').execute();
      const planned = await project.json<{ dryRun: boolean }>([
        'grants',
        'revoke',
        '--all',
        '--dry-run',
      ]);
      assert.deepEqual(
        await store.db.selectFrom('grants').selectAll().orderBy('id').execute(),
        before,
      );
      assert.deepEqual(await cliAudit(store), []);
      const text = await project.cli(['grants', 'revoke', '--all', '--dry-run']);
      assert.match(
        text.stdout,
        /Nothing was changed\. Without --dry-run: 3 grants revoked; 3 tokens/,
      );
      const done = await project.json<{ dryRun: boolean }>(['grants', 'revoke', '--all', '--yes']);
      assert.deepEqual(planned, { ...done, dryRun: true });
      assert.equal(done.dryRun, false);
      assert.equal((await cliAudit(store)).length, 3);
    });
  });
}

describe('grants list and show', () => {
  it('narrow the list by user and client, whatever the case of the name', async () => {
    await using project = await makeProject();
    const { anaGood } = await seed(project);
    const grants = await project.json<GrantJson[]>([
      'grants',
      'list',
      '--user',
      'ANA',
      '--client',
      'cli_good',
    ]);
    assert.deepEqual(
      grants.map((one) => one.id),
      [anaGood.id],
    );
    const unknown = await project.cli(['grants', 'list', '--user', 'zoe', '--json']);
    assert.equal(unknown.code, 3);
    assert.equal(unknown.stdout, '');
    assert.match(unknown.stderr, /^castellan: There is no user "zoe"\nhint: /);
    assert.equal((await project.cli(['grants', 'list', '--client', 'cli_none'])).code, 3);
  });

  it('show everything about one', async () => {
    await using project = await makeProject();
    const { anaGood } = await seed(project);
    const shown = await project.json<Record<string, unknown>>(['grants', 'show', anaGood.id]);
    assert.equal(shown['tokens'], 2);
    assert.deepEqual(shown['offered'], ['reader', 'writer']);
    assert.equal(shown['redirectUri'], 'https://app.example/callback');
    assert.equal(shown['clientStatus'], 'active');
    const { code, stdout } = await project.cli(['grants', 'show', anaGood.id]);
    assert.equal(code, 0);
    assert.match(stdout, /^Live tokens\s+2$/m);
    assert.equal((await project.cli(['grants', 'show', 'gr_none'])).code, 3);
  });
});

describe('grants revoke', () => {
  it('revokes the known ids when others are unknown, and says so', async () => {
    await using project = await makeProject();
    const { anaGood, store } = await seed(project);
    const mixed = await project.cli(['grants', 'revoke', 'gr_typo', anaGood.id]);
    assert.equal(mixed.code, 1);
    assert.match(mixed.stdout, /1 grant revoked; 2 tokens died with it\./);
    assert.match(mixed.stderr, /^castellan: There is no grant "gr_typo"\n/);
    assert.deepEqual(await cliAudit(store), ['grant.revoked ana']);
    const unknown = await project.cli(['grants', 'revoke', 'gr_typo', '--json']);
    assert.equal(unknown.code, 3);
    assert.deepEqual(JSON.parse(unknown.stdout), {
      revoked: [],
      tokens: 0,
      dryRun: false,
      unknown: ['gr_typo'],
    });
  });

  it('asks before --all, and refuses where nobody can answer', async () => {
    await using project = await makeProject();
    const { store } = await seed(project);
    const refused = await project.cli(['grants', 'revoke', '--all'], { input: 'y\n' });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /--yes/);
    assert.deepEqual(await cliAudit(store), []);
  });

  it('refuses combinations that could revoke more than was meant', async () => {
    await using project = await makeProject();
    const { anaGood, store } = await seed(project);
    const wrong = [
      [],
      [anaGood.id, '--user', 'ana'],
      [anaGood.id, '--all', '--yes'],
      ['--all', '--yes', '--client', 'cli_good'],
      ['--user'],
    ];
    for (const args of wrong) {
      const { code, stdout, stderr } = await project.cli(['grants', 'revoke', ...args]);
      assert.equal(code, 2, args.join(' '));
      assert.equal(stdout, '');
      assert.match(stderr, /^castellan: /);
    }
    assert.deepEqual(await cliAudit(store), []);
  });
});

describe('names of clients', () => {
  it('cannot steer the terminal, and stay what they are in JSON', async () => {
    await using project = await makeProject();
    const { anaEvil } = await seed(project);
    const listed = await project.cli(['grants', 'list', '--client', 'cli_evil']);
    const shown = await project.cli(['grants', 'show', anaEvil.id]);
    const json = await project.cli(['grants', 'show', anaEvil.id, '--json']);
    const revoked = await project.cli(['grants', 'revoke', anaEvil.id]);
    for (const { stdout } of [listed, shown, json, revoked]) {
      assert.doesNotMatch(stdout, /[^\P{C}\n]/u);
    }
    const rows = listed.stdout.trimEnd().split('\n');
    assert.equal(rows.length, 3);
    assert.match(
      rows[1] ?? '',
      /Evil\\x1b\[2J\\x1b\[31m\\u\{202e\}gnp\.exe\\x0aana  active\\x9b1m/,
    );
    assert.equal((JSON.parse(json.stdout) as { clientName: string }).clientName, EVIL_NAME);
  });
});
