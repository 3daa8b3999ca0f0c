import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Event } from '#src/events.ts';
import { loadProject } from '#src/project.ts';
import { openWorkshop, type Workshop } from '#src/project-workshop.ts';
import { temporaryFolder } from './support/temp.ts';

interface Bench {
  workshop: Workshop;
  /** What was told since this was asked last. */
  told(): Event[];
  write(name: string, text: string): Promise<void>;
  remove(name: string): Promise<void>;
}

async function open(stack: AsyncDisposableStack, files: Record<string, string>): Promise<Bench> {
  const { path } = stack.use(await temporaryFolder());
  const write = (name: string, text: string): Promise<void> => writeFile(join(path, name), text);
  await mkdir(join(path, 'tools'));
  await write('castellan.config.json', '{}');
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const events: Event[] = [];
  const workshop = await openWorkshop(await loadProject(path), (event) => events.push(event));
  return {
    workshop,
    told: () => events.splice(0),
    write,
    remove: (name) => rm(join(path, name), { recursive: true }),
  };
}

const toolFile = (name: string, before = ''): string => `import { tool } from 'castellan';
  import { z } from 'zod';
  ${before}
  export default tool({ name: '${name}', description: 'Use it.', input: z.object({}), run: () => 1 });`;

/** One privilege, which permits these tools. */
const rolesFile = (...tools: string[]): string =>
  JSON.stringify({
    privileges: [{ privilege: 'reader', title: 'Read', description: 'Looks things up.' }],
    permissions: {
      allowed: tools.map((tool) => ({ applyTo: tool, type: 'tool', execute: ['reader'] })),
    },
  });

const names = ({ workshop }: Bench): string[] => [...workshop.tools().byName.keys()];
const permits = ({ workshop }: Bench, tool: string): boolean =>
  workshop.access().mayExecute(tool, new Set(['reader']));
const warnings = (events: Event[]): string[] =>
  events.flatMap((one) => (one.type === 'tools.warning' ? [`${one.tool}: ${one.reason}`] : []));

describe('a workshop', () => {
  it('warns about a tool that no privilege permits, at the start and when it comes', async () => {
    await using stack = new AsyncDisposableStack();
    const bench = await open(stack, {
      'tools/a.ts': toolFile('a'),
      'tools/b.ts': toolFile('b'),
      'roles.json': rolesFile('a'),
    });
    const warning = 'no privilege permits it, so nobody can call it';
    assert.deepEqual(warnings(bench.told()), [`b: ${warning}`]);
    await bench.write('tools/c.ts', toolFile('c'));
    await bench.workshop.reload();
    assert.deepEqual(warnings(bench.told()), [`b: ${warning}`, `c: ${warning}`]);
    await bench.write('roles.json', rolesFile('a', 'b', 'c'));
    await bench.workshop.reload();
    assert.deepEqual(warnings(bench.told()), []);
  });

  it('reads roles.json again, with the tools', async () => {
    await using stack = new AsyncDisposableStack();
    const bench = await open(stack, {
      'tools/a.ts': toolFile('a'),
      'tools/b.ts': toolFile('b'),
      'roles.json': rolesFile('a'),
    });
    assert.deepEqual([permits(bench, 'a'), permits(bench, 'b')], [true, false]);
    await bench.write('roles.json', rolesFile('b'));
    await bench.workshop.reload();
    assert.deepEqual([permits(bench, 'a'), permits(bench, 'b')], [false, true]);
    await bench.remove('roles.json');
    await bench.workshop.reload();
    assert.deepEqual([permits(bench, 'a'), permits(bench, 'b')], [false, false]);
  });

  for (const [what, text, reason] of [
    ['is not JSON', '{', /roles\.json\n.*it is not JSON/],
    ['names a tool that is not there', rolesFile('a', 'z'), /unknown tool "z"/],
  ] as const) {
    it(`keeps the roles that serve when roles.json ${what}, and says so`, async () => {
      await using stack = new AsyncDisposableStack();
      const bench = await open(stack, {
        'tools/a.ts': toolFile('a'),
        'roles.json': rolesFile('a'),
      });
      bench.told();
      await bench.write('roles.json', text);
      await bench.write('tools/b.ts', toolFile('b'));
      await bench.workshop.reload();
      assert.deepEqual(names(bench), ['a', 'b']);
      assert.ok(permits(bench, 'a'));
      const rejected = bench.told().find((one) => one.type === 'roles.rejected');
      assert.match(rejected?.reason ?? '', reason);
    });
  }

  it('lets no older, slower reload undo a newer one', async () => {
    await using stack = new AsyncDisposableStack();
    const bench = await open(stack, { 'tools/a.ts': toolFile('first') });
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const key = 'castellanTestGate';
    Object.assign(globalThis, { [key]: { begun: begun.resolve, gate: gate.promise } });
    stack.defer(() => void Reflect.deleteProperty(globalThis, key));
    const waiting = `globalThis.${key}.begun(); await globalThis.${key}.gate;`;
    await bench.write('tools/a.ts', toolFile('slow', waiting));
    const slow = bench.workshop.reload();
    await begun.promise;
    await bench.write('tools/a.ts', toolFile('newest'));
    await bench.workshop.reload();
    assert.deepEqual(names(bench), ['newest']);
    bench.told();
    gate.resolve();
    await slow;
    assert.deepEqual(names(bench), ['newest']);
    assert.deepEqual(bench.told(), []);
  });

  it('goes on with what it has when the tools cannot be read, and says so', async () => {
    await using stack = new AsyncDisposableStack();
    const bench = await open(stack, { 'tools/a.ts': toolFile('a'), 'roles.json': rolesFile('a') });
    bench.told();
    await bench.remove('tools');
    await bench.write('tools', 'a file');
    await bench.workshop.reload();
    assert.deepEqual(names(bench), ['a']);
    assert.deepEqual(
      bench.told().map((one) => one.type),
      ['server.error'],
    );
  });
});
