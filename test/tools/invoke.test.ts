import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import type { Principal } from '#src/credentials/principal.ts';
import type { Outcome } from '#src/tools/invoke.ts';
import { call, closing, never, principal } from './call.ts';

describe('which tool is called', () => {
  const cases: [name: string, of: Principal, outcome: Outcome, event: string][] = [
    ['nowhere', principal(['reader']), { kind: 'unknown' }, 'refused: no such tool'],
    ['__proto__', principal(['reader']), { kind: 'unknown' }, 'refused: no such tool'],
    ['Look', principal(['reader']), { kind: 'unknown' }, 'refused: no such tool'],
    ['', principal(['reader']), { kind: 'unknown' }, 'refused: no such tool'],
    ['locked', principal(['admin']), { kind: 'unknown' }, "refused: beyond the person's roles"],
    ['unlisted', principal(['admin']), { kind: 'unknown' }, "refused: beyond the person's roles"],
    ['change', principal(['reader']), { kind: 'unknown' }, "refused: beyond the person's roles"],
    ['look', principal([]), { kind: 'unknown' }, "refused: beyond the person's roles"],
    [
      'change',
      principal(['reader'], ['writer']),
      { kind: 'insufficient', missing: ['writer'] },
      'refused: insufficient scope',
    ],
    [
      'change',
      principal(['reader'], ['admin']),
      { kind: 'insufficient', missing: ['admin'] },
      'refused: insufficient scope',
    ],
    [
      'look',
      principal([], ['writer']),
      { kind: 'insufficient', missing: ['reader'] },
      'refused: insufficient scope',
    ],
  ];
  for (const [name, of, outcome, event] of cases) {
    it(`${event}: ${JSON.stringify(name)} with [${of.granted.join()}]`, async () => {
      const invocation = await call(never, { name, principal: of });
      assert.deepEqual(invocation.outcome, outcome);
      assert.equal(closing(invocation.events), event);
    });
  }

  it('is told by its first 64 characters when there is none', async () => {
    const { events } = await call(never, { name: 'x'.repeat(100_000) });
    const [event] = events;
    assert.equal(event?.type === 'tool.called' && event.tool, 'x'.repeat(64));
  });

  it('runs with any of its privileges, included ones too', async () => {
    const outcomes = await Promise.all([
      call(() => 'ran', { name: 'look', principal: principal(['writer']) }),
      call(() => 'ran', { name: 'change', principal: principal(['writer']) }),
      call(() => 'ran', { name: 'change', principal: principal(['admin']) }),
    ]);
    assert.deepEqual(
      outcomes.map((one) => one.text),
      ['ran', 'ran', 'ran'],
    );
  });
});

describe('arguments', () => {
  const input = z.object({
    id: z.int().min(1),
    kind: z.enum(['a', 'b']).optional(),
    lines: z.array(z.object({ quantity: z.int().max(9) })).optional(),
    exact: z.literal(true).optional(),
  });
  const cases: [name: string, value: unknown, problems: string][] = [
    ['missing', {}, 'id: required'],
    ['left out altogether', undefined, 'id: required'],
    ['null', null, 'id: required'],
    ['of the wrong type', { id: 'x' }, 'id: Invalid input: expected number, received string'],
    ['null where a number is', { id: null }, 'id: Invalid input: expected number, received null'],
    ['too small', { id: 0 }, 'id: Too small: expected number to be >=1'],
    ['unknown', { id: 1, book: 2 }, 'book: unknown parameter'],
    ['several unknown', { id: 1, a: 2, b: 3 }, 'a: unknown parameter; b: unknown parameter'],
    ['in another case', { ID: 1 }, 'id: required; ID: unknown parameter'],
    ['in another case too', { id: 1, Id: 2 }, 'Id: unknown parameter'],
    ['not offered', { id: 1, kind: 'c' }, 'kind: Invalid option: expected one of "a"|"b"'],
    ['another literal', { id: 1, exact: false }, 'exact: Invalid input: expected true'],
    ['missing further down', { id: 1, lines: [{}] }, 'lines.0.quantity: required'],
    [
      'too large further down',
      { id: 1, lines: [{ quantity: 1 }, { quantity: 10 }] },
      'lines.1.quantity: Too big: expected number to be <=9',
    ],
    ['a list', [], 'arguments: Invalid input: expected object, received array'],
    ['text', '{"id":1}', 'arguments: Invalid input: expected object, received string'],
    [
      '__proto__',
      JSON.parse('{"id":1,"__proto__":{"admin":true}}'),
      '__proto__: unknown parameter',
    ],
    ['constructor', { id: 1, constructor: 1 }, 'constructor: unknown parameter'],
  ];
  for (const [name, value, problems] of cases) {
    it(`are refused, and nothing runs: ${name}`, async () => {
      const invocation = await call(never, { tool: { input }, arguments: value });
      assert.equal(invocation.text, `Invalid parameters: ${problems}`);
      assert.equal(invocation.isError, true);
      assert.equal(closing(invocation.events), 'refused: invalid parameters');
    });
  }

  it('say that a missing choice is required', async () => {
    const choice = z.object({ kind: z.enum(['a', 'b']), exact: z.literal(true) });
    const { text } = await call(never, { tool: { input: choice } });
    assert.equal(text, 'Invalid parameters: kind: required; exact: required');
  });

  it('are named ten at most', async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`a${index}`, 1]));
    const { text } = await call(never, { arguments: many });
    assert.match(text ?? '', /^Invalid parameters: a0: unknown parameter; .*; and 4990 more$/);
  });

  it('may be checked as a whole', async () => {
    const range = z
      .object({ from: z.int(), to: z.int() })
      .refine(({ from, to }) => from <= to, 'from is after to');
    const { text } = await call(never, { tool: { input: range }, arguments: { from: 2, to: 1 } });
    assert.equal(text, 'Invalid parameters: arguments: from is after to');
  });

  it('may be checked by something that takes time', async () => {
    const later = z.object({ id: z.int().refine(async (id) => id === 1, 'no such book') });
    const good = await call((args: { id: number }) => args.id, {
      tool: { input: later },
      arguments: { id: 1 },
    });
    assert.equal(good.text, '1');
    const bad = await call(never, { tool: { input: later }, arguments: { id: 2 } });
    assert.equal(bad.text, 'Invalid parameters: id: no such book');
  });

  it('are an internal error when the check itself breaks', async () => {
    const broken = z.object({ id: z.int().transform(() => assert.fail('secret detail')) });
    const invocation = await call(never, { tool: { input: broken }, arguments: { id: 1 } });
    assert.equal(invocation.text, 'Internal error (request r1)');
    assert.equal(closing(invocation.events), 'failed: secret detail');
  });

  it('arrive as the schema makes them', async () => {
    const shaped = z.object({ n: z.int().default(7), s: z.string().transform(Number).optional() });
    const { outcome } = await call((args) => args, {
      tool: { input: shaped },
      arguments: { s: '5' },
    });
    assert.deepEqual(outcome.kind === 'result' && outcome.result.structuredContent, { n: 7, s: 5 });
  });
});
