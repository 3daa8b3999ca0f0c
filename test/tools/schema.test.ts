import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { findProblem, publishSchema, type JsonSchema } from '#src/tools/schema.ts';
import { compileTool } from '#src/tools/tool-set.ts';
import { tool } from '#src/tools/define.ts';
import { houseRuleProblems } from '../support/house-rules.ts';

const EMPTY = { type: 'object', properties: {}, additionalProperties: false };
const field = (schema: unknown): JsonSchema => ({ ...EMPTY, properties: { f: schema } });

describe('the house rules', () => {
  const good: [name: string, schema: JsonSchema][] = [
    ['no fields at all', EMPTY],
    ...['string', 'number', 'integer', 'boolean'].map((type): [string, JsonSchema] => [
      `a field of type ${type}`,
      field({ type }),
    ]),
    ['an array with items', field({ type: 'array', items: { type: 'string' } })],
    ['an object in an object', field({ ...EMPTY, additionalProperties: undefined })],
    ['an enum', field({ type: 'string', enum: ['a', 'b'] })],
    [
      'fields that are called like keywords',
      {
        ...EMPTY,
        properties: {
          default: { type: 'string' },
          const: { type: 'string' },
          $ref: { type: 'string' },
        },
      },
    ],
  ];
  for (const [name, schema] of good) {
    it(`allow ${name}`, () => assert.equal(findProblem(schema, '', 0), undefined));
  }

  const bad: [name: string, schema: JsonSchema, problem: string][] = [
    ['an array at the root', { type: 'array', items: {} }, '(root): the root is an object'],
    ['no type at the root', {}, '(root): the root is an object'],
    [
      'unknown fields at the root',
      { ...EMPTY, additionalProperties: true },
      '(root): unknown fields are refused',
    ],
    [
      'no properties',
      { type: 'object', additionalProperties: false },
      '(root): an object says what its properties are',
    ],
    [
      'no properties further down',
      field({ type: 'object' }),
      'f: an object says what its properties are',
    ],
    [
      'properties that are a list',
      { ...EMPTY, properties: [] },
      '(root): an object says what its properties are',
    ],
    ['a field without a type', field({}), 'f: every field has one plain type'],
    [
      'a field of two types',
      field({ type: ['string', 'null'] }),
      'f: every field has one plain type',
    ],
    ['null', field({ type: 'null' }), 'f: every field has one plain type'],
    ['an unknown type', field({ type: 'any' }), 'f: every field has one plain type'],
    ['true as a schema', field(true), '(root): f has no schema'],
    ['an array without items', field({ type: 'array' }), 'f: an array says what its items are'],
    [
      'an array with a list of items',
      field({ type: 'array', items: [{ type: 'string' }] }),
      'f: an array says what its items are',
    ],
    [
      'items of two types',
      field({ type: 'array', items: { type: ['string', 'number'] } }),
      'f[]: every field has one plain type',
    ],
    [
      'something deep down',
      field({ ...EMPTY, properties: { g: { type: 'array', items: field({ type: 'null' }) } } }),
      'f.g[].f: every field has one plain type',
    ],
    [
      'something in free properties',
      field({ ...EMPTY, additionalProperties: { type: 'null' } }),
      'f.*: every field has one plain type',
    ],
    ...[
      '$ref',
      '$defs',
      'definitions',
      'oneOf',
      'anyOf',
      'allOf',
      'not',
      'const',
      'default',
      'prefixItems',
      'patternProperties',
    ].flatMap((key): [string, JsonSchema, string][] => [
      [
        `${key} at the root`,
        { ...EMPTY, [key]: [] },
        `(root): ${key} is not accepted by every client`,
      ],
      [
        `${key} in a field`,
        field({ type: 'string', [key]: [] }),
        `f: ${key} is not accepted by every client`,
      ],
    ]),
  ];
  for (const [name, schema, problem] of bad) {
    it(`refuse ${name}`, () => assert.equal(findProblem(schema, '', 0), problem));
  }

  it('allow twelve levels and refuse thirteen', () => {
    const nested = (levels: number): JsonSchema =>
      levels === 0 ? EMPTY : { ...EMPTY, properties: { f: nested(levels - 1) } };
    assert.equal(findProblem(nested(12), '', 0), undefined);
    assert.match(findProblem(nested(13), '', 0) ?? '', /nested too deeply$/);
  });
});

describe('a published schema', () => {
  it('is the zod schema in plain words', () => {
    const schema = z.object({
      id: z.int().min(1).describe('Id of the book'),
      kind: z.literal('book'),
      order: z.enum(['asc', 'desc']).default('asc'),
      tags: z.array(z.string()).max(3).optional(),
      when: z.iso.date(),
      more: z.record(z.string(), z.int()),
      free: z.record(z.string(), z.unknown()).optional(),
    });
    assert.deepEqual(publishSchema(schema, 'input'), {
      schema: {
        type: 'object',
        properties: {
          id: { type: 'integer', minimum: 1, description: 'Id of the book' },
          kind: { type: 'string', enum: ['book'] },
          order: { type: 'string', enum: ['asc', 'desc'] },
          tags: { type: 'array', items: { type: 'string' }, maxItems: 3 },
          when: { type: 'string', format: 'date', pattern: datePattern() },
          more: { type: 'object', properties: {}, additionalProperties: { type: 'integer' } },
          free: { type: 'object', properties: {} },
        },
        required: ['id', 'kind', 'when', 'more'],
        additionalProperties: false,
      },
    });
  });

  it('requires in a result what has a default, and in arguments does not', () => {
    const schema = z.object({ order: z.string().default('asc') });
    const required = (direction: 'input' | 'output'): unknown => {
      const published = publishSchema(schema, direction);
      return 'schema' in published ? published.schema['required'] : undefined;
    };
    assert.equal(required('input'), undefined);
    assert.deepEqual(required('output'), ['order']);
  });

  it('refuses unknown fields at the root, whatever the zod schema says', () => {
    for (const schema of [z.object({}), z.strictObject({}), z.looseObject({})]) {
      assert.deepEqual(publishSchema(schema, 'input'), { schema: EMPTY });
      assert.deepEqual(publishSchema(schema, 'output'), { schema: EMPTY });
    }
  });

  const Tree = z.object({
    get children() {
      return z.array(Tree);
    },
  });
  const refused: [name: string, schema: z.ZodObject, problem: RegExp][] = [
    ['nullable', z.object({ f: z.string().nullable() }), /^f: every field has one plain type/],
    ['a union', z.object({ f: z.union([z.string(), z.int()]) }), /^f: anyOf/],
    ['an intersection', z.object({ f: z.string().and(z.email()) }), /^f: allOf/],
    [
      'a choice of objects',
      z.object({
        f: z.discriminatedUnion('k', [
          z.object({ k: z.literal(1) }),
          z.object({ k: z.literal(2) }),
        ]),
      }),
      /^f: oneOf/,
    ],
    ['anything', z.object({ f: z.any() }), /^f: every field has one plain type/],
    ['null', z.object({ f: z.null() }), /^f: every field has one plain type/],
    [
      'literals of two types',
      z.object({ f: z.literal(['a', 1]) }),
      /^f: every field has one plain/,
    ],
    ['a tuple', z.object({ f: z.tuple([z.string()]) }), /^f: prefixItems/],
    ['a recursion', Tree, /\$ref|\$defs/],
    ['a named schema', z.object({ f: z.string().meta({ id: 'Name' }) }), /\$ref|\$defs/],
    ['a date', z.object({ f: z.date() }), /Date cannot be represented/],
    ['a big integer', z.object({ f: z.bigint() }), /BigInt cannot be represented/],
    ['a map', z.object({ f: z.map(z.string(), z.string()) }), /Map cannot be represented/],
  ];
  for (const [name, schema, problem] of refused) {
    it(`cannot have ${name}`, () => {
      const published = publishSchema(schema, 'input');
      assert.match('problem' in published ? published.problem : 'published', problem);
    });
  }

  it('keeps to the rules as the design writes them down', () => {
    const input = z.object({
      a: z.object({ b: z.array(z.object({ c: z.string().default('x'), d: z.literal(1) })) }),
      e: z.record(z.string(), z.object({ f: z.boolean() })),
      g: z.looseObject({ h: z.email() }),
    });
    const compiled = compileTool(
      tool({
        name: 'all-kinds',
        description: 'Use it here.',
        input,
        output: input,
        run: () => ({}) as never,
      }),
    );
    assert.ok('compiled' in compiled);
    assert.deepEqual(houseRuleProblems(compiled.compiled.published), []);
  });
});

function datePattern(): unknown {
  const { properties } = z.toJSONSchema(z.object({ when: z.iso.date() }));
  const when = properties?.['when'];
  return typeof when === 'object' ? when.pattern : undefined;
}
