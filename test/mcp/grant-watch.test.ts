import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { z } from 'zod';
import { compileAccess } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';
import type { Denial } from '#src/credentials/authenticate.ts';
import { AppError } from '#src/errors.ts';
import { tool, type ToolContext } from '#src/tools/define.ts';
import { ANNA, authenticatorFor, mcpServer, modern, type McpServer } from './server.ts';

const OPEN = compileAccess(rolesSchema.parse({ restrictedByDefault: false }));

/** A grant that a test can end, in a store that it can take away. */
class TestGrant {
  denial: Denial | undefined;
  isAway = false;
  looks = 0;

  async recheck(): Promise<Denial | undefined> {
    this.looks += 1;
    if (this.isAway) throw new AppError('store_unavailable', 'gone');
    return this.denial;
  }
}

function serving(grant: TestGrant, run: (context: ToolContext) => unknown): Promise<McpServer> {
  const one = tool({ name: 'it', input: z.object({}), run: (_args, context) => run(context) });
  const authenticator = authenticatorFor(ANNA, () => grant.recheck());
  return mcpServer({ tools: [one], access: OPEN, authenticator });
}

const call = (meta: object = {}) => modern('tools/call', { name: 'it' }, { meta: { ...meta } });

/** Lets what waits for a promise go on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A tool that says when it runs, and returns when it is told to. */
function waiting(progress = false) {
  const running = Promise.withResolvers<AbortSignal>();
  const go = Promise.withResolvers<string>();
  const run = async (context: ToolContext): Promise<string> => {
    if (progress) await context.progress(1);
    running.resolve(context.signal);
    return go.promise;
  };
  return { run, running: running.promise, finish: () => go.resolve('done') };
}

/** Moves time by whole seconds, and lets each look end. */
async function pass(t: TestContext, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    t.mock.timers.tick(1_000);
    await turn();
  }
}

describe('a call whose grant is revoked while it runs', () => {
  it('is aborted within a second and answered 401, without its result', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const grant = new TestGrant();
    const { run, running } = waiting();
    await using server = await serving(grant, run);
    const answer = server.send(call());
    const signal = await running;
    grant.denial = 'grant_revoked';
    await pass(t, 1);
    assert.equal(signal.aborted, true);
    const { status, headers, json } = await answer;
    assert.equal(status, 401);
    assert.match(String(headers['www-authenticate']), /^Bearer error="invalid_token", /);
    assert.deepEqual([json.id, json.error?.code, json.result], [1, -32001, undefined]);
    const told = server.events.map((one) => [
      one.type,
      one.type === 'tool.called' ? one.outcome : one.type === 'request.denied' && one.reason,
    ]);
    assert.deepEqual(told, [
      ['tool.called', 'cancelled'],
      ['request.denied', 'grant_revoked'],
    ]);
  });

  it('ends its stream with an error', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const grant = new TestGrant();
    const { run, running } = waiting(true);
    await using server = await serving(grant, run);
    const answer = server.send(call({ progressToken: 't' }));
    await running;
    grant.denial = 'user_disabled';
    await pass(t, 1);
    const { status, text } = await answer;
    assert.equal(status, 200);
    const last = text.trimEnd().split('data: ').at(-1) ?? '';
    const message = JSON.parse(last) as { id: unknown; error: { code: number } };
    assert.deepEqual([message.id, message.error.code], [1, -32001]);
    assert.ok(!text.includes('"result"'));
  });

  it('is refused although it ended between two looks', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const grant = new TestGrant();
    const { run, running, finish } = waiting();
    await using server = await serving(grant, run);
    const answer = server.send(call());
    await running;
    await pass(t, 2);
    assert.equal(grant.looks, 2);
    grant.denial = 'grant_revoked';
    finish();
    assert.equal((await answer).status, 401);
    assert.equal(grant.looks, 3);
  });
});

describe('a call whose grant goes on', () => {
  it('costs no look when it ends within a second', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const grant = new TestGrant();
    await using server = await serving(grant, () => 'done');
    assert.equal((await server.send(call())).status, 200);
    await pass(t, 5);
    assert.equal(grant.looks, 0);
  });

  it('is looked at every second, and no more once it has ended', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const grant = new TestGrant();
    const { run, running, finish } = waiting();
    await using server = await serving(grant, run);
    const answer = server.send(call());
    await running;
    await pass(t, 3);
    finish();
    assert.equal((await answer).status, 200);
    await pass(t, 5);
    assert.equal(grant.looks, 4);
  });

  it('goes on while the store is away, and is answered only when it is back', async (t: TestContext) => {
    for (const comesBack of [true, false]) {
      const grant = new TestGrant();
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const { run, running, finish } = waiting();
      await using server = await serving(grant, run);
      const answer = server.send(call());
      const signal = await running;
      grant.isAway = true;
      await pass(t, 2);
      assert.equal(signal.aborted, false);
      grant.isAway = !comesBack;
      finish();
      assert.equal((await answer).status, comesBack ? 200 : 503);
      t.mock.timers.reset();
    }
  });

  it('is not asked about once its caller has gone', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const grant = new TestGrant();
    const { run, running } = waiting();
    await using server = await serving(grant, run);
    const leaving = new AbortController();
    const { headers = {}, body = '' } = call();
    const plain = Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as [string, string]] : [],
    );
    const sent = fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: plain,
      body: String(body),
      signal: leaving.signal,
    });
    const signal = await running;
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    leaving.abort();
    await assert.rejects(sent);
    await aborted;
    await turn();
    await pass(t, 5);
    assert.equal(grant.looks, 0);
  });
});
