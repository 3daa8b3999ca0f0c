import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compileAccess } from '#src/access/access.ts';
import { checkRoles } from '#src/access/roles.ts';
import type { Event } from '#src/events.ts';
import { importFresh, provideImports } from '#src/project-imports.ts';
import { parseRoles } from '#src/project-roles.ts';
import type { ToolContext } from '#src/tools/define.ts';
import { loadTools } from '#src/tools/load.ts';
import { toResult } from '#src/tools/result.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';
import { houseRuleProblems } from './support/house-rules.ts';
import { temporaryFolder } from './support/temp.ts';

/** The examples of docs/tools.md work: they are loaded and called as a project's own tools are. */

const DOCUMENT = fileURLToPath(new URL('../docs/tools.md', import.meta.url));
const BLOCK = /^```(ts|json)\n(.*?)^```$/gms;
const PNG = Buffer.from('89504e470d0a1a0a00', 'hex').toString('base64');

describe('docs/tools.md', () => {
  const stack = new AsyncDisposableStack();
  const events: Event[] = [];
  let set: ToolSet;
  let roles: string;

  before(async () => {
    const { path } = stack.use(await temporaryFolder());
    await mkdir(join(path, 'tools'));
    const blocks = [...(await readFile(DOCUMENT, 'utf8')).matchAll(BLOCK)];
    for (const [, kind, code = ''] of blocks) {
      if (kind === 'json') roles = code;
      else await writeFile(join(path, /^\/\/ (tools\/\S+)\n/.exec(code)?.[1] ?? ''), code);
    }
    provideImports(path);
    set = await loadTools({
      folder: join(path, 'tools'),
      version: '1',
      importModule: importFresh,
      emit: (event) => events.push(event),
    });
  });
  after(() => stack.disposeAsync());

  /** What the assistant reads that calls a tool; the person says yes to everything. */
  async function answer(name: string, args: object): Promise<string | undefined> {
    const compiled = set.byName.get(name);
    const context = {
      user: { name: 'anna' },
      signal: new AbortController().signal,
      log: { info() {} },
      progress: async () => {},
      ask: async () => ({ reason: 'late' }),
      confirm: async () => true,
    } as unknown as ToolContext;
    const value = await compiled?.tool.run(compiled.input.parse(args) as never, context);
    const converted = toResult(value, compiled?.output);
    const [block] = 'result' in converted ? converted.result.content : [];
    return block?.type === 'text' ? block.text : undefined;
  }

  it('has examples that load without a word', () => {
    assert.deepEqual(
      events.map((event) => event.type),
      ['tools.loaded'],
    );
    assert.deepEqual(
      set.sorted.flatMap((one) => houseRuleProblems(one.published)),
      [],
    );
  });

  const calls: [name: string, args: object, text: string][] = [
    ['order-total', { customerId: 7 }, '{"totalCents":12900}'],
    ['OrderManager-getYearTotal', { year: 2026 }, '{"totalCents":12900}'],
    [
      'OrderManager-listBetween',
      { from: '2026-07-28' },
      '{"result":[{"id":1,"from":"2026-07-28T00:00:00.000Z","to":"2026-07-28T00:00:00.000Z"}]}',
    ],
    ['OrderManager-describe', { template: 'Open' }, 'Open: none'],
    ['OrderManager-describe', { template: 'Open', args: [1, 2] }, 'Open: 1, 2'],
    ['photo-add', { orderId: 1, photo: PNG }, 'Order 1: 9 bytes of image/png, undated'],
    ['stock-find', { region: 'eu', title: 'Emma' }, 'Emma is in stock in eu'],
    ['orders-cancel', { orderIds: [1, 2] }, 'Cancelled: 1, 2'],
  ];
  for (const [name, args, text] of calls) {
    it(`has an example that does what it says: ${name} ${JSON.stringify(args).slice(0, 40)}`, async () => {
      assert.equal(await answer(name, args), text);
    });
  }

  it('has permissions that fit the examples, by their full names', () => {
    const read = parseRoles(roles, 'roles.json');
    const nouns = { tools: new Set(set.byName.keys()), toolsIncomplete: false };
    assert.deepEqual(checkRoles(read, nouns), { errors: [], warnings: [] });
    const access = compileAccess(read);
    const may = set.sorted.filter(({ tool }) =>
      access.mayExecute(tool.name, access.closure(['orderReader'])),
    );
    assert.deepEqual(
      may.map(({ tool }) => tool.name),
      ['OrderManager-getYearTotal', 'OrderManager-listBetween', 'order-total', 'stock-find'],
    );
  });
});
