import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { choice, formSchema } from '#src/tools/form.ts';

const titles = { de: 'Germany', fr: 'France' };

describe('a form', () => {
  const fields: [name: string, field: z.ZodType, shown: object][] = [
    ['a text', z.string(), { type: 'string' }],
    ['a bounded text', z.string().min(2).max(5), { type: 'string', minLength: 2, maxLength: 5 }],
    ['an address', z.email(), { type: 'string', format: 'email' }],
    ['a date', z.iso.date(), { type: 'string', format: 'date' }],
    ['a whole number', z.int(), { type: 'integer' }],
    ['a bounded number', z.number().min(1).max(5), { type: 'number', minimum: 1, maximum: 5 }],
    ['a tick', z.boolean().default(true), { type: 'boolean', default: true }],
    [
      'what a person reads',
      z.string().meta({ title: 'Name', description: 'As on the card', secret: 'x' }),
      { type: 'string', title: 'Name', description: 'As on the card' },
    ],
    ['a choice', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
    [
      'a choice with titles',
      choice(titles),
      {
        type: 'string',
        oneOf: [
          { const: 'de', title: 'Germany' },
          { const: 'fr', title: 'France' },
        ],
      },
    ],
    [
      'several of a list',
      z.array(z.enum(['a', 'b'])).max(2),
      { type: 'array', maxItems: 2, items: { type: 'string', enum: ['a', 'b'] } },
    ],
    [
      'several with titles',
      z.array(choice(titles)),
      {
        type: 'array',
        items: {
          anyOf: [
            { const: 'de', title: 'Germany' },
            { const: 'fr', title: 'France' },
          ],
        },
      },
    ],
  ];
  for (const [name, field, shown] of fields) {
    it(`shows ${name}`, () => {
      const { type, properties, ...rest } = formSchema(z.strictObject({ it: field }));
      assert.deepEqual([type, properties], ['object', { it: shown }]);
      const isRequired = !('default' in shown);
      assert.deepEqual(rest, isRequired ? { required: ['it'] } : {});
    });
  }

  const unshown: [name: string, field: z.ZodType][] = [
    ['an object', z.object({ a: z.string() })],
    ['a list of texts', z.array(z.string())],
    ['a list of numbers', z.array(z.number())],
    ['either of two', z.union([z.string(), z.number()])],
    ['maybe null', z.string().nullable()],
    ['anything', z.any()],
    ['a map', z.record(z.string(), z.string())],
  ];
  for (const [name, field] of unshown) {
    it(`cannot show ${name}`, () => {
      assert.throws(() => formSchema(z.strictObject({ it: field })), TypeError);
    });
  }

  it('has a size', () => {
    const long = z.string().describe('x'.repeat(20_000));
    assert.throws(() => formSchema(z.strictObject({ long })), /at most 16384 bytes/);
  });

  it('takes one of a choice’s values and no title', () => {
    assert.equal(choice(titles).safeParse('de').success, true);
    assert.equal(choice(titles).safeParse('Germany').success, false);
  });
});
