import assert from 'node:assert/strict';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { Event } from '#src/events.ts';
import { importFresh, provideImports } from '#src/project-imports.ts';
import { loadTools } from '#src/tools/load.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';
import { temporaryFolder } from '../support/temp.ts';

/** A project folder without node_modules, whose tools are loaded as the server loads them. */
async function makeProject(stack: AsyncDisposableStack, files: Record<string, string>) {
  const folder = stack.use(await temporaryFolder()).path;
  const write = async (changes: Record<string, string>): Promise<void> => {
    for (const [name, text] of Object.entries(changes)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  };
  await write(files);
  provideImports(folder);
  let version = 0;
  const load = async (root = folder): Promise<{ set: ToolSet; events: Event[] }> => {
    const events: Event[] = [];
    version += 1;
    const set = await loadTools({
      folder: join(root, 'tools'),
      version: String(version),
      importModule: (file, wanted) =>
        importFresh(file, wanted, file.endsWith('endless.ts') ? 1 : undefined),
      emit: (event) => events.push(event),
    });
    return { set, events };
  };
  return { folder, write, load };
}

/** A tool file in a few words; `run` is what its function returns. */
function toolFile(
  name: string,
  { run = "'done'", imports = '', description = 'Use it.' } = {},
): string {
  return `import { tool } from 'castellan';
    import { z } from 'zod';
    ${imports}
    export default tool({
      name: ${JSON.stringify(name)},
      description: ${JSON.stringify(description)},
      input: z.object({ text: z.string().optional() }),
      run: () => ${run},
    });`;
}

/** An entity's file; each function is written out. */
function entityFile(name: string, functions: Record<string, string>): string {
  const members = Object.entries(functions).map(([member, text]) => `${member}: ${text},`);
  return `import { entityTool } from 'castellan';
    import { z } from 'zod';
    export default entityTool({
      name: ${JSON.stringify(name)},
      description: 'Orders of the shop.',
      functions: { ${members.join('\n')} },
    });`;
}

const namesOf = (set: ToolSet): string[] => set.sorted.map((one) => one.tool.name);
const runOf = (set: ToolSet, name: string): unknown =>
  set.byName.get(name)?.tool.run({} as never, {} as never);
const rejections = (events: Event[]): string[] =>
  events.filter((one) => one.type === 'tools.rejected').map((one) => `${one.file}: ${one.reason}`);

describe('the tools of a project', () => {
  it('are the default exports of its files', async () => {
    await using stack = new AsyncDisposableStack();
    const { load } = await makeProject(stack, {
      'tools/b.ts': toolFile('bee'),
      'tools/a.mjs': toolFile('ay'),
      'tools/notes.md': 'not a tool',
      'tools/types.d.ts': 'export type A = string;',
      'tools/a.test.ts': 'throw new Error("a test was loaded")',
      'tools/below/c.ts': 'throw new Error("a file below was loaded")',
    });
    const { set, events } = await load();
    assert.deepEqual(namesOf(set), ['ay', 'bee']);
    assert.equal(set.incomplete, false);
    assert.deepEqual(events, [{ type: 'tools.loaded', count: 2, names: ['ay', 'bee'] }]);
    assert.equal(runOf(set, 'bee'), 'done');
  });

  it('are none without a folder, and none in an empty one', async () => {
    await using stack = new AsyncDisposableStack();
    const { folder, load } = await makeProject(stack, {});
    assert.deepEqual(namesOf((await load()).set), []);
    await mkdir(join(folder, 'tools'));
    assert.deepEqual(namesOf((await load()).set), []);
  });

  it('cannot be loaded when their folder is a file', async () => {
    await using stack = new AsyncDisposableStack();
    const { load } = await makeProject(stack, { tools: 'a file' });
    await assert.rejects(load(), { code: 'ENOTDIR' });
  });

  it('are found through a symbolic link too', async () => {
    await using stack = new AsyncDisposableStack();
    const { folder, load } = await makeProject(stack, {});
    const [real, link] = [`${folder}-real`, `${folder}-link`];
    await mkdir(join(real, 'tools'), { recursive: true });
    stack.defer(() => rm(real, { recursive: true }));
    await writeFile(join(real, 'tools/a.ts'), toolFile('linked'));
    await symlink(real, link);
    stack.defer(() => rm(link));
    provideImports(link);
    const { set, events } = await load(link);
    assert.deepEqual(rejections(events), []);
    assert.deepEqual(namesOf(set), ['linked']);
  });

  it('may be in a folder of any name', async () => {
    await using stack = new AsyncDisposableStack();
    const { folder, load } = await makeProject(stack, {});
    const odd = join(folder, 'a b#c?d%20é');
    await mkdir(join(odd, 'tools'), { recursive: true });
    await writeFile(join(odd, 'tools/x.ts'), toolFile('odd', { imports: "import '../below.ts';" }));
    await writeFile(join(odd, 'below.ts'), 'export {};');
    provideImports(odd);
    const { set, events } = await load(odd);
    assert.deepEqual(rejections(events), []);
    assert.deepEqual(namesOf(set), ['odd']);
  });

  const broken: [name: string, file: string, reason: RegExp][] = [
    ['throws while loading', 'throw new Error("no database")', /threw while loading: no database$/],
    ['throws something odd', 'throw "text"', /threw while loading: text$/],
    [
      'is not TypeScript',
      'const a = 1;\nexport default {{',
      /threw while loading: .*\(\/.*\/tools\/bad\.ts:2\)$/,
    ],
    [
      'has syntax that does not erase',
      '\n\nenum A { B } export default A;',
      /threw while loading: .*enum.*\/tools\/bad\.ts:3\)$/,
    ],
    [
      'imports a name that is not there',
      "\nimport { nothing } from 'castellan';",
      /threw while loading: .*nothing.*\(\/.*\/tools\/bad\.ts:2\)$/,
    ],
    ['imports what is not there', 'import "./nowhere.ts";', /threw while loading: .*nowhere/],
    [
      'imports a package that is not there',
      'import "left-pad";',
      /threw while loading: .*left-pad/,
    ],
    ['exports nothing', 'export {};', /its default export is not tool\(\{\.\.\.\}\) or entityTool/],
    ['exports something else', 'export default { name: "x" };', /its default export is not tool/],
    [
      'exports by name only',
      toolFile('x').replace('export default', 'export const x ='),
      /not tool/,
    ],
    ['has a bad name', toolFile('no spaces'), /^bad\.ts: name: a tool is called by 1 to 64/],
    ['has a bad schema', toolFile('x').replace('z.string().optional()', 'z.any()'), /input text: /],
    ['has no run', toolFile('x').replace('run: () =>', 'running: () =>'), /no function run/],
    [
      'is called like another',
      toolFile('good'),
      /^bad\.ts: a\.ts already defines a tool named good$/,
    ],
    [
      'has an entity without functions',
      entityFile('Orders', {}),
      /threw while loading: entityTool.* has no functions$/,
    ],
    [
      'has a function that does nothing',
      entityFile('Orders', { total: '{ input: z.object({}) }' }),
      /threw while loading: Orders-total has no function run$/,
    ],
  ];
  for (const [name, file, reason] of broken) {
    it(`serve without the one that ${name}, which is named`, async () => {
      await using stack = new AsyncDisposableStack();
      const { load } = await makeProject(stack, {
        'tools/a.ts': toolFile('good'),
        'tools/bad.ts': file,
        'tools/c.ts': toolFile('fine'),
      });
      const { set, events } = await load();
      assert.deepEqual(namesOf(set), ['fine', 'good']);
      assert.equal(set.incomplete, true);
      const [rejected = '', ...more] = rejections(events);
      assert.match(rejected, /^bad\.ts: /);
      assert.match(rejected, reason);
      assert.deepEqual(more, []);
      assert.deepEqual(events.at(-1), { type: 'tools.loaded', count: 2, names: ['fine', 'good'] });
    });
  }

  it('serve without one that never finishes loading, which is named at every load', async () => {
    await using stack = new AsyncDisposableStack();
    const { write, load } = await makeProject(stack, {
      'tools/a.ts': toolFile('good'),
      'tools/endless.ts': 'await new Promise(() => {}); export {};',
      'tools/late.ts': toolFile('late', { imports: 'await Promise.resolve();' }),
    });
    for (const names of [
      ['good', 'late'],
      ['better', 'late'],
    ]) {
      const { set, events } = await load();
      assert.deepEqual(namesOf(set), names);
      assert.equal(set.incomplete, true);
      assert.match(rejections(events).join(), /^endless\.ts: it has not finished loading after /);
      await write({ 'tools/a.ts': toolFile('better') });
    }
  });

  it('are published without a description, with a warning', async () => {
    await using stack = new AsyncDisposableStack();
    const { load } = await makeProject(stack, {
      'tools/a.ts': toolFile('mute', { description: '' }),
    });
    const { set, events } = await load();
    assert.deepEqual(namesOf(set), ['mute']);
    assert.equal(set.byName.get('mute')?.published.description, undefined);
    const [warning] = events;
    assert.ok(warning?.type === 'tools.warning');
    assert.equal(warning.tool, 'mute');
    assert.match(warning.reason, /no description/);
  });
});

describe('an entity', () => {
  const FINE = "{ description: 'Counts.', input: z.object({}), run: () => 1 }";
  const BARE = '{ input: z.object({}), run: () => 2 }';

  it('is a tool for each of its functions', async () => {
    await using stack = new AsyncDisposableStack();
    const { load } = await makeProject(stack, {
      'tools/orders.ts': entityFile('OrderManager', { getYearTotal: FINE, close: BARE }),
    });
    const { set, events } = await load();
    assert.deepEqual(rejections(events), []);
    assert.deepEqual(namesOf(set), ['OrderManager-close', 'OrderManager-getYearTotal']);
    assert.equal(runOf(set, 'OrderManager-getYearTotal'), 1);
    const [close, total] = set.sorted.map((one) => one.published.description);
    assert.deepEqual([close, total], ['Orders of the shop.', 'Orders of the shop. Counts.']);
  });

  it('serves without the functions that cannot be published, which are named', async () => {
    await using stack = new AsyncDisposableStack();
    const { load } = await makeProject(stack, {
      'tools/orders.ts': entityFile('Orders', {
        good: FINE,
        odd$: FINE,
        any: '{ input: z.object({ f: z.any() }), run: () => 1 }',
        [`x${'y'.repeat(56)}`]: FINE,
        [`x${'y'.repeat(57)}`]: FINE,
      }),
    });
    const { set, events } = await load();
    assert.deepEqual(namesOf(set), ['Orders-good', `Orders-x${'y'.repeat(56)}`]);
    assert.equal(set.incomplete, true);
    const [odd = '', any = '', long = '', ...more] = rejections(events);
    assert.match(odd, /^orders\.ts: Orders-odd\$: name: a tool is called by 1 to 64 /);
    assert.match(any, /^orders\.ts: Orders-any: input f: every field has one plain type/);
    assert.match(long, /^orders\.ts: Orders-xy+: name: a tool is called by 1 to 64 /);
    assert.deepEqual(more, []);
  });

  it('loses only the names that an earlier file has', async () => {
    await using stack = new AsyncDisposableStack();
    const files = {
      'tools/b.ts': entityFile('Orders', { total: FINE, list: FINE }),
      'tools/c.ts': toolFile('Orders-list', { run: "'c'" }),
      'tools/a.ts': toolFile('Orders-total', { run: "'a'" }),
    };
    const { load } = await makeProject(stack, files);
    const { set, events } = await load();
    assert.deepEqual(rejections(events), [
      'b.ts: Orders-total: a.ts already defines a tool named Orders-total',
      'c.ts: b.ts already defines a tool named Orders-list',
    ]);
    assert.deepEqual(namesOf(set), ['Orders-list', 'Orders-total']);
    assert.deepEqual([runOf(set, 'Orders-total'), runOf(set, 'Orders-list')], ['a', 1]);
  });
});

describe('a reload', () => {
  it('sees a changed file, a new one, and one that is gone', async () => {
    await using stack = new AsyncDisposableStack();
    const { folder, write, load } = await makeProject(stack, {
      'tools/a.ts': toolFile('a', { run: '1' }),
      'tools/b.ts': toolFile('b'),
    });
    const before = (await load()).set;
    await write({ 'tools/a.ts': toolFile('a', { run: '2' }), 'tools/c.ts': toolFile('c') });
    await rm(join(folder, 'tools/b.ts'));
    const after = (await load()).set;
    assert.deepEqual(namesOf(after), ['a', 'c']);
    assert.equal(runOf(after, 'a'), 2);
    // Calls that are under way go on with what they have.
    assert.deepEqual(namesOf(before), ['a', 'b']);
    assert.equal(runOf(before, 'a'), 1);
  });

  it('sees a changed import below a tool, however deep', async () => {
    await using stack = new AsyncDisposableStack();
    const { write, load } = await makeProject(stack, {
      'tools/a.ts': toolFile('a', { imports: "import { price } from '../shop.ts';", run: 'price' }),
      'shop.ts': "export { price } from './lib/price.ts';",
      'lib/price.ts': 'export const price = 1;',
    });
    assert.equal(runOf((await load()).set, 'a'), 1);
    await write({ 'lib/price.ts': 'export const price = 2;' });
    assert.equal(runOf((await load()).set, 'a'), 2);
    await write({ 'shop.ts': 'export const price = 3;' });
    assert.equal(runOf((await load()).set, 'a'), 3);
  });

  it('shares one module among the tools that import it', async () => {
    await using stack = new AsyncDisposableStack();
    const options = { imports: "import { next } from '../count.ts';", run: 'next()' };
    const { load } = await makeProject(stack, {
      'tools/a.ts': toolFile('a', options),
      'tools/b.ts': toolFile('b', options),
      'count.ts': 'let count = 0; export const next = () => (count += 1);',
    });
    const { set } = await load();
    assert.deepEqual([runOf(set, 'a'), runOf(set, 'b'), runOf(set, 'a')], [1, 2, 3]);
  });

  it('gives the same castellan and zod to every version', async () => {
    await using stack = new AsyncDisposableStack();
    const { load } = await makeProject(stack, {
      'tools/a.ts': toolFile('a', { run: '[tool, z]' }),
    });
    const [first, second] = [(await load()).set, (await load()).set];
    const provided = runOf(first, 'a') as unknown[];
    assert.ok(provided.every((one, index) => one === (runOf(second, 'a') as unknown[])[index]));
  });

  it('names a file that broke, and takes it again when it is mended', async () => {
    await using stack = new AsyncDisposableStack();
    const { write, load } = await makeProject(stack, { 'tools/a.ts': toolFile('a') });
    await load();
    await write({ 'tools/a.ts': 'export default' });
    const { set, events } = await load();
    assert.deepEqual(namesOf(set), []);
    assert.match(rejections(events)[0] ?? '', /^a\.ts: it threw while loading/);
    await write({ 'tools/a.ts': toolFile('a', { run: '5' }) });
    assert.equal(runOf((await load()).set, 'a'), 5);
  });
});
