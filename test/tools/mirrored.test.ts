import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { tool } from '#src/tools/define.ts';
import { t } from '#src/tools/fields.ts';
import { compileTool } from '#src/tools/tool-set.ts';
import { houseRuleProblems } from '../support/house-rules.ts';

const compile = (input: z.ZodObject): ReturnType<typeof compileTool> =>
  compileTool(tool({ name: 'it', description: 'Use it.', input, run: () => '' }));

describe('fields that travel in a header too', () => {
  it('are published as the specification says, and found', () => {
    const result = compile(
      z.object({
        region: t.header('Region', z.string().describe('Where')),
        day: t.header('Day', t.date()).optional(),
        where: z.object({ shard: t.header('X-Shard-9', z.int()) }).optional(),
        dry: z.boolean().meta({ 'x-mcp-header': 'dry' }).default(false),
        other: z.number(),
      }),
    );
    assert.ok('compiled' in result, JSON.stringify(result));
    const { mirrored, published } = result.compiled;
    assert.deepEqual(mirrored, [
      { path: ['region'], name: 'Region' },
      { path: ['day'], name: 'Day' },
      { path: ['where', 'shard'], name: 'X-Shard-9' },
      { path: ['dry'], name: 'dry' },
    ]);
    const { region } = published.inputSchema['properties'] as Record<string, unknown>;
    assert.deepEqual(region, { type: 'string', description: 'Where', 'x-mcp-header': 'Region' });
    assert.deepEqual(houseRuleProblems(published), []);
  });

  it('are none in most tools', () => {
    const result = compile(z.object({ 'x-mcp-header': z.string() }));
    assert.deepEqual('compiled' in result && result.compiled.mirrored, []);
  });

  const text = t.header('Region', z.string());
  const name = /header is called by 1 to 64 letters/;
  const plain = /a header holds a text, an integer or a boolean$/;
  const place = /a header holds no field of the whole, a list or a map$/;
  const wrong: [what: string, input: z.ZodObject, problem: RegExp][] = [
    ['no name', z.object({ f: t.header('', z.string()) }), name],
    ['a name with a space', z.object({ f: t.header('a b', z.string()) }), name],
    ['a name with a colon', z.object({ f: t.header('a:', z.string()) }), name],
    ['a name of two lines', z.object({ f: t.header('a\r\nb', z.string()) }), name],
    ['a name that proxies drop', z.object({ f: t.header('a_b', z.string()) }), name],
    ['a long name', z.object({ f: t.header('a'.repeat(65), z.string()) }), name],
    ['a name that is no text', z.object({ f: z.string().meta({ 'x-mcp-header': 5 }) }), name],
    ['a number with a fraction', z.object({ f: t.header('F', z.number()) }), plain],
    ['a list', z.object({ f: t.header('F', z.array(z.string())) }), plain],
    ['an object', z.object({ f: t.header('F', z.object({})) }), plain],
    ['the whole', t.header('F', z.object({})), place],
    ['members of a list', z.object({ f: z.array(text) }), place],
    ['fields in a list', z.object({ f: z.array(z.object({ g: text })) }), place],
    ['values of a map', z.object({ f: z.record(z.string(), text) }), place],
    [
      'one name twice',
      z.object({ a: text, b: z.object({ c: t.header('REGION', z.string()) }) }),
      /^input b\.c: another field has the header REGION$/,
    ],
  ];
  for (const [what, input, problem] of wrong) {
    it(`cannot have ${what}`, () => {
      const result = compile(input);
      assert.match('problem' in result ? result.problem : 'compiled', problem);
    });
  }
});
