import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeProject, ROLES, seed } from './support.ts';

interface CheckJson {
  ok: boolean;
  errors: string[];
  warnings: string[];
}

const toolFile = (name: string): string => `import { tool } from 'castellan';
import { z } from 'zod';
console.log('a tool may print while it loads');
setInterval(() => {}, 1_000);
export default tool({ name: '${name}', description: 'Does ${name}', input: z.object({}), run: () => 1 });
`;

const allowed = (tool: string, privilege: string): object => ({
  applyTo: tool,
  type: 'tool',
  execute: [privilege],
});

const withTools = (...entries: object[]): Record<string, string> => ({
  'tools/look.ts': toolFile('look'),
  'tools/change.ts': toolFile('change'),
  'roles.json': JSON.stringify({ ...ROLES, permissions: { allowed: entries } }),
});

describe('roles check', () => {
  it('is content with names that exist; tools that print or linger do no harm', async () => {
    const files = withTools(allowed('look', 'reader'), allowed('change', 'writer'));
    await using project = await makeProject({ files });
    assert.deepEqual(await project.json(['roles', 'check']), {
      ok: true,
      errors: [],
      warnings: [],
    });
    assert.equal((await project.cli(['roles', 'check'])).stdout, 'roles.json is fine.\n');
  });

  it('names every name that does not exist, with its path', async () => {
    await using project = await makeProject({
      files: withTools(allowed('look', 'raeder'), allowed('lok', 'reader'), {
        applyTo: 'kb',
        type: 'pipeline',
        read: ['reader'],
      }),
    });
    const { code, stdout, stderr } = await project.cli(['roles', 'check', '--json']);
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(stdout), {
      ok: false,
      errors: [
        'permissions.allowed[0].execute: unknown privilege "raeder"',
        'permissions.allowed[1].applyTo: unknown tool "lok"',
      ],
      warnings: ['permissions.allowed[2].applyTo: unknown pipeline "kb"'],
    });
    assert.match(stderr, /castellan: .*roles\.json has 2 errors\n/);
    const text = await project.cli(['roles', 'check']);
    assert.match(
      text.stdout,
      /^error: permissions\.allowed\[0\]\.execute: unknown privilege "raeder"$/m,
    );
    assert.match(text.stdout, /^warning: permissions\.allowed\[2\]/m);
  });

  it('warns about tools that no privilege permits', async () => {
    await using project = await makeProject({ files: withTools(allowed('look', 'reader')) });
    const { ok, warnings } = await project.json<CheckJson>(['roles', 'check']);
    const change = 'tool change: no privilege permits it, so nobody can call it';
    assert.deepEqual([ok, warnings], [true, [change]]);
    const open = JSON.stringify({ ...ROLES, restrictedByDefault: false });
    await writeFile(join(project.folder, 'roles.json'), open);
    assert.deepEqual((await project.json<CheckJson>(['roles', 'check'])).warnings, []);
    await rm(join(project.folder, 'roles.json'));
    const without = await project.json<CheckJson>(['roles', 'check']);
    assert.deepEqual(without.warnings, ['there is no roles.json, so nobody can call a tool']);
  });

  it('names misspelt fields and broken JSON', async () => {
    for (const [text, expected] of [
      ['{"priviliges": []}', /priviliges: unknown field/],
      ['{"roles": [{"role": 1, "privileges": []}]}', /roles\.0\.role: /],
      ['{', /it is not JSON/],
    ] as const) {
      await using project = await makeProject({ files: { 'roles.json': text } });
      const { code, stdout } = await project.cli(['roles', 'check', '--json']);
      assert.equal(code, 1);
      assert.match((JSON.parse(stdout) as CheckJson).errors.join('\n'), expected);
    }
  });

  it('says what a missing file comes to, and does not praise it', async () => {
    await using project = await makeProject();
    await rm(join(project.folder, 'roles.json'));
    const { code, stdout, stderr } = await project.cli(['roles', 'check']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout, 'warning: there is no roles.json, so nobody can call a tool\n');
  });

  it('tells a file that cannot be read as any other error', async () => {
    await using project = await makeProject();
    await rm(join(project.folder, 'roles.json'));
    await mkdir(join(project.folder, 'roles.json'));
    const { code, stdout } = await project.cli(['roles', 'check', '--json']);
    assert.equal(code, 1);
    assert.match((JSON.parse(stdout) as CheckJson).errors.join('\n'), /^it cannot be read: /);
  });

  it('warns about tool files that do not load; their tools may be the unknown ones', async () => {
    const files = {
      ...withTools(
        allowed('broken', 'reader'),
        allowed('look', 'reader'),
        allowed('change', 'writer'),
      ),
      'tools/broken.ts': 'throw new Error("no luck")',
    };
    await using project = await makeProject({ files });
    const checked = await project.json<CheckJson>(['roles', 'check']);
    assert.equal(checked.ok, true);
    assert.deepEqual(checked.warnings, [
      'tools/broken.ts: it threw while loading: no luck',
      'permissions.allowed[0].applyTo: unknown tool "broken"',
    ]);
  });
});

describe('roles show', () => {
  const files = withTools(allowed('look', 'reader'), allowed('change', 'writer'));

  it('shows what a role comes to, and roles that no longer exist', async () => {
    await using project = await makeProject({ files });
    const { store } = await seed(project);
    assert.deepEqual(await project.json(['roles', 'show', 'ana']), {
      user: 'ana',
      status: 'active',
      roles: ['clerk'],
      givenPrivileges: null,
      unknownRoles: [],
      privileges: [{ name: 'reader', title: 'Read', description: 'Looks things up.' }],
      tools: [{ name: 'look', privileges: ['reader'] }],
    });
    const roles = JSON.stringify(['manager', 'gone']);
    await store.db.updateTable('users').set({ roles }).where('name', '=', 'ben').execute();
    const { stdout, stderr } = await project.cli(['roles', 'show', 'ben']);
    assert.match(stdout, /^writer +Write +Changes things\.$/m);
    assert.match(stdout, /^change +writer\nlook +reader$/m);
    assert.match(stderr, /no longer has the role gone/);
    const privileges = JSON.stringify(['reader']);
    await store.db.updateTable('users').set({ privileges }).where('name', '=', 'ben').execute();
    const given = await project.cli(['roles', 'show', 'ben']);
    assert.match(given.stdout, /given by the login hook[^]*^look +reader$/m);
    assert.doesNotMatch(given.stdout, /writer/);
  });

  it('is 3 for an unknown user, and 1 with a roles.json that is wrong', async () => {
    await using project = await makeProject({ files });
    assert.equal((await project.cli(['roles', 'show', 'zoe'])).code, 3);
    await using wrong = await makeProject({ files: withTools(allowed('lok', 'reader')) });
    const { code, stderr } = await wrong.cli(['roles', 'show', 'zoe']);
    assert.equal(code, 1);
    assert.match(stderr, /permissions\.allowed\[0\]\.applyTo: unknown tool "lok"/);
    await using broken = await makeProject({ files: { 'roles.json': '{' } });
    const said = await broken.cli(['roles', 'show', 'zoe']);
    assert.match(said.stderr, /it is not JSON: .*\nhint: Correct the file; castellan roles check/);
  });
});
