import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { temporaryFolder, type TemporaryFolder } from './temp.ts';
import { runTestFile } from './test-file.ts';

/** A test file, and what it must come to. */
interface Case {
  what: string;
  source: string;
  passed: number;
  failed: number;
  skipped: number;
  titles?: string[];
  /** How each test ended, where that is looked at. */
  ends?: string[];
  /** Must be told to whoever looks for the reason. */
  tells?: RegExp;
}

const cases: Case[] = [
  {
    what: 'counts leaves, not their parents',
    source: `
      test('alone', () => {});
      test('parent', async (t) => { await t.test('one', () => {}); await t.test('two', () => {}); });
      describe('suite', () => { it('three', () => {}); });
      describe('empty suite', () => {});`,
    passed: 4,
    failed: 0,
    skipped: 0,
  },
  {
    what: 'names a failed leaf and does not count its parents',
    source: `describe('suite', () => { it('inner', async (t) => {
      await t.test('good', () => {});
      await t.test('bad', () => { throw new Error('reason', { cause: new Error('root') }); });
    }); });`,
    passed: 1,
    failed: 1,
    skipped: 0,
    titles: ['suite > inner > bad'],
    ends: ['suite > inner > good passed', 'suite > inner > bad failed'],
    tells: /reason[^]*root/,
  },
  {
    what: 'counts a parent that fails by itself',
    source: `test('parent', async (t) => { await t.test('good', () => {}); throw new Error('own'); });`,
    passed: 1,
    failed: 1,
    skipped: 0,
    titles: ['parent'],
    tells: /own/,
  },
  {
    what: 'counts a hook that fails after good tests',
    source: `describe('suite', () => { after(() => { throw new Error('hook'); }); it('good', () => {}); });`,
    passed: 1,
    failed: 1,
    skipped: 0,
    titles: ['suite'],
    tells: /hook/,
  },
  {
    what: 'counts what is left out, failing or not',
    source: `
      it('good', () => {}); it.skip('left out', () => {}); it.todo('later');
      it('fails for now', { todo: true }, () => { throw new Error('expected'); });`,
    passed: 1,
    failed: 0,
    skipped: 3,
    ends: ['good passed', 'left out skipped', 'later skipped', 'fails for now skipped'],
  },
  {
    what: 'fails a file that cannot be loaded',
    source: `import './missing.ts';`,
    passed: 0,
    failed: 1,
    skipped: 0,
    titles: ['the file'],
    tells: /missing\.ts/,
  },
  {
    what: 'fails a file without a test',
    source: ``,
    passed: 0,
    failed: 1,
    skipped: 0,
    titles: ['the file'],
    tells: /no test/,
  },
  {
    what: 'fails a file that throws after its tests',
    source: `it('good', () => {}); setTimeout(() => { throw new Error('late'); }, 20);`,
    passed: 1,
    failed: 1,
    skipped: 0,
    titles: ['the file'],
    tells: /late/,
  },
  {
    what: 'fails a file that does not end',
    source: `it('good', () => {}); setInterval(() => {}, 1000);`,
    passed: 1,
    failed: 1,
    skipped: 0,
    titles: ['the file'],
    tells: /did not end within 2 s.*left open/,
  },
  {
    what: 'names the test that does not end',
    source: `describe('suite', () => { it('good', () => {}); it('waits', () => new Promise(() => {
      setInterval(() => {}, 1000); })); });`,
    passed: 1,
    failed: 1,
    skipped: 0,
    titles: ['the file'],
    tells: /did not end within 2 s.*suite > waits/,
  },
];

describe('running one test file', () => {
  let folder: TemporaryFolder;

  before(async () => {
    // Or the runner would refuse to run within a test.
    delete process.env['NODE_TEST_CONTEXT'];
    folder = await temporaryFolder();
    await mkdir(join(folder.path, 'test'));
  });
  after(() => folder[Symbol.asyncDispose]());

  for (const [
    index,
    { what, source, titles = [], tells = /^/, ends, ...counts },
  ] of cases.entries()) {
    it(what, async () => {
      const file = `test/${index}.test.mjs`;
      const imports = `import { after, describe, it, test } from 'node:test';\n`;
      await writeFile(join(folder.path, file), imports + source);
      const outcome = await runTestFile({
        root: folder.path,
        file,
        timeoutSeconds: 2,
        signal: new AbortController().signal,
      });
      const { passed, failed, skipped, failures, tests, output } = outcome;
      assert.deepEqual({ passed, failed, skipped }, counts, output);
      assert.deepEqual(
        failures.map(({ title }) => title),
        titles,
      );
      const told = tests.map(({ path, end }) => `${path.join(' > ')} ${end}`);
      if (ends !== undefined) assert.deepEqual(told, ends);
      assert.match(failures.map(({ text }) => text).join('\n') + output, tells);
    });
  }

  it('says where a test is written that another file declares', async () => {
    const shared = `import { it } from 'node:test';
      export const declare = () => it('bad', () => { throw new Error('reason'); });`;
    await writeFile(join(folder.path, 'test/shared.mjs'), shared);
    const file = 'test/declares.test.mjs';
    await writeFile(join(folder.path, file), `import { declare } from './shared.mjs'; declare();`);
    const outcome = await runTestFile({
      root: folder.path,
      file,
      timeoutSeconds: 2,
      signal: new AbortController().signal,
    });
    assert.deepEqual(
      outcome.failures.map(({ title, place }) => [title, place]),
      [['bad', 'test/shared.mjs:2']],
    );
  });
});
