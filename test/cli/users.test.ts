import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyPassword } from '#src/credentials/password.ts';
import { findUserByName } from '#src/storage/users.ts';
import { borrowDatabase, type BorrowedDatabase } from '../support/test-database.ts';
import { cliAudit, ENGINES, makeProject, PASSWORD, seed } from './support.ts';

// Held for the file, so that its PostgreSQL starts once.
let held: BorrowedDatabase;
before(async () => {
  held = await borrowDatabase();
});
after(() => held[Symbol.asyncDispose]());

for (const engine of ENGINES) {
  describe(`users on ${engine}`, () => {
    it('are added with roles and a password that works, and listed', async () => {
      await using project = await makeProject({ engine });
      const roles = ['--role', 'clerk', '--role', 'manager', '--role', 'clerk'];
      const added = await project.json<Record<string, unknown>>(
        ['users', 'add', 'Ana', ...roles, '--password-stdin'],
        { input: `${PASSWORD}\n` },
      );
      const [listed] = await project.json<Record<string, unknown>[]>(['users', 'list']);
      assert.deepEqual(added, listed);
      const { id, createdAt, ...rest } = added;
      assert.match(String(id), /^usr_/);
      assert.match(String(createdAt), /^\d{4}-\d\d-\d\dT.*Z$/);
      assert.deepEqual(rest, {
        name: 'Ana',
        roles: ['clerk', 'manager'],
        privileges: null,
        status: 'active',
        lastLoginAt: null,
      });
      const { store } = await project.open();
      const user = await findUserByName(store.db, 'ana');
      assert.ok(await verifyPassword(user?.passwordHash, PASSWORD));
      assert.deepEqual(await cliAudit(store), [
        `key.added ${await firstKey(project)}`,
        'user.added Ana',
      ]);
      const table = await project.cli(['users', 'list']);
      assert.match(
        table.stdout,
        /^NAME +ROLES +STATUS +CREATED \(UTC\) +LAST LOGIN \(UTC\)\nAna +clerk, manager +active /,
      );
    });

    it('get a new password, which ends their browser sessions', async () => {
      await using project = await makeProject({ engine });
      const { store } = await seed(project);
      const user = await findUserByName(store.db, 'ana');
      const session = {
        digest: 'd',
        uid_digest: 'u',
        user_id: user?.id ?? '',
        payload: '{}',
        expires_at: 9e12,
      };
      await store.db.insertInto('browser_sessions').values(session).execute();
      const changed = await project.cli(['users', 'passwd', 'ANA', '--password-stdin'], {
        input: `${PASSWORD}\r\n`,
      });
      assert.equal(changed.code, 0, changed.stderr);
      assert.match(changed.stderr, /grants revoke --user ana/);
      const after = await findUserByName(store.db, 'ana');
      assert.ok(await verifyPassword(after?.passwordHash, PASSWORD));
      assert.deepEqual(
        await store.db.selectFrom('browser_sessions').select('digest').execute(),
        [],
      );
    });

    it('lose their grants and tokens when they are disabled, for good', async () => {
      await using project = await makeProject({ engine });
      const { store, anaGood, anaEvil } = await seed(project);
      const disabled = await project.json<{ revoked: { id: string }[] }>([
        'users',
        'disable',
        'ana',
      ]);
      assert.deepEqual(
        disabled.revoked.map(({ id }) => id).toSorted(),
        [anaGood.id, anaEvil.id].toSorted(),
      );
      assert.deepEqual(
        { ...disabled, revoked: [] },
        { name: 'ana', status: 'disabled', revoked: [], tokens: 3 },
      );
      const enabled = await project.json<{ status: string }>(['users', 'enable', 'ana']);
      assert.equal(enabled.status, 'active');
      assert.match((await project.cli(['users', 'enable', 'ana'])).stdout, /was not disabled/);
      const grants = await project.json<{ status: string; revokedReason: string }[]>([
        'grants',
        'list',
        '--user',
        'ana',
      ]);
      assert.deepEqual(
        grants.map((one) => one.revokedReason),
        ['user_disabled', 'user_disabled'],
      );
      assert.deepEqual(await cliAudit(store), [
        'grant.revoked ana',
        'grant.revoked ana',
        'user.disabled ana',
        'user.enabled ana',
      ]);
    });

    it('are removed with everything that hangs on them', async () => {
      await using project = await makeProject({ engine });
      const { store, benGood } = await seed(project);
      const removed = await project.cli(['users', 'remove', 'ana', '--yes']);
      assert.equal(removed.code, 0);
      assert.match(
        removed.stdout,
        /2 grants revoked; 3 tokens died with them\.\nana is removed\.\n$/,
      );
      const left = await store.db
        .selectFrom('grants')
        .select('id')
        .where('revoked_at', 'is', null)
        .execute();
      assert.ok(left.some(({ id }) => id === benGood.id));
      assert.equal(await findUserByName(store.db, 'ana'), undefined);
      assert.equal((await project.cli(['users', 'remove', 'ana', '--yes'])).code, 3);
    });
  });
}

async function firstKey(project: { json<T>(args: string[]): Promise<T> }): Promise<string> {
  const [key] = await project.json<{ kid: string }[]>(['keys', 'list']);
  return key?.kid ?? '';
}

describe('users add', () => {
  const add = (name: string, ...more: string[]): string[] => [
    'users',
    'add',
    name,
    '--password-stdin',
    ...more,
  ];

  it('refuses a name that is taken, in whatever case or width', async () => {
    await using project = await makeProject();
    await seed(project);
    for (const name of ['ANA', 'ａｎａ']) {
      const { code, stderr } = await project.cli(add(name), { input: PASSWORD });
      assert.equal(code, 1, name);
      assert.match(stderr, /^castellan: There is already a user/);
    }
  });

  it('refuses names and roles that cannot be, naming the roles there are', async () => {
    await using project = await makeProject();
    for (const name of ['a b', '', '-x', 'x'.repeat(65), 'a\u202eb', '\ufdfa']) {
      assert.equal((await project.cli(add(name), { input: PASSWORD })).code, 2, name);
    }
    const { code, stderr } = await project.cli(add('ana', '--role', 'boss'), { input: PASSWORD });
    assert.equal(code, 2);
    assert.match(stderr, /no role "boss"\nhint: It has: clerk, manager\./);
    assert.deepEqual(await project.json(['users', 'list']), []);
  });

  it('refuses passwords that are weak, broken or endless', async () => {
    await using project = await makeProject();
    const cases: [string | Buffer, RegExp][] = [
      ['', /No password arrived on stdin\nhint: Pipe one line in/],
      ['\n', /at least 12/],
      ['eleven char\n', /at least 12/],
      ['anabelle-anabelle\n', /user name/],
      [`${PASSWORD}\n\n`, /one line/],
      [`two\nlines of text`, /one line/],
      [Buffer.from([0xff, ...Buffer.from(PASSWORD)]), /not UTF-8/],
      ['x'.repeat(5_000), /More than 4096/],
      ['x'.repeat(2_000), /at most 1024/],
    ];
    for (const [input, expected] of cases) {
      const { code, stdout, stderr } = await project.cli(add('anabelle-anabelle'), { input });
      assert.equal(code, 1, String(expected));
      assert.equal(stdout, '');
      assert.match(stderr, expected);
    }
    assert.deepEqual(await project.json(['users', 'list']), []);
  });

  it('takes the password as it is, but for one newline', async () => {
    await using project = await makeProject();
    await project.json(add('ana'), { input: ` ${PASSWORD} \n` });
    const { store } = await project.open();
    const user = await findUserByName(store.db, 'ana');
    assert.ok(await verifyPassword(user?.passwordHash, ` ${PASSWORD} `));
  });

  it('needs a terminal or --password-stdin, and takes no password as an argument', async () => {
    await using project = await makeProject();
    const silent = await project.cli(['users', 'add', 'ana'], { input: PASSWORD });
    assert.equal(silent.code, 2);
    assert.match(silent.stderr, /no terminal to ask at\nhint: .*--password-stdin/);
    assert.equal((await project.cli(['users', 'add', 'ana', PASSWORD])).code, 2);
    assert.equal((await project.cli(['users', 'add', 'ana', '--password', PASSWORD])).code, 2);
  });
});

describe('users remove', () => {
  it('refuses without --yes where nobody can answer', async () => {
    await using project = await makeProject();
    await seed(project);
    const { code, stderr } = await project.cli(['users', 'remove', 'ana'], { input: 'y\n' });
    assert.equal(code, 2);
    assert.match(stderr, /--yes/);
    assert.equal((await project.json<unknown[]>(['users', 'list'])).length, 2);
  });
});

describe('a name that nobody has', () => {
  it('is 3', async () => {
    await using project = await makeProject();
    for (const command of ['passwd', 'disable', 'enable', 'remove']) {
      const { code, stderr } = await project.cli(['users', command, 'zoe'], { input: PASSWORD });
      assert.equal(code, 3, command);
      assert.match(stderr, /There is no user "zoe"/);
    }
  });
});
