import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { homeSteps, shellQuote, slugOf, type AppSteps } from '#src/http/home-steps.ts';
import { textsFor } from '#src/http/language.ts';
import { hostileWords } from '../support/hostile-words.ts';
import { temporaryFolder } from '../support/temp.ts';

const run = promisify(execFile);
const mcpUrl = 'https://sales.example.com/mcp';
const names = [
  'Sales',
  `O'Brien & Söhne`,
  '$(id) `id`',
  '日本語',
  '-rf /',
  ...Object.values(hostileWords),
];

/** What a POSIX shell makes of a command line: the words that the command would be given. */
async function shellWords(commandLine: string, folder: string): Promise<string[]> {
  const script = `show() { printf '%s\\0' "$@"; }\nshow ${commandLine}`;
  const { stdout, stderr } = await run('sh', ['-c', script], { cwd: folder });
  assert.equal(stderr, '');
  assert.deepEqual(await readdir(folder), [], 'no command was run');
  return stdout.split('\0').slice(0, -1);
}

function appOf(name: string, server: { name: string; mcpUrl: string }): AppSteps {
  const app = homeSteps(server, textsFor('en')).find((one) => one.name === name);
  assert.ok(app);
  return app;
}

function codeOf(app: AppSteps): string[] {
  return app.steps.flatMap(({ code }) => code ?? []);
}

describe('slugOf', () => {
  const cases: [name: string, slug: string][] = [
    ['Sales', 'sales'],
    ['The Book Shop, Ltd.', 'the-book-shop-ltd'],
    ['Zoë’s Café', 'zoe-s-cafe'],
    ['Ｗｉｄｅ ①', 'wide-1'],
    ['Продажи', 'castellan'],
    ['日本 Sales', 'sales'],
    ['--help', 'help'],
    ['../../etc/passwd', 'etc-passwd'],
    ['', 'castellan'],
    ['a'.repeat(100), 'a'.repeat(40)],
    [`${'a'.repeat(39)} b`, 'a'.repeat(39)],
  ];
  for (const [name, slug] of cases) {
    it(`${JSON.stringify(name).slice(0, 40)} is ${slug.slice(0, 40)}`, () => {
      assert.equal(slugOf(name), slug);
    });
  }

  it('is a plain word for any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        assert.match(slugOf(name), /^[a-z0-9]+(-[a-z0-9]+)*$/);
        assert.ok(slugOf(name).length <= 40);
      }),
    );
  });
});

describe('shellQuote', () => {
  it('leaves an address as people write it', () => {
    assert.equal(shellQuote(mcpUrl), mcpUrl);
  });

  it('makes a shell read exactly the text', async () => {
    await using folder = await temporaryFolder();
    const anything = fc.sample(fc.string({ unit: 'binary', maxLength: 30 }), 500);
    const nasty = [
      '',
      ' ',
      '~',
      '*',
      '?',
      '!',
      '#',
      '\\',
      '\n',
      "'",
      "''",
      '=x',
      '-n',
      '$HOME',
      '{a,b}',
    ];
    const words = [...nasty, ...names, ...anything]
      .map((word) => word.toWellFormed().replaceAll('\0', ''))
      // The words of one command line have room for 128 KiB each.
      .map((word) => word.slice(0, 10_000).toWellFormed());
    assert.deepEqual(await shellWords(words.map(shellQuote).join(' '), folder.path), words);
  });
});

describe('homeSteps', () => {
  it('names every app once, and shows the steps of the first', () => {
    const apps = homeSteps({ name: 'Sales', mcpUrl }, textsFor('en'));
    assert.deepEqual(
      apps.map(({ name }) => name),
      ['Claude', 'ChatGPT', 'VS Code', 'Cursor', 'Claude Code', 'MCP Inspector'],
    );
    assert.deepEqual(
      apps.filter(({ open }) => open).map(({ name }) => name),
      ['Claude'],
    );
  });

  for (const [origin, reachable] of [
    ['https://sales.example.com', true],
    ['http://sales.example.com', false],
    ['http://127.0.0.1:8420', false],
    ['https://localhost:8443', false],
    ['https://[::1]:8443', false],
  ] as const) {
    it(`${reachable ? 'warns of nothing' : 'warns those who come over the internet'} at ${origin}`, () => {
      const apps = homeSteps({ name: 'Sales', mcpUrl: `${origin}/mcp` }, textsFor('en'));
      const warned = apps.filter(({ warning }) => warning !== undefined).map(({ name }) => name);
      assert.deepEqual(warned, reachable ? [] : ['Claude', 'ChatGPT']);
    });
  }

  it('labels whatever is to be copied', () => {
    for (const { steps } of homeSteps({ name: 'Sales', mcpUrl }, textsFor('en'))) {
      for (const { code, label } of steps) assert.equal(code === undefined, label === undefined);
    }
  });

  for (const name of names) {
    const server = { name, mcpUrl };
    it(`gives a shell plain words for ${JSON.stringify(name).slice(0, 60)}`, async () => {
      await using folder = await temporaryFolder();
      const [vscode = ''] = codeOf(appOf('VS Code', server));
      const [command, option, json = '', ...rest] = await shellWords(vscode, folder.path);
      assert.deepEqual([command, option, rest], ['code', '--add-mcp', []]);
      assert.deepEqual(JSON.parse(json), { name: slugOf(name), type: 'http', url: mcpUrl });
      const [claude = ''] = codeOf(appOf('Claude Code', server));
      assert.deepEqual(await shellWords(claude, folder.path), [
        ...'claude mcp add --transport http --scope user'.split(' '),
        slugOf(name),
        mcpUrl,
      ]);
    });
  }

  // Ports and lengths change how base64 ends, and whether it has "+" and "/".
  for (const origin of [
    'https://a.example',
    'http://127.0.0.1:8420',
    'https://ab>?.example',
    'https://~~~~.example',
  ]) {
    it(`makes links and files that read back right for ${origin}`, () => {
      const server = { name: 'The Shop', mcpUrl: `${origin}/mcp` };
      const vscode = appOf('VS Code', server);
      const entry = { type: 'http', url: server.mcpUrl };
      const [scheme, query = ''] = (vscode.link ?? '').split('?');
      assert.equal(scheme, 'vscode:mcp/install');
      assert.deepEqual(JSON.parse(decodeURIComponent(query)), { name: 'the-shop', ...entry });
      assert.deepEqual(JSON.parse(codeOf(vscode)[1] ?? ''), { servers: { 'the-shop': entry } });

      const cursor = appOf('Cursor', server);
      const link = new URL(cursor.link ?? '');
      assert.equal(
        `${link.protocol}//${link.host}${link.pathname}`,
        'cursor://anysphere.cursor-deeplink/mcp/install',
      );
      assert.equal(link.searchParams.get('name'), 'the-shop');
      const config = Buffer.from(link.searchParams.get('config') ?? '', 'base64').toString();
      assert.deepEqual(JSON.parse(config), { url: server.mcpUrl });
      assert.deepEqual(JSON.parse(codeOf(cursor)[0] ?? ''), {
        mcpServers: { 'the-shop': { url: server.mcpUrl } },
      });
    });
  }
});
