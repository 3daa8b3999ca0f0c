import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { z } from 'zod';
import { compileAccess } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';
import type { Authenticator } from '#src/credentials/authenticate.ts';
import type { Event } from '#src/events.ts';
import { tool, toolError, type ToolContext } from '#src/tools/define.ts';
import { dial } from '../http/listening.ts';
import {
  ANNA,
  authenticatorFor,
  mcpServer,
  modern,
  type Answer,
  type McpServer,
  type Sent,
  type ServerOptions,
} from './server.ts';

const OPEN = compileAccess(rolesSchema.parse({ restrictedByDefault: false }));

type Run = (context: ToolContext) => unknown;

function serving(run: Run, options: ServerOptions = {}): Promise<McpServer> {
  const one = tool({ name: 'it', input: z.object({}), run: (_args, context) => run(context) });
  return mcpServer({ tools: [one], access: OPEN, ...options });
}

const call = (progressToken?: unknown): Sent =>
  modern(
    'tools/call',
    { name: 'it' },
    { meta: progressToken === undefined ? {} : { progressToken } },
  );

interface Message {
  id?: unknown;
  params?: unknown;
  result?: Record<string, unknown>;
}

/** The messages of an event stream. */
function messages({ text }: Answer): Message[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('event: message\ndata: '))
    .map((event) => JSON.parse(event.slice('event: message\ndata: '.length)) as Message);
}

/** Turns of the event loop, until something is so. */
async function turnsUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

/** Sends a call on a connection of its own, and leaves the answer unread. */
async function sendUnread(server: McpServer, { headers = {}, body = '' }: Sent): Promise<Socket> {
  const socket = await dial(server.port);
  socket.pause();
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.write(
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${String(body)}`,
  );
  return socket;
}

describe('progress', () => {
  it('turns the answer into a stream that ends with the result', async () => {
    await using server = await serving(async ({ progress }) => {
      await progress(1, 3);
      await progress(2, 3, 'nearly');
      await progress(3);
      return 'done';
    });
    const answer = await server.send(call('t1'));
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'text/event-stream');
    assert.equal(answer.headers['cache-control'], 'no-store, no-transform');
    assert.equal(answer.headers['x-accel-buffering'], 'no');
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]{16}$/);
    const [one, two, three, last, ...more] = messages(answer);
    const note = (params: object): object => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 't1', ...params },
    });
    assert.deepEqual(one, note({ progress: 1, total: 3 }));
    assert.deepEqual(two, note({ progress: 2, total: 3, message: 'nearly' }));
    assert.deepEqual(three, note({ progress: 3 }));
    assert.equal(last?.id, 1);
    assert.deepEqual(last?.result?.['content'], [{ type: 'text', text: 'done' }]);
    assert.deepEqual(more, []);
  });

  const tokens: [token: unknown, streams: boolean][] = [
    ['', true],
    ['t', true],
    [0, true],
    [7, true],
    [undefined, false],
    [null, false],
    [1.5, false],
    [true, false],
    [{}, false],
    [['t'], false],
  ];
  for (const [token, streams] of tokens) {
    it(`is ${streams ? 'told' : 'not told'} for the token ${JSON.stringify(token)}`, async () => {
      await using server = await serving(async ({ progress }) => {
        await progress(1);
        return 'done';
      });
      const answer = await server.send(call(token));
      const type = streams ? 'text/event-stream' : 'application/json';
      assert.equal(answer.headers['content-type'], type);
      if (!streams) return;
      const [first] = messages(answer);
      assert.deepEqual(first?.params, { progressToken: token, progress: 1 });
    });
  }

  it('only grows, and is made of numbers', async () => {
    const odd = 'x' as unknown as number;
    await using server = await serving(async ({ progress }) => {
      for (const done of [2, 2, 1, Number.NaN, Number.POSITIVE_INFINITY, odd, 2.5])
        await progress(done);
      await progress(3, Number.NaN);
      await progress(4, 10n as unknown as number, 5n as unknown as string);
      return 'done';
    });
    const told = messages(await server.send(call('t'))).slice(0, -1);
    assert.deepEqual(
      told.map((one) => one.params),
      [2, 2.5, 3, 4].map((progress) => ({ progressToken: 't', progress })),
    );
  });

  it('that nobody tells leaves the answer plain JSON', async () => {
    await using server = await serving(() => 'done');
    const answer = await server.send(call('t'));
    assert.equal(answer.headers['content-type'], 'application/json');
  });

  it('may be followed by an error, on the stream', async () => {
    await using server = await serving(async ({ progress }) => {
      await progress(1);
      throw toolError('No more');
    });
    const [, last] = messages(await server.send(call('t')));
    assert.equal(last?.result?.['isError'], true);
  });

  it('that comes after the answer is dropped', async () => {
    const late = Promise.withResolvers<void>();
    await using server = await serving(({ progress }) => {
      setImmediate(() => {
        progress(1)
          .then(() => progress(2))
          .then(late.resolve, late.reject);
      });
      return 'done';
    });
    const answer = await server.send(call('t'));
    await late.promise;
    assert.equal(answer.headers['content-type'], 'application/json');
  });

  it('keeps a quiet stream alive every 20 seconds', async (t: TestContext) => {
    const started = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    t.mock.timers.enable({ apis: ['setInterval'] });
    await using server = await serving(async ({ progress }) => {
      await progress(1);
      started.resolve();
      await go.promise;
      return 'done';
    });
    const answer = server.send(call('t'));
    await started.promise;
    t.mock.timers.tick(19_999);
    t.mock.timers.tick(20_001);
    go.resolve();
    const { text } = await answer;
    assert.equal(text.split(': still working\n\n').length - 1, 2);
  });
});

describe('a slow reader', () => {
  const LINE = 'x'.repeat(100_000);
  const STEPS = 300;

  it('makes a tool that awaits its progress wait, and then gets everything', async () => {
    let response: ServerResponse | undefined;
    let most = 0;
    await using server = await serving(
      async ({ progress }) => {
        for (let step = 1; step <= STEPS; step += 1) {
          await progress(step, STEPS, LINE);
          most = Math.max(most, response?.writableLength ?? 0);
        }
        return 'done';
      },
      { onResponse: (one) => (response = one) },
    );
    const socket = await sendUnread(server, call('t'));
    // Nothing is read until the kernel's buffers and ours are full.
    await turnsUntil(() => response?.writableNeedDrain === true);
    let text = '';
    socket
      .setEncoding('utf8')
      .on('data', (chunk: string) => (text += chunk))
      .resume();
    await new Promise((resolve) => socket.once('close', resolve));
    assert.equal(text.match(/notifications\/progress/g)?.length, STEPS);
    assert.ok(text.includes('"text":"done"'));
    assert.ok(most < 1_000_000, `${most} bytes were held`);
  });

  it('cannot fill the memory through a tool that does not wait', async () => {
    let response: ServerResponse | undefined;
    let held = 0;
    await using server = await serving(
      async ({ progress }) => {
        const all = Array.from({ length: STEPS }, (_, step) => progress(step, STEPS, LINE));
        held = response?.writableLength ?? 0;
        await Promise.all(all);
        return 'done';
      },
      { onResponse: (one) => (response = one) },
    );
    const answer = await server.send(call('t'));
    assert.ok(held < 1_000_000, `${held} bytes were held`);
    assert.ok(messages(answer).length < STEPS, 'what came between was dropped');
    assert.match(answer.text, /"text":"done"/);
  });
});

describe('a caller who leaves', () => {
  /** A server, and the outcome of the first call that closes on it. */
  async function watched(run: Run, options: ServerOptions = {}) {
    const { promise: outcome, resolve } = Promise.withResolvers<string>();
    const onEvent = (event: Event): void => {
      if (event.type === 'tool.called') resolve(event.outcome);
    };
    return { server: await serving(run, { ...options, onEvent }), outcome };
  }

  const moments: [name: string, token: unknown, progressBefore: boolean][] = [
    ['without a stream', undefined, true],
    ['before the stream has begun', 't', false],
    ['after the stream has begun', 't', true],
  ];
  for (const [name, token, progressBefore] of moments) {
    it(`aborts the call ${name}`, async () => {
      const running = Promise.withResolvers<void>();
      const aborted = Promise.withResolvers<unknown>();
      const { server, outcome } = await watched(async ({ signal, progress }) => {
        if (progressBefore) await progress(1);
        signal.addEventListener('abort', () => aborted.resolve(signal.reason));
        running.resolve();
        await aborted.promise;
        // After the caller has gone there is nobody to tell, and no timer may be left for it.
        await progress(2);
        signal.throwIfAborted();
      });
      await using _server = server;
      const socket = await sendUnread(server, call(token));
      await running.promise;
      socket.destroy();
      assert.match(String(await aborted.promise), /the caller has gone/);
      assert.equal(await outcome, 'cancelled');
    });
  }

  it('is not waited for by a tool that does not listen', async () => {
    const running = Promise.withResolvers<void>();
    const { server, outcome } = await watched(() => {
      running.resolve();
      return new Promise(() => {});
    });
    await using _server = server;
    const socket = await sendUnread(server, call());
    await running.promise;
    socket.destroy();
    assert.equal(await outcome, 'cancelled');
  });

  it('while the credential is checked keeps the tool from running', async () => {
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const authenticator: Authenticator = {
      looksGenuine: async () => true,
      async authenticate(authorization, address) {
        asked.resolve();
        await go.promise;
        return authenticatorFor(ANNA).authenticate(authorization, address);
      },
    };
    const { server, outcome } = await watched(() => assert.fail('the tool ran'), {
      authenticator,
      onResponse: (response) => response.once('close', left.resolve),
    });
    await using _server = server;
    const socket = await sendUnread(server, call());
    await asked.promise;
    socket.destroy();
    await left.promise;
    go.resolve();
    assert.equal(await outcome, 'cancelled');
  });

  it('after the answer aborts nothing', async () => {
    let signal: AbortSignal | undefined;
    const closed = Promise.withResolvers<void>();
    await using server = await serving(
      (context) => {
        ({ signal } = context);
        return 'done';
      },
      { onResponse: (response) => response.once('close', closed.resolve) },
    );
    await server.send(call());
    await closed.promise;
    assert.equal(signal?.aborted, false);
  });

  it('does not disturb another call on the same tool', async () => {
    const both = Promise.withResolvers<void>();
    const signals: AbortSignal[] = [];
    await using server = await serving(async ({ signal }) => {
      const gone = Promise.withResolvers<string>();
      signal.addEventListener('abort', () => gone.reject(new Error('gone')));
      signals.push(signal);
      if (signals.length === 2) both.resolve();
      await both.promise;
      if (signal === signals[0]) return gone.promise;
      // The second one ends once the first has been aborted.
      await new Promise((resolve) => signals[0]?.addEventListener('abort', resolve));
      return 'still here';
    });
    const socket = await sendUnread(server, call());
    await turnsUntil(() => signals.length > 0);
    const second = server.send(call());
    await both.promise;
    socket.destroy();
    const { json } = await second;
    assert.deepEqual(json.result?.['content'], [{ type: 'text', text: 'still here' }]);
    assert.equal(signals[1]?.aborted, false);
  });
});
