import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { z } from 'zod';
import { content, toolError, type Tool, type ToolContext } from '#src/tools/define.ts';
import { call, closing, never, principal } from './call.ts';

/** What query builders are: awaited like a promise, and none. */
function thenable(then: (go: (value: string) => void) => void): object {
  return Object.fromEntries(new Map([['then', then]]));
}

describe('what a tool does', () => {
  type Run = (args: never, context: ToolContext) => unknown;
  const results: [
    name: string,
    run: Run,
    text: string | undefined,
    isError: boolean,
    event: string,
  ][] = [
    ['returns at once', () => 'now', 'now', false, 'done'],
    ['returns later', async () => 'later', 'later', false, 'done'],
    [
      'returns something to wait for',
      () => thenable((go) => go('thenable')),
      'thenable',
      false,
      'done',
    ],
    ['returns content', () => content({ type: 'text', text: 'hi' }), 'hi', false, 'done'],
    ['returns nothing', () => {}, undefined, false, 'done'],
    [
      'refuses',
      () => {
        throw toolError('No book has the id 5');
      },
      'No book has the id 5',
      true,
      'failed: No book has the id 5',
    ],
    [
      'refuses later',
      async () => {
        throw toolError('Later, no');
      },
      'Later, no',
      true,
      'failed: Later, no',
    ],
    [
      'breaks',
      () => {
        throw new Error('password=hunter2');
      },
      'Internal error (request r1)',
      true,
      'failed: password=hunter2',
    ],
    [
      'breaks later',
      async () => {
        throw new TypeError('x');
      },
      'Internal error (request r1)',
      true,
      'failed: x',
    ],
    [
      'throws text',
      () => {
        throw 'odd' as unknown as Error;
      },
      'Internal error (request r1)',
      true,
      'failed: odd',
    ],
    [
      'throws nothing',
      () => {
        throw undefined as unknown as Error;
      },
      'Internal error (request r1)',
      true,
      'failed: undefined',
    ],
    [
      'returns a big integer within',
      () => ({ n: 1n }),
      'Internal error (request r1)',
      true,
      'failed: Do not know how to serialize a BigInt',
    ],
  ];
  for (const [name, run, text, isError, event] of results) {
    it(`is answered: it ${name}`, async () => {
      const invocation = await call(run);
      assert.equal(invocation.text, text);
      assert.equal(invocation.isError, isError);
      assert.equal(closing(invocation.events), event);
    });
  }

  it('is an internal error when its result does not fit its output schema', async () => {
    const output = z.object({ total: z.number() });
    const invocation = await call(() => ({ total: 'many' }), { tool: { output } });
    assert.equal(invocation.text, 'Internal error (request r1)');
    assert.equal(invocation.isError, true);
    assert.match(closing(invocation.events), /^failed: its result does not fit .*: total: /);
  });

  it('leaves out of its result what the output schema does not declare', async () => {
    const output = z.looseObject({ total: z.number() });
    const { outcome } = await call(() => ({ total: 1, iban: 'DE00' }), { tool: { output } });
    assert.deepEqual(outcome.kind === 'result' && outcome.result.structuredContent, { total: 1 });
  });

  it('is told who calls, and what they may do', async () => {
    let seen: ToolContext | undefined;
    await call((_args, context) => void (seen = context), { principal: principal(['writer']) });
    assert.deepEqual(seen?.user, { id: 'usr_1', name: 'anna', roles: ['clerk'] });
    assert.deepEqual(seen?.client, { id: 'cli_1', name: 'App' });
    assert.deepEqual([...(seen?.privileges ?? [])].toSorted(), ['reader', 'writer']);
  });

  it('has what it is promoted to while it runs, and its caller has not', async () => {
    const caller = principal(['reader']);
    let seen: string[] = [];
    const look = (_args: never, context: ToolContext): void => {
      seen = [...context.privileges].toSorted();
    };
    await call(look, { principal: caller, tool: { promote: ['writer', 'undeclared'] } });
    assert.deepEqual(seen, ['reader', 'writer']);
    assert.deepEqual([...caller.effective], ['reader']);
    // To call it takes the caller's own privileges.
    const refused = await call(never, { principal: principal([]), tool: { promote: ['admin'] } });
    assert.equal(refused.outcome.kind, 'unknown');
  });

  it('writes to the log, not to the caller', async () => {
    const { events, text } = await call((_args, { log }) => {
      log.info('one');
      log.warn('two');
      log.error('three');
      return 'done';
    });
    assert.equal(text, 'done');
    const lines = events.filter((event) => event.type === 'tool.log');
    assert.deepEqual(
      lines.map(({ level, message, tool: name, requestId }) => [level, message, name, requestId]),
      [
        ['info', 'one', 'look', 'r1'],
        ['warn', 'two', 'look', 'r1'],
        ['error', 'three', 'look', 'r1'],
      ],
    );
  });
});

describe('a caller who has gone', () => {
  const gone = new Error('the caller has gone');

  it('aborts the signal of the tool, whose result is dropped', async () => {
    const caller = new AbortController();
    let reason: unknown;
    const invocation = await call(
      async (_args, { signal }) => {
        caller.abort(gone);
        reason = signal.reason;
        await new Promise((resolve) => setImmediate(resolve));
        return 'too late';
      },
      { signal: caller.signal },
    );
    assert.equal(reason, gone);
    assert.deepEqual(invocation.outcome, { kind: 'cancelled' });
    assert.equal(closing(invocation.events), 'cancelled');
  });

  it('is not waited for by a tool that ignores its signal', async () => {
    const endless: Tool['run'][] = [
      () => new Promise(() => {}),
      // Awaited as it is, though no promise.
      () => thenable(() => {}),
    ];
    for (const run of endless) {
      const caller = new AbortController();
      setImmediate(() => caller.abort(gone));
      const invocation = await call(run, { signal: caller.signal });
      assert.deepEqual(invocation.outcome, { kind: 'cancelled' });
    }
  });

  it('keeps a tool from running when they left before', async () => {
    let hasRun = false;
    const invocation = await call(() => void (hasRun = true), { signal: AbortSignal.abort(gone) });
    assert.equal(hasRun, false);
    assert.deepEqual(invocation.outcome, { kind: 'cancelled' });
    assert.equal(closing(invocation.events), 'cancelled');
  });

  it('is not surprised by what the tool throws afterwards', async (t: TestContext) => {
    const surprises: unknown[] = [];
    const note = (error: unknown): void => void surprises.push(error);
    process.on('unhandledRejection', note);
    t.after(() => process.off('unhandledRejection', note));
    const late = Promise.withResolvers<never>();
    const caller = new AbortController();
    setImmediate(() => caller.abort(gone));
    await call(() => late.promise, { signal: caller.signal });
    const own = new AbortController();
    await call(
      async () => {
        own.abort(gone);
        throw new Error('before it returned');
      },
      { signal: own.signal },
    );
    late.reject(new Error('long after'));
    // Unhandled rejections are told after the microtasks of this turn.
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(surprises, []);
  });
});

describe('a call that takes too long', () => {
  it('is stopped after five minutes, and its caller is told', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let signal: AbortSignal | undefined;
    const pending = call((_args, context) => {
      ({ signal } = context);
      return new Promise(() => {});
    });
    await Promise.resolve();
    t.mock.timers.tick(299_999);
    assert.equal(signal?.aborted, false);
    t.mock.timers.tick(1);
    const invocation = await pending;
    assert.equal(signal?.aborted, true);
    assert.equal(invocation.text, 'This call took too long and was stopped');
    assert.equal(invocation.isError, true);
    assert.equal(closing(invocation.events), 'failed: it took too long');
  });

  it('leaves no timer behind when it did not', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let signal: AbortSignal | undefined;
    await call((_args, context) => void ({ signal } = context));
    t.mock.timers.tick(300_000);
    assert.equal(signal?.aborted, false);
  });
});
