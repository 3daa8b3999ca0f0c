import assert from 'node:assert/strict';
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { borrowDatabase, type BorrowedDatabase } from '../support/test-database.ts';
import { ENGINES, makeProject, seed } from './support.ts';

interface KeyJson {
  kid: string;
  status: string;
  createdAt: string;
  retiresAt: string | null;
}

interface RotationJson {
  kid: string;
  retired: string[];
  retiresAt: string | null;
  tokens: number;
}

const SERVE = ['serve', '--port', '0'];

// Held for the file, so that its PostgreSQL starts once.
let held: BorrowedDatabase;
before(async () => {
  held = await borrowDatabase();
});
after(() => held[Symbol.asyncDispose]());

for (const engine of ENGINES) {
  describe(`keys on ${engine}`, () => {
    it('retire slowly, or are dropped at once with the tokens that they signed', async () => {
      await using project = await makeProject({ engine });
      await seed(project);
      const [first] = await project.json<KeyJson[]>(['keys', 'list']);
      const slow = await project.json<RotationJson>(['keys', 'rotate']);
      assert.deepEqual(slow.retired, [first?.kid]);
      assert.equal(slow.tokens, 0);
      assert.deepEqual(
        (await project.json<KeyJson[]>(['keys', 'list'])).map((key) => [
          key.kid,
          key.status,
          key.retiresAt,
        ]),
        [
          [first?.kid, 'retiring', slow.retiresAt],
          [slow.kid, 'active', null],
        ],
      );
      const fast = await project.json<RotationJson>(['keys', 'rotate', '--now']);
      assert.deepEqual(new Set(fast.retired), new Set([first?.kid, slow.kid]));
      assert.equal(fast.tokens, 1);
      const left = await project.json<KeyJson[]>(['keys', 'list']);
      assert.deepEqual(
        left.map((key) => key.kid),
        [fast.kid],
      );
    });

    it('rotated several times at once lose none', async () => {
      await using project = await makeProject({ engine });
      await project.json(['keys', 'list']);
      const rotations = await Promise.all(
        Array.from({ length: 3 }, () => project.json<RotationJson>(['keys', 'rotate'])),
      );
      const listed = await project.json<KeyJson[]>(['keys', 'list']);
      const path = join(project.folder, 'keys', 'castellan.json');
      const file = JSON.parse(await readFile(path, 'utf8')) as {
        signing: { kid: string; status: string }[];
      };
      const kids = new Set(file.signing.map((key) => key.kid));
      assert.equal(kids.size, 4);
      for (const { kid } of rotations) assert.ok(kids.has(kid));
      assert.deepEqual(new Set(listed.map((key) => key.kid)), kids);
      const active = listed.filter((key) => key.status === 'active').map((key) => key.kid);
      assert.deepEqual(
        active,
        file.signing.filter((key) => key.status === 'active').map((key) => key.kid),
      );
      assert.equal(active.length, 1);
    });

    it('that are elsewhere are not replaced by new ones, unless they are lost', async () => {
      await using project = await makeProject({ engine });
      const [first] = await project.json<KeyJson[]>(['keys', 'list']);
      await rm(join(project.folder, 'keys'), { recursive: true });
      const refused = await project.cli(['grants', 'list']);
      assert.equal(refused.code, 1);
      assert.match(
        refused.stderr,
        /written with keys that are not in .*\nhint: Copy keys\/castellan\.json/,
      );
      await assert.rejects(stat(join(project.folder, 'keys')), { code: 'ENOENT' });
      const anew = await project.json<RotationJson>(['keys', 'rotate', '--now']);
      assert.ok(anew.retired.includes(first?.kid ?? ''));
      const left = await project.json<KeyJson[]>(['keys', 'list']);
      assert.deepEqual(
        left.map((key) => key.kid),
        [anew.kid],
      );
    });

    it('of another project are refused by every command, and leave no trace', async () => {
      await using project = await makeProject({ engine });
      await using other = await makeProject();
      await other.json(['keys', 'list']);
      const CASTELLAN_KEYS = await readFile(join(other.folder, 'keys/castellan.json'), 'utf8');
      const own = await project.json<KeyJson[]>(['keys', 'list']);
      for (const args of [['grants', 'list'], ['keys', 'list'], ['users', 'list'], SERVE]) {
        const { code, stdout, stderr } = await project.cli(args, { env: { CASTELLAN_KEYS } });
        assert.deepEqual([code, stdout], [1, ''], args.join(' '));
        assert.match(
          stderr,
          /keys that are not in CASTELLAN_KEYS\nhint: Set it to the keys of this/,
        );
      }
      assert.deepEqual(await project.json(['keys', 'list']), own);
      // The same in the file. Only a rotation that drops what was there goes on from it.
      await writeFile(join(project.folder, 'keys/castellan.json'), CASTELLAN_KEYS);
      const refused = await project.cli(SERVE);
      assert.match(refused.stderr, /written with keys that are not in .*keys\nhint: Copy/);
      assert.equal((await project.cli(['keys', 'rotate'])).code, 1);
      const anew = await project.json<RotationJson>(['keys', 'rotate', '--now']);
      assert.ok(anew.retired.includes(own[0]?.kid ?? ''));
    });

    it('that a killed rotation left retire with the next one; looking does not add them', async () => {
      await using project = await makeProject({ engine });
      const own = await project.json<KeyJson[]>(['keys', 'list']);
      const path = join(project.folder, 'keys/castellan.json');
      const file = JSON.parse(await readFile(path, 'utf8')) as { signing: { kid: string }[] };
      const left = { ...file.signing[0], kid: 'k_left' };
      const old = { ...file.signing[0], status: 'retiring' };
      await writeFile(path, JSON.stringify({ ...file, signing: [left, old] }));
      assert.deepEqual(await project.json(['keys', 'list']), own);
      const { retired } = await project.json<RotationJson>(['keys', 'rotate']);
      assert.deepEqual(new Set(retired), new Set(['k_left', own[0]?.kid]));
    });
  });
}

describe('keys', () => {
  it('are made by the first command, readable by their owner alone', async () => {
    await using project = await makeProject();
    const keys = await project.json<KeyJson[]>(['keys', 'list']);
    assert.equal(keys.length, 1);
    assert.deepEqual(Object.keys(keys[0] ?? {}), ['kid', 'status', 'createdAt', 'retiresAt']);
    const { mode } = await stat(join(project.folder, 'keys', 'castellan.json'));
    assert.equal(mode & 0o777, 0o600);
  });

  it('are shown in a table, never their secrets', async () => {
    await using project = await makeProject();
    const rotated = await project.cli(['keys', 'rotate']);
    assert.match(
      rotated.stdout,
      /^k_\S+ signs from now on\.\nk_\S+ verifies until \S+ \S+ UTC\.\n$/,
    );
    const dropped = await project.cli(['keys', 'rotate', '--now']);
    assert.match(dropped.stdout, /dropped; 0 access tokens died with it/);
    const listed = await project.cli(['keys', 'list']);
    assert.match(listed.stdout, /^KEY +STATUS +CREATED \(UTC\) +RETIRES \(UTC\)\nk_\S+ +active /);
    const file = JSON.parse(
      await readFile(join(project.folder, 'keys', 'castellan.json'), 'utf8'),
    ) as {
      signing: { secret: string }[];
      audit: string;
    };
    const printed = [rotated, dropped, listed]
      .map(({ stdout, stderr }) => stdout + stderr)
      .join('');
    for (const secret of [file.audit, ...file.signing.map((key) => key.secret)]) {
      assert.ok(!printed.includes(secret));
    }
  });

  it('from the environment are listed and not rotated', async () => {
    await using project = await makeProject();
    await project.json(['keys', 'list']);
    const env = {
      CASTELLAN_KEYS: await readFile(join(project.folder, 'keys', 'castellan.json'), 'utf8'),
    };
    assert.equal((await project.json<KeyJson[]>(['keys', 'list'], { env })).length, 1);
    const { code, stdout, stderr } = await project.cli(['keys', 'rotate', '--now'], { env });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /CASTELLAN_KEYS, which this command cannot change\nhint: .*"signing"/);
  });

  it('that others can read stop every command', async () => {
    await using project = await makeProject();
    await project.json(['keys', 'list']);
    const path = join(project.folder, 'keys', 'castellan.json');
    await chmod(path, 0o644);
    for (const args of [
      ['grants', 'list'],
      ['keys', 'rotate'],
      ['migrate'],
      ['serve', '--port', '0'],
    ]) {
      const { code, stdout, stderr } = await project.cli(args);
      assert.equal(code, 1, args.join(' '));
      assert.equal(stdout, '');
      assert.match(stderr, new RegExp(`can read the keys .*\nhint: chmod 600 ${path}\n$`));
    }
  });
});
