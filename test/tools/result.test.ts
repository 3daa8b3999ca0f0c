import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { content, isToolError } from '#src/tools/define.ts';
import { failure, toResult, type ToolResult } from '#src/tools/result.ts';

const text = (value: string): ToolResult => ({ content: [{ type: 'text', text: value }] });
const both = (value: Record<string, unknown>): ToolResult => ({
  ...text(JSON.stringify(value)),
  structuredContent: value,
});

describe('what a tool returns', () => {
  class Money {
    cents = 1_290;
    toJSON(): object {
      return { euros: this.cents / 100 };
    }
  }
  const cases: [name: string, value: unknown, result: ToolResult][] = [
    ['text', 'hello', text('hello')],
    ['an empty text', '', text('')],
    ['a number', 4.5, text('4.5')],
    ['a boolean', false, text('false')],
    ['a big integer', 12_345_678_901_234_567_890n, text('12345678901234567890')],
    ['nothing', undefined, { content: [] }],
    ['null', null, { content: [] }],
    ['a function', () => 1, { content: [] }],
    ['a symbol', Symbol('x'), { content: [] }],
    ['a date', new Date(0), text('1970-01-01T00:00:00.000Z')],
    ['a date that is none', new Date(Number.NaN), { content: [] }],
    ['a URL', new URL('https://example.com/'), text('https://example.com/')],
    ['an object', { total: 3, of: ['a'] }, both({ total: 3, of: ['a'] })],
    ['an empty object', {}, both({})],
    ['an object that says what it is in JSON', new Money(), both({ euros: 12.9 })],
    ['a list', [1, 'b'], both({ result: [1, 'b'] })],
    ['an empty list', [], both({ result: [] })],
    [
      'content',
      content({ type: 'image', data: 'AAAA', mimeType: 'image/png' }, { type: 'text', text: 'a' }),
      {
        content: [
          { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          { type: 'text', text: 'a' },
        ],
      },
    ],
    ['no content', content(), { content: [] }],
    ['what only looks like content', { content: [] }, both({ content: [] })],
  ];
  for (const [name, value, result] of cases) {
    it(`is converted: ${name}`, () => assert.deepEqual(toResult(value, undefined), { result }));
  }

  it('may be an object that is its own JSON, or has no prototype', () => {
    const self = { a: 1, toJSON: (): unknown => self };
    const bare: unknown = Object.assign(Object.create(null), { a: 1 });
    for (const value of [self, bare]) {
      const converted = toResult(value, undefined);
      assert.ok('result' in converted);
      assert.deepEqual(converted.result.content, [{ type: 'text', text: '{"a":1}' }]);
      assert.equal(converted.result.structuredContent, value);
    }
  });

  it('has dates within as ISO text, wherever it goes', () => {
    const converted = toResult({ at: new Date(0), all: [{ on: new Date(1) }] }, undefined);
    assert.ok('result' in converted);
    const json = '{"at":"1970-01-01T00:00:00.000Z","all":[{"on":"1970-01-01T00:00:00.001Z"}]}';
    assert.deepEqual(converted.result.content, [{ type: 'text', text: json }]);
    // What goes out is the JSON of it.
    assert.equal(JSON.stringify(converted.result.structuredContent), json);
  });

  const bytes = Buffer.from('secret');
  const binary: [name: string, value: unknown][] = [
    ['a Buffer', bytes],
    ['an array of bytes', new Uint8Array(bytes)],
    ['an array of numbers', new Float64Array(2)],
    ['a view', new DataView(new ArrayBuffer(2))],
    ['a buffer of JavaScript’s own', new ArrayBuffer(2)],
    ['a Blob', new Blob(['secret'])],
    ['a File', new File(['secret'], 'a.txt')],
    ['a picture as it was sent', { data: bytes, mimeType: 'image/png' }],
    ['bytes in a list', [{ id: 1, file: bytes }]],
    ['a Blob deep down', { a: { b: [{ c: new Blob([]) }] } }],
    ['something that says it is bytes', { toJSON: () => bytes }],
  ];
  const output = z.object({ it: z.record(z.string(), z.unknown()) });
  for (const [name, value] of binary) {
    it(`has no binary data in its JSON: ${name}`, () => {
      const refused = (error: unknown): boolean =>
        isToolError(error) &&
        error.message.startsWith('This tool returns binary data within other data');
      assert.throws(() => toResult(value, undefined), refused);
      assert.throws(() => toResult({ it: { value } }, output), refused);
    });
  }

  it('throws where there is no JSON for it', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    assert.throws(() => toResult(circle, undefined), TypeError);
    assert.throws(() => toResult({ big: 1n }, undefined), TypeError);
  });
});

describe('what a tool with an output schema returns', () => {
  const output = z.object({ total: z.number(), note: z.string().default('none') });

  it('is what the schema makes of it', () => {
    assert.deepEqual(toResult({ total: 1, secret: 'x' }, output), {
      result: both({ total: 1, note: 'none' }),
    });
  });

  const wrong: [name: string, value: unknown, problem: RegExp][] = [
    ['another type', { total: '1' }, /^total: /],
    ['a missing field', {}, /^total: /],
    ['two wrong fields', { total: '1', note: 2 }, /^total: .+; note: /],
    ['no object', 'text', /expected object/],
    ['nothing', undefined, /expected object/],
    ['content', content(), /^total: /],
    ['a number that is none', { total: Number.NaN }, /^total: /],
  ];
  for (const [name, value, problem] of wrong) {
    it(`does not fit: ${name}`, () => {
      const result = toResult(value, output);
      assert.match('problem' in result ? result.problem : 'fits', problem);
    });
  }
});

it('a failure is a text that says what went wrong', () => {
  assert.deepEqual(failure('No such book'), { ...text('No such book'), isError: true });
});
