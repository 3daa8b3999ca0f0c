import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import {
  content,
  contentBlocks,
  isTool,
  isToolError,
  tool,
  toolError,
  type Tool,
} from '#src/tools/define.ts';
import { compileTool, toolSet, type CompiledTool } from '#src/tools/tool-set.ts';

const GOOD = {
  name: 'look',
  description: 'Use it to look.',
  input: z.object({ at: z.string() }),
  run: () => 'seen',
};

/** As a project in JavaScript may write it, without a compiler that looks. */
const unchecked = (change: object): Tool => tool({ ...GOOD, ...change });

function compiled(one: Tool): CompiledTool {
  const result = compileTool(one);
  assert.ok('compiled' in result, JSON.stringify(result));
  return result.compiled;
}

describe('a tool definition', () => {
  it('is a frozen tool, and nothing else is one', () => {
    const defined = tool(GOOD);
    assert.ok(isTool(defined) && Object.isFrozen(defined));
    for (const other of [GOOD, { ...GOOD, promote: [] }, undefined, null, 'tool', () => defined]) {
      assert.equal(isTool(other), false);
    }
  });

  it('is known across two copies of the package', () => {
    assert.ok(isTool({ [Symbol.for('castellan.tool')]: true }));
  });

  it('needs a function run', () => {
    assert.throws(() => unchecked({ run: undefined }), /no function run/);
    assert.throws(() => unchecked({ run: 'look' }), /no function run/);
  });

  it('tells errors to show from others', () => {
    assert.ok(isToolError(toolError('No such book')));
    for (const other of [new Error('x'), 'x', undefined, { message: 'x' }]) {
      assert.equal(isToolError(other), false);
    }
  });

  it('tells content from other values', () => {
    const block = { type: 'text', text: 'hi' } as const;
    assert.deepEqual(contentBlocks(content(block, block)), [block, block]);
    assert.deepEqual(contentBlocks(content()), []);
    for (const other of [{ content: [block] }, [block], null, 'x']) {
      assert.equal(contentBlocks(other), undefined);
    }
  });
});

describe('a compiled tool', () => {
  it('is published with what clients need, and nothing more', () => {
    const { published } = compiled(
      tool({
        ...GOOD,
        output: z.object({ total: z.number() }),
        annotations: { title: 'Look around', readOnlyHint: true },
        promote: ['reader'],
        run: () => ({ total: 1 }),
      }),
    );
    assert.deepEqual(published, {
      name: 'look',
      title: 'Look around',
      description: 'Use it to look.',
      inputSchema: {
        type: 'object',
        properties: { at: { type: 'string' } },
        required: ['at'],
        additionalProperties: false,
      },
      outputSchema: {
        type: 'object',
        properties: { total: { type: 'number' } },
        required: ['total'],
        additionalProperties: false,
      },
      annotations: { title: 'Look around', readOnlyHint: true },
    });
    assert.ok(Object.isFrozen(published));
    assert.deepEqual(Object.keys(compiled(tool(GOOD)).published), [
      'name',
      'inputSchema',
      'description',
    ]);
  });

  it('refuses unknown arguments, whatever its schema says', () => {
    for (const input of [z.object({}), z.looseObject({}), z.object({}).catchall(z.string())]) {
      assert.equal(compiled(unchecked({ input })).input.safeParse({ x: 'y' }).success, false);
    }
  });

  it('keeps checks of its own on the whole of its arguments', () => {
    const input = z.object({ from: z.int(), to: z.int() }).refine(({ from, to }) => from <= to);
    assert.equal(compiled(unchecked({ input })).input.safeParse({ from: 2, to: 1 }).success, false);
  });

  it('leaves out of a result what its output schema does not declare', () => {
    const parse = (output: z.ZodObject): unknown =>
      compiled(tool({ ...GOOD, output, run: () => ({}) })).output?.safeParse({ a: 1, b: 2 }).data;
    assert.deepEqual(parse(z.object({ a: z.int() })), { a: 1 });
    assert.deepEqual(parse(z.looseObject({ a: z.int() })), { a: 1 });
    assert.deepEqual(parse(z.object({ a: z.int() }).catchall(z.int())), { a: 1 });
    assert.equal(parse(z.strictObject({ a: z.int() })), undefined);
  });

  describe('whose last parameter is a list called args', () => {
    const args = z.array(z.string().max(3)).max(2).describe('What to fill in');
    const rest = compiled(unchecked({ input: z.object({ at: z.string(), args }) }));

    it('may be called without it, and gets an empty list', () => {
      assert.deepEqual(rest.input.parse({ at: 'x' }), { at: 'x', args: [] });
      assert.deepEqual(rest.input.parse({ at: 'x', args: ['a'] }), { at: 'x', args: ['a'] });
      assert.deepEqual(rest.published.inputSchema, {
        type: 'object',
        properties: {
          at: { type: 'string' },
          args: {
            type: 'array',
            items: { type: 'string', maxLength: 3 },
            maxItems: 2,
            description: 'What to fill in',
          },
        },
        required: ['at'],
        additionalProperties: false,
      });
    });

    it('has every one of them checked', () => {
      for (const wrong of ['a', null, [1], ['long'], ['a', 'b', 'c']])
        assert.equal(rest.input.safeParse({ at: 'x', args: wrong }).success, false);
      assert.equal(rest.input.safeParse({ at: 'x', more: 1 }).success, false);
      const some = unchecked({ input: z.object({ args: args.min(1) }) });
      assert.equal(compiled(some).input.safeParse({}).success, false);
    });

    it('keeps checks of its own on the whole', () => {
      const input = z.object({ args }).refine((all) => all.args.length !== 1);
      const { input: whole } = compiled(unchecked({ input }));
      assert.equal(whole.safeParse({ args: ['a'] }).success, false);
      assert.deepEqual(whole.parse({}), { args: [] });
    });

    it('needs them to be last, and a list', () => {
      for (const input of [z.object({ args, at: z.string() }), z.object({ args: z.string() })]) {
        const { required } = compiled(unchecked({ input })).published.inputSchema;
        assert.ok(Array.isArray(required) && required.includes('args'));
      }
    });
  });

  const names: [name: unknown, good: boolean][] = [
    ['a', true],
    ['OrderManager-getYearTotal', true],
    ['_x-9', true],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['', false],
    ['a b', false],
    ['a.b', false],
    ['a/b', false],
    ['é', false],
    ['a\n', false],
    ['<b>', false],
    [undefined, false],
    [5, false],
  ];
  for (const [name, good] of names) {
    it(`${good ? 'may' : 'may not'} be called ${JSON.stringify(name)?.slice(0, 30)}`, () => {
      const result = compileTool(unchecked({ name }));
      assert.equal('compiled' in result, good);
      if ('problem' in result) assert.match(result.problem, /^name: /);
    });
  }

  const wrong: [what: string, change: object, problem: RegExp][] = [
    ['input that is no object', { input: z.string() }, /^input is not a z\.object/],
    ['input that is no zod schema', { input: { type: 'object' } }, /^input is not a z\.object/],
    ['no input', { input: undefined }, /^input is not a z\.object/],
    ['output that is no object', { output: z.array(z.string()) }, /^output is not a z\.object/],
    ['input that breaks a rule', { input: z.object({ f: z.any() }) }, /^input f: every field/],
    ['output that breaks a rule', { output: z.object({ f: z.any() }) }, /^output f: every field/],
    ['a description that is no text', { description: 5 }, /^description: /],
    [
      'a hint that is no boolean',
      { annotations: { readOnlyHint: 'yes' } },
      /^annotations\.readOnlyHint: /,
    ],
    ['a title that is no text', { annotations: { title: {} } }, /^annotations\.title: /],
    ['annotations that are a text', { annotations: 'read only' }, /^annotations: /],
    ['promote that is no list', { promote: 'reader' }, /^promote: /],
  ];
  for (const [what, change, problem] of wrong) {
    it(`cannot have ${what}`, () => {
      const result = compileTool(unchecked(change));
      assert.match('problem' in result ? result.problem : 'compiled', problem);
    });
  }
});

describe('a tool set', () => {
  it('is found by name and sorted by code unit, however it was made', () => {
    const tools = ['b', 'a', 'B', 'a-1', '_'].map((name) => compiled(unchecked({ name })));
    const set = toolSet(tools, true);
    assert.deepEqual(
      set.sorted.map((one) => one.tool.name),
      ['B', '_', 'a', 'a-1', 'b'],
    );
    assert.equal(set.byName.get('a-1')?.tool.name, 'a-1');
    assert.equal(set.byName.get('__proto__'), undefined);
    assert.equal(set.incomplete, true);
  });
});
