import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import {
  createKeys,
  environmentKeys,
  fileKeys,
  readKeyFile,
  writeKeys,
  type KeyFile,
} from '#src/credentials/key-file.ts';
import { temporaryFolder } from '../support/temp.ts';
import { storedKey, testKeys } from './forge.ts';

const NOW = Date.UTC(2026, 10, 30, 12);
const GOOD: KeyFile = testKeys(storedKey('k1', 1)).file;
const run = promisify(execFile);

describe('new keys', () => {
  it('are a file that its owner alone can read, in a folder of that kind', async () => {
    await using folder = await temporaryFolder();
    const keys = join(folder.path, 'keys');
    assert.equal(await createKeys(keys, NOW), true);
    assert.equal((await stat(keys)).mode & 0o777, 0o700);
    assert.deepEqual(await readdir(keys), ['castellan.json']);
    assert.equal((await stat(join(keys, 'castellan.json'))).mode & 0o777, 0o600);
    const file = await fileKeys(keys).read();
    assert.equal(file.version, 1);
    assert.equal(file.signing.length, 1);
    assert.match(file.signing[0]?.kid ?? '', /^k_[A-Za-z0-9_-]{12}$/);
    assert.equal(file.signing[0]?.status, 'active');
    assert.equal(file.signing[0]?.createdAt, '2026-11-30T12:00:00.000Z');
    assert.notEqual(file.signing[0]?.secret, file.audit);
  });

  it('are 0600 also in a folder that is open, whatever the umask', async () => {
    await using folder = await temporaryFolder();
    await mkdir(join(folder.path, 'keys'));
    await chmod(join(folder.path, 'keys'), 0o777);
    const old = process.umask(0);
    try {
      await createKeys(join(folder.path, 'keys'), NOW);
    } finally {
      process.umask(old);
    }
    assert.equal((await stat(join(folder.path, 'keys/castellan.json'))).mode & 0o777, 0o600);
  });

  it('are made of the randomness that is given, 256 bits each', async () => {
    await using folder = await temporaryFolder();
    const sizes: number[] = [];
    await createKeys(folder.path, NOW, (size) => {
      sizes.push(size);
      return randomBytes(size);
    });
    assert.deepEqual(sizes, [9, 32, 32]);
  });

  it('never replace keys that are there, also broken ones', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'castellan.json'), 'broken');
    assert.equal(await createKeys(folder.path, NOW), false);
    assert.equal(await readFile(join(folder.path, 'castellan.json'), 'utf8'), 'broken');
  });

  it('are made once by any number that start together in one process', async () => {
    await using folder = await temporaryFolder();
    const made = await Promise.all(Array.from({ length: 10 }, () => createKeys(folder.path, NOW)));
    assert.equal(made.filter(Boolean).length, 1);
    assert.deepEqual(await readdir(folder.path), ['castellan.json']);
  });

  it('are made once by two processes, and both read the same', async () => {
    await using folder = await temporaryFolder();
    const code = `
      import { createKeys, fileKeys } from ${JSON.stringify(import.meta.resolve('#src/credentials/key-file.ts'))};
      const isNew = await createKeys(process.argv[1], Date.now());
      const file = await fileKeys(process.argv[1]).read();
      console.log(JSON.stringify({ isNew, kid: file.signing[0].kid }));`;
    const start = () => run(process.execPath, ['--input-type=module', '--eval', code, folder.path]);
    const outputs = await Promise.all([start(), start()]);
    const results = outputs.map(
      ({ stdout }) => JSON.parse(stdout) as { isNew: boolean; kid: string },
    );
    assert.equal(results.filter((one) => one.isNew).length, 1);
    assert.equal(results[0]?.kid, results[1]?.kid);
    assert.deepEqual(await readdir(folder.path), ['castellan.json']);
  });
});

describe('keys on disk', () => {
  const modes: [mode: number, allowed: boolean][] = [
    [0o600, true],
    [0o400, true],
    [0o640, false],
    [0o660, false],
    [0o604, false],
    [0o644, false],
    [0o601, false],
    [0o620, false],
  ];
  for (const [mode, allowed] of modes) {
    it(`with mode ${mode.toString(8)} are ${allowed ? 'read' : 'refused'}`, async () => {
      await using folder = await temporaryFolder();
      await writeKeys(folder.path, GOOD);
      const path = join(folder.path, 'castellan.json');
      await chmod(path, mode);
      const source = fileKeys(folder.path);
      if (allowed) {
        assert.deepEqual(await source.read(), GOOD);
        return;
      }
      const refusal = { code: 'keys_unsafe', hint: `chmod 600 ${path}` };
      await assert.rejects(source.read(), refusal);
      await assert.rejects(source.revision(), refusal);
    });
  }

  it('that are missing say where they were looked for', async () => {
    await using folder = await temporaryFolder();
    await assert.rejects(fileKeys(folder.path).read(), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'keys_invalid');
      assert.ok(error.message.includes(folder.path));
      return true;
    });
  });

  it('are replaced as a whole, with a new revision, and still for their owner alone', async () => {
    await using folder = await temporaryFolder();
    await writeKeys(folder.path, GOOD);
    const source = fileKeys(folder.path);
    const before = await source.revision();
    assert.equal(await source.revision(), before);
    const next = { ...GOOD, signing: [storedKey('k2', 2)] };
    await writeKeys(folder.path, next);
    assert.notEqual(await source.revision(), before);
    assert.deepEqual(await source.read(), next);
    assert.deepEqual(await readdir(folder.path), ['castellan.json']);
    assert.equal((await stat(join(folder.path, 'castellan.json'))).mode & 0o777, 0o600);
  });
});

describe('what a key file may hold', () => {
  const key = storedKey('k1', 1);
  const cases: [name: string, text: string, problem: RegExp][] = [
    ['nothing', '', /it is not JSON/],
    ['half of it', JSON.stringify(GOOD).slice(0, 50), /it is not JSON/],
    ['a list', '[]', /expected object/],
    ['another version', JSON.stringify({ ...GOOD, version: 2 }), /version: /],
    ['no key', JSON.stringify({ ...GOOD, signing: [] }), /signing: /],
    ['no audit key', JSON.stringify({ ...GOOD, audit: undefined }), /audit: /],
    ['an unknown field', JSON.stringify({ ...GOOD, x: 1 }), /"x"/],
    [
      'a short secret',
      JSON.stringify({ ...GOOD, signing: [{ ...key, secret: 'c2hvcnQ' }] }),
      /signing\.0\.secret: 32 bytes/,
    ],
    [
      'a kid that is a path',
      JSON.stringify({ ...GOOD, signing: [{ ...key, kid: '../x' }] }),
      /signing\.0\.kid: /,
    ],
    [
      'a status that is none',
      JSON.stringify({ ...GOOD, signing: [{ ...key, status: 'dropped' }] }),
      /signing\.0\.status: /,
    ],
  ];
  for (const [name, text, problem] of cases) {
    it(`is refused: ${name}`, () => {
      assert.throws(
        () => readKeyFile(text, 'CASTELLAN_KEYS'),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, 'keys_invalid');
          assert.match(error.message, /^The keys in CASTELLAN_KEYS cannot be used: /);
          assert.match(error.message, problem);
          assert.ok(!error.message.includes(key.secret), 'shows no secret');
          return true;
        },
      );
    });
  }

  it('may stand in the environment too, where it never changes', async () => {
    const source = environmentKeys(JSON.stringify(GOOD));
    assert.deepEqual(await source.read(), GOOD);
    assert.equal(await source.revision(), await source.revision());
    await assert.rejects(environmentKeys('{').read(), { code: 'keys_invalid' });
  });
});
