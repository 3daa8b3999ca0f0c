import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './support/temp.ts';

/*
 * The rules of .oxlintrc.json, proved on a tree that mirrors src/: what is forbidden is reported, what
 * is permitted is not. oxlint runs once, over one file for each room.
 */

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** What one file may import and what it may not. */
interface Room {
  file: string;
  forbidden: string[];
  permitted: string[];
}

const leafNames = ['config', 'errors', 'events', 'clock', 'ids'];
const leaves = leafNames.map((name) => `#src/${name}.ts`);
const beside = (name: string) => `./${name}.ts`;
const leavesBeside = leafNames.map(beside);
const domain = ['grants', 'access', 'limits', 'sessions', 'users'].map(
  (name) => `#src/${name}/a.ts`,
);
const storage = '#src/storage/open.ts';
const tools = '#src/tools/define.ts';
const http = '#src/http/router.ts';
const credentials = '#src/credentials/principal.ts';
const oauth = '#src/oauth/provider.ts';
const mcp = '#src/mcp/endpoint.ts';
const account = '#src/account/pages.ts';
const observe = '#src/observe/log.ts';
const app = '#src/app.ts';
const cli = '#src/cli/output.ts';
const main = '#src/main.ts';
const door = '#src/index.ts';
const serve = '#src/serve.ts';
const projects = ['#src/project.ts', '#src/project-imports.ts'];

/** What a tool may see, and so a surface too. */
const below = [...leaves, ...domain, storage, tools, http, credentials, ...projects];
const surfaces = [oauth, mcp, account, observe];
const top = [app, serve, cli, main, door, 'castellan'];
const drivers = ['pg', 'node:sqlite'];
const sdk = '@modelcontextprotocol/server';
const closed = ['oidc-provider', sdk, ...drivers, 'node:process'];
const effects = ['node:fs/promises', 'node:http', 'kysely', 'koa'];
/** Forbidden in every room. */
const never = ['../errors.ts', './deeper/room.ts', './utils.ts', '#src/grants/helpers.ts'];

function surface(room: string, own: string, mine: string[]): Room {
  return {
    file: `src/${room}/case.ts`,
    forbidden: [
      ...surfaces.filter((other) => other !== own),
      ...top,
      ...closed.filter((name) => !mine.includes(name)),
      ...never,
    ],
    permitted: [own, ...mine, ...below, './sibling.ts', 'zod'],
  };
}

const rooms: Room[] = [
  {
    file: 'src/clock.ts',
    forbidden: [...domain, storage, tools, ...surfaces, ...top, './app.ts', ...closed, ...never],
    permitted: [...leavesBeside, 'zod', 'node:crypto'],
  },
  {
    file: 'src/grants/case.ts',
    forbidden: [storage, tools, ...projects, ...surfaces, ...top, ...closed, ...never, ...effects],
    permitted: [...leaves, ...domain, './sibling.ts', 'zod', 'node:crypto'],
  },
  {
    file: 'src/storage/case.ts',
    forbidden: [tools, http, ...projects, ...surfaces, ...top, 'oidc-provider', sdk, ...never],
    permitted: [...leaves, ...domain, storage, '#src/storage/migrations/a.ts', ...drivers],
  },
  {
    file: 'src/storage/migrations/case.ts',
    forbidden: ['../schema.ts', tools],
    permitted: ['#src/storage/schema.ts', 'kysely'],
  },
  {
    file: 'src/project.ts',
    forbidden: [...surfaces, ...top, './app.ts', './serve.ts', ...closed, ...never],
    permitted: [...below, ...leavesBeside, './project-imports.ts', 'node:fs/promises'],
  },
  {
    file: 'src/tools/case.ts',
    forbidden: [...surfaces, ...top, ...closed, ...never],
    permitted: below,
  },
  {
    file: 'src/tools/data/case.ts',
    forbidden: [...surfaces, ...top, 'oidc-provider', sdk, ...never],
    permitted: [...below, './sibling.ts', ...drivers],
  },
  { file: 'src/tools/knowledge/case.ts', forbidden: [oauth, sdk], permitted: drivers },
  { file: 'src/http/case.ts', forbidden: [...surfaces, ...closed], permitted: [tools, 'koa'] },
  { file: 'src/credentials/case.ts', forbidden: [...surfaces, ...drivers], permitted: [storage] },
  surface('oauth', oauth, ['oidc-provider']),
  surface('mcp', mcp, [sdk]),
  surface('account', account, []),
  surface('observe', observe, []),
  {
    file: 'src/app.ts',
    forbidden: [
      serve,
      cli,
      main,
      door,
      ...['serve', 'main', 'index'].map(beside),
      ...closed,
      ...never,
    ],
    permitted: [...surfaces, ...below, './errors.ts'],
  },
  {
    file: 'src/serve.ts',
    forbidden: [cli, main, door, ...['main', 'index'].map(beside), ...closed, ...never],
    permitted: [app, ...surfaces, ...below, './app.ts', 'node:http'],
  },
  {
    file: 'src/index.ts',
    forbidden: [
      app,
      serve,
      cli,
      main,
      ...['app', 'serve', 'main'].map(beside),
      ...closed,
      ...never,
    ],
    permitted: [tools, './config.ts'],
  },
  {
    file: 'src/cli/case.ts',
    forbidden: [main, door, ...closed, ...never],
    permitted: [app, serve, storage, './sibling.ts', 'commander'],
  },
  {
    file: 'src/main.ts',
    forbidden: [door, './index.ts', ...closed, ...never],
    permitted: [cli, './app.ts', './serve.ts', 'commander'],
  },
  { file: 'src/attic/case.ts', forbidden: [...leaves, 'zod', 'node:crypto'], permitted: [] },
  { file: 'test/case.ts', forbidden: [], permitted: [oauth, mcp, ...closed] },
];

function switchOver(end: string): string {
  return `export function f(v: 'a' | 'b'): number {
  switch (v) {
    case 'a':
      return 1;
    ${end}
  }
  return 3;
}`;
}

/** Other house rules: a source that breaks one, and the rule that must say so. */
const offences: [rule: string, file: string, source: string][] = [
  [
    'import(no-cycle)',
    'src/users/one.ts',
    `import { two } from './two.ts';\nexport const one = two;`,
  ],
  [
    'import(no-cycle)',
    'src/users/two.ts',
    `import { one } from './one.ts';\nexport const two = one;`,
  ],
  ['import(no-default-export)', 'src/users/default.ts', 'export default 1;'],
  ['node(no-process-env)', 'src/http/env.ts', `export const home = process.env['HOME'];`],
  ['eslint(no-restricted-imports)', 'src/http/later.ts', `export const get = () => import('pg');`],
  ['eslint(no-restricted-imports)', 'src/http/again.ts', `export * from '#src/mcp/endpoint.ts';`],
  ['typescript(consistent-type-imports)', 'src/http/type.ts', `export type P = import('pg').Pool;`],
  ['typescript(no-floating-promises)', 'src/http/float.ts', 'Promise.resolve(1);'],
  [
    'typescript(no-misused-promises)',
    'src/http/misuse.ts',
    `export const is = (p: Promise<boolean>) => (p ? 1 : 2);`,
  ],
  ['typescript(switch-exhaustiveness-check)', 'src/http/switch.ts', switchOver('')],
  [
    'typescript(switch-exhaustiveness-check)',
    'src/http/error-response.ts',
    switchOver('default:\n      return 2;'),
  ],
  ['typescript(await-thenable)', 'src/http/await.ts', 'export const f = async () => await 1;'],
  [
    'typescript(no-unnecessary-type-assertion)',
    'src/http/assert.ts',
    `export const f = (v: string) => v as string;`,
  ],
  [
    'eslint(max-params)',
    'src/http/params.ts',
    'export const f = (a: 1, b: 2, c: 3, d: 4) => [a, b, c, d];',
  ],
];

/** Sources that look like an offence and are none. */
const allowed: [file: string, source: string][] = [
  ['src/config.ts', `export const home = process.env['HOME'];`],
  ['src/mcp/default.ts', switchOver('default:\n      return 2;').replace('  return 3;\n', '')],
  ['test/env.ts', `export const home = process.env['HOME'];`],
  ['examples/shop/tools/total.ts', 'export default 1;'],
  ['examples/shop/castellan.config.ts', 'export default {};'],
  ['test/suite.test.ts', `import { it } from 'node:test';\nit('runs', () => {});`],
];

interface Finding {
  rule: string;
  file: string;
  line: number;
}

describe('lint rules', () => {
  let findings: Finding[];

  before(async () => {
    await using folder = await temporaryFolder();
    for (const name of ['.oxlintrc.json', 'package.json', 'tsconfig.json']) {
      await copyFile(join(root, name), join(folder.path, name));
    }
    // The rules that know types need the declarations of Node.js.
    await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'));
    const sources: [string, string][] = [
      ...rooms.map((room): [string, string] => [room.file, importing(room)]),
      ...offences.map(([, file, source]): [string, string] => [file, source]),
      ...allowed,
    ];
    for (const [file, source] of sources) {
      const path = join(folder.path, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, source);
    }
    findings = await lint(folder.path);
  });

  for (const room of rooms) {
    it(`${room.file} imports what lies below it, and nothing else`, () => {
      const lines = findings
        .filter(({ file, rule }) => file === room.file && rule === IMPORTS)
        .map(({ line }) => line);
      const reported = specifiers(room).filter((_, index) => lines.includes(index + 1));
      assert.deepEqual(reported, room.forbidden);
    });
  }

  for (const [rule, file] of offences) {
    it(`${rule} reports ${file}`, () => {
      const reported = findings.filter((finding) => finding.file === file).map((f) => f.rule);
      assert.ok(reported.includes(rule), `reported: ${reported.join(', ')}`);
    });
  }

  for (const [file] of allowed) {
    it(`nothing is reported in ${file}`, () => {
      assert.deepEqual(
        findings.filter((finding) => finding.file === file),
        [],
      );
    });
  }
});

const IMPORTS = 'eslint(no-restricted-imports)';

function specifiers({ forbidden, permitted }: Room): string[] {
  return [...forbidden, ...permitted];
}

/** One import a line, so that a line tells which one was reported. */
function importing(room: Room): string {
  return specifiers(room)
    .map((specifier, index) => `import { name as name${index} } from '${specifier}';`)
    .join('\n');
}

async function lint(folder: string): Promise<Finding[]> {
  const program = join(root, 'node_modules/oxlint/bin/oxlint');
  const options = ['--type-aware', '--format=json'];
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [program, ...options],
      { cwd: folder, maxBuffer: 64 * 1024 ** 2 },
      // It has findings, so its exit code is 1.
      (error, stdout) =>
        stdout === '' ? reject(error ?? new Error('No output')) : resolve(stdout),
    );
  });
  const report: {
    diagnostics: { code: string; filename: string; labels: { span: { line: number } }[] }[];
  } = JSON.parse(output);
  return report.diagnostics.map(({ code, filename, labels }) => ({
    rule: code,
    file: filename,
    line: labels[0]?.span.line ?? 0,
  }));
}
