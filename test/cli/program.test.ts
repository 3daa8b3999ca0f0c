import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { cli, cliCommand, makeProject, seed } from './support.ts';

const COMMANDS = [
  ['serve'],
  ['init'],
  ...['add', 'list', 'passwd', 'disable', 'enable', 'remove'].map((name) => ['users', name]),
  ...['list', 'show', 'revoke'].map((name) => ['grants', name]),
  ...['list', 'show', 'add', 'block', 'unblock', 'remove'].map((name) => ['clients', name]),
  ...['list', 'close'].map((name) => ['sessions', name]),
  ...['list', 'rotate'].map((name) => ['keys', name]),
  ...['check', 'show'].map((name) => ['roles', name]),
  ['migrate'],
];

describe('castellan', () => {
  it('tells its version', async () => {
    const { version } = JSON.parse(
      await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as {
      version: string;
    };
    assert.deepEqual(await cli(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('shows help with examples for every command, on stdout', async () => {
    const help = await Promise.all(COMMANDS.map((command) => cli([...command, '--help'])));
    for (const [index, { code, stdout, stderr }] of help.entries()) {
      const command = COMMANDS[index]?.join(' ');
      assert.deepEqual([code, stderr], [0, ''], command);
      assert.match(stdout, new RegExp(`Examples:\n.*castellan ${command}`, 's'));
      assert.match(stdout, /--project <dir>/);
      assert.match(stdout, /--json/);
      assert.doesNotMatch(stdout, /default: (false|\[\])/, command);
      const [, about = ''] = stdout.split('\n\n');
      // The lines of a paragraph are as full as they can be.
      for (const [line, word] of about.matchAll(/.+(?=\n(\S+))/g)) {
        assert.ok(`${line} ${word}`.length > 80, `${command}: a line ends early: ${line}`);
      }
    }
  });

  it('is 2 for everything that is no command line, and leaves stdout empty', async () => {
    const wrong: [string[], RegExp][] = [
      [[], /^Usage: castellan /],
      [['users'], /^Usage: castellan users /],
      [['usrs'], /^castellan: unknown command 'usrs'\n\(Did you mean users\?\)/],
      [
        ['users', 'list', '--jsn'],
        /^castellan: unknown option '--jsn'\n\(Did you mean --json\?\)\nhint: castellan users list --help/,
      ],
      [['users', 'list', 'more'], /^castellan: too many arguments/],
      [['users', 'add'], /^castellan: missing required argument 'name'/],
      [
        ['users', 'list', '--project', ''],
        /^castellan: option '--project <dir>' argument '' is invalid/,
      ],
      [['serve', '--port', '65536'], /^castellan: option '--port <port>' .*from 0 to 65535/],
      [['serve', '--host', ''], /^castellan: option '--host <host>' .*An address is not empty/],
      [['grants', 'revoke', '\u001b[31mx', '--all'], /^castellan: /],
    ];
    for (const [args, expected] of wrong) {
      const { code, stdout, stderr } = await cli(args);
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.match(stderr, expected);
    }
  });

  it('takes --project and --json before and after the command', async () => {
    await using project = await makeProject();
    await seed(project);
    const before = await cli(['--project', project.folder, '--json', 'users', 'list']);
    const after = await cli(['users', 'list', '--json', '--project', project.folder]);
    assert.equal(before.code, 0);
    assert.equal(before.stdout, after.stdout);
    const inside = await cli(['users', '--json', 'list'], { cwd: project.folder });
    assert.equal(inside.stdout, after.stdout);
  });

  it('uses no colours unless stdout is a terminal', async () => {
    await using project = await makeProject();
    await seed(project);
    const { stdout } = await project.cli(['users', 'list']);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(stdout, /\x1b/);
  });

  it('does not mind a reader that goes away', async () => {
    await using project = await makeProject();
    await seed(project);
    const command = `${cliCommand(['users', 'list', '--project', project.folder])} | true; echo "\${PIPESTATUS[0]}"`;
    const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [out] = (await once(child.stdout, 'data')) as [Buffer];
    assert.equal(out.toString(), '0\n');
  });
});

const FULL = '/dev/full';

describe('a result that cannot be written', { skip: !existsSync(FULL) }, () => {
  for (const args of [['users', 'list'], ['users', 'list', '--json'], ['--help']]) {
    it(`fails castellan ${args.join(' ')}`, async () => {
      await using project = await makeProject();
      await seed(project);
      const command = `${cliCommand([...args, '--project', project.folder])} > ${FULL}`;
      const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'inherit', 'pipe'] });
      const said = text(child.stderr);
      const [code] = (await once(child, 'close')) as [number | null];
      assert.equal(code, 1);
      assert.match(await said, /^castellan: The result could not be written: ENOSPC.*\n$/);
    });
  }
});

describe('a project', () => {
  it('that is missing is named, with how to make one', async () => {
    const { code, stderr } = await cli(['users', 'list', '--project', '/nowhere']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^castellan: No castellan\.config\.ts or \.json in \/nowhere\nhint: .*castellan init DIR/,
    );
  });

  it('with misspelt or wrong fields is refused by every command, naming them', async () => {
    await using project = await makeProject({
      config: {
        listen: { port: 'eighty' as never },
        oauth: { acessTokenTtlSeconds: 3 } as never,
        sevrer: {},
      },
    });
    for (const args of [
      ['users', 'list'],
      ['roles', 'check'],
      ['serve', '--port', '0'],
    ]) {
      const { code, stdout, stderr } = await project.cli(args);
      assert.deepEqual([code, stdout], [1, ''], args.join(' '));
      assert.match(stderr, /listen\.port: .*number/);
      assert.match(stderr, /oauth\.acessTokenTtlSeconds: unknown field/);
      assert.match(stderr, /sevrer: unknown field/);
    }
  });

  it('whose configuration prints does not spoil the JSON', async () => {
    await using project = await makeProject();
    await using loud = await makeProject({
      files: { 'castellan.config.ts': 'console.log("hello"); export default {};' },
    });
    assert.deepEqual(await project.json(['users', 'list']), []);
    assert.deepEqual(await loud.json(['users', 'list']), []);
  });
});

describe('the environment', () => {
  it('with a log level that is none is refused, naming the levels', async () => {
    await using project = await makeProject();
    const env = { CASTELLAN_LOG_LEVEL: 'bogus' };
    for (const args of [
      ['users', 'list'],
      ['serve', '--port', '0'],
    ]) {
      const { code, stdout, stderr } = await project.cli(args, { env });
      assert.deepEqual([code, stdout], [1, ''], args.join(' '));
      assert.match(stderr, /^castellan: CASTELLAN_LOG_LEVEL is "bogus"[^]*\nhint: .*debug, info/);
    }
  });
});

describe('a fault of our own', () => {
  it('is one line, and a stack when it is asked for', async () => {
    await using project = await makeProject();
    const { store } = await seed(project);
    await store.db.schema.dropTable('tokens').execute();
    const args = ['grants', 'revoke', '--all', '--dry-run'];
    const short = await project.cli(args);
    assert.equal(short.code, 1);
    assert.match(
      short.stderr,
      /^castellan: no such table: tokens\nhint: CASTELLAN_LOG_LEVEL=debug .*\n$/,
    );
    const long = await project.cli(args, { env: { CASTELLAN_LOG_LEVEL: 'debug' } });
    assert.match(long.stderr, /\n {4}at /);
  });
});
