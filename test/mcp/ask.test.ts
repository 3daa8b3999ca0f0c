import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { MINUTE } from '#src/clock.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { tool, type Tool, type ToolContext } from '#src/tools/define.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { obtainTokens, registerClient, send } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/** Asking the person in the modern era: over real HTTP, with real grants and a real store. */

const VERSION = '2026-07-28';

interface Result {
  resultType?: string;
  isError?: boolean;
  content?: { text?: string }[];
  inputRequests?: Record<string, { method: string; params: Record<string, unknown> }>;
  requestState?: string;
}

interface Heard {
  status: number;
  result: Result;
  error: { code: number; message: string } | undefined;
}

/** A house whose tools ask, and what really ran in it. */
class House {
  readonly app: TestApp;
  readonly clock: TestClock;
  readonly token: string;
  readonly done: string[];

  private constructor(app: TestApp, clock: TestClock, token: string, done: string[]) {
    this.app = app;
    this.clock = clock;
    this.token = token;
    this.done = done;
  }

  static async open(dialect: (typeof DIALECTS)[number]): Promise<House> {
    const done: string[] = [];
    const clock = createTestClock();
    const tools = toolsThat(done);
    const app = await startTestApp({
      dialect,
      clock,
      tools,
      roles: { restrictedByDefault: false, roles: [{ role: 'readers', privileges: [] }] },
      config: { login: { failuresPerAddress: 1_000 } },
    });
    return new House(app, clock, await tokenFor(app), done);
  }

  async call(name: string, more: Record<string, unknown> = {}, token = this.token): Promise<Heard> {
    const { capabilities = { elicitation: {} }, ...params } = more;
    const answer = await send(this.app, '/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': name,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name,
          ...params,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': VERSION,
            'io.modelcontextprotocol/clientCapabilities': capabilities,
          },
        },
      }),
    });
    const { result = {}, error } = answer.body as { result?: Result; error?: Heard['error'] };
    return { status: answer.status, result, error };
  }
}

async function tokenFor(app: TestApp): Promise<string> {
  const client = await registerClient(app);
  const { accessToken } = await obtainTokens(createPerson(app), client, { name: 'rita' });
  return accessToken;
}

function toolsThat(done: string[]): Tool[] {
  const make = (
    name: string,
    run: (what: string, context: ToolContext) => Promise<unknown>,
  ): Tool =>
    tool({
      name,
      input: z.object({ what: z.string().optional() }),
      run: ({ what = '' }, context) => run(what, context),
    });
  let rows = 3;
  return [
    make('wipe', async (what, { confirm }) => {
      if (!(await confirm(`Wipe ${what}?`))) return 'kept';
      done.push(`wiped ${what}`);
      return `wiped ${what}`;
    }),
    make('name', async (_what, { ask }) => {
      const fields = { name: z.string().min(2), color: z.enum(['red', 'blue']).optional() };
      const answers = await ask(fields, { message: 'Who are you?' });
      return answers === undefined ? 'refused' : `${answers.name} ${answers.color ?? 'none'}`;
    }),
    make('twice', async (_what, { confirm }) => {
      const first = await confirm('First?');
      const second = await confirm('Second?');
      done.push(`${first} ${second}`);
      return `${first} ${second}`;
    }),
    make('together', async (_what, { confirm }) => {
      const both = await Promise.all([confirm('One?'), confirm('Two?')]);
      return both.join(' ');
    }),
    make('bound', async (what, { confirm }) => {
      if (what === 'more') rows += 1;
      return (await confirm('Remove them?', { bind: { rows } })) ? `removed ${rows}` : 'kept';
    }),
    make('deaf', async (_what, { confirm }) => {
      // Takes every error for a yes: the question is asked all the same.
      const yes = await confirm('Sure?').catch(() => true);
      if (yes) done.push('deaf');
      return 'done';
    }),
    make('wrong', async (_what, { ask }) => ask({ nested: z.object({ a: z.string() }) })),
    make('endless', async (_what, { confirm }) => {
      for (let count = 0; ; count += 1) await confirm(`Number ${count}?`);
    }),
    make('keyed', async (what, { ask }) => ask({ a: z.string() }, { key: what })),
  ];
}

/** The client's next request: the answer to the one question that is open. */
function answered(heard: Heard, response: unknown, more: object = {}): Record<string, unknown> {
  const [key = ''] = Object.keys(heard.result.inputRequests ?? {});
  return {
    inputResponses: { [key]: response },
    requestState: heard.result.requestState,
    ...more,
  };
}

const YES = { action: 'accept', content: { confirm: true } };
const textOf = ({ result }: Heard): string | undefined => result.content?.[0]?.text;
const messageOf = ({ result }: Heard): unknown =>
  Object.values(result.inputRequests ?? {})[0]?.params['message'];

for (const dialect of DIALECTS) {
  describe(`asking the person on ${dialect}`, () => {
    let house: House;
    before(async () => (house = await House.open(dialect)));
    after(() => house.app[Symbol.asyncDispose]());

    it('puts a form in place of the result, and goes on with the answer', async () => {
      const asked = await house.call('name');
      assert.equal(asked.result.resultType, 'input_required');
      assert.deepEqual(Object.values(asked.result.inputRequests ?? {}), [
        {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Who are you?',
            requestedSchema: {
              type: 'object',
              properties: {
                name: { type: 'string', minLength: 2 },
                color: { type: 'string', enum: ['red', 'blue'] },
              },
              required: ['name'],
            },
          },
        },
      ]);
      const content = { name: 'Mia', color: 'blue' };
      const answer = await house.call('name', answered(asked, { action: 'accept', content }));
      assert.deepEqual([textOf(answer), answer.result.resultType], ['Mia blue', 'complete']);
    });

    const responses: [name: string, response: unknown, outcome: string | undefined][] = [
      ['a refusal', { action: 'decline' }, 'kept'],
      ['a closed window', { action: 'cancel' }, 'kept'],
      ['an unticked box', { action: 'accept', content: { confirm: false } }, 'kept'],
      ['no content', { action: 'accept' }, undefined],
      ['a text for a tick', { action: 'accept', content: { confirm: 'true' } }, undefined],
      ['more than was asked', { action: 'accept', content: { confirm: true, x: 1 } }, undefined],
      ['an unknown action', { action: 'yes', content: { confirm: true } }, undefined],
      ['a number', 12_345, undefined],
      ['nothing', undefined, undefined],
    ];
    for (const [name, response, outcome] of responses) {
      it(`does nothing on ${name}`, async () => {
        house.done.length = 0;
        const call = { arguments: { what: 'all' } };
        const asked = await house.call('wipe', call);
        const answer = await house.call('wipe', answered(asked, response, call));
        if (outcome === undefined) assert.equal(messageOf(answer), 'Wipe all?', 'is asked again');
        else assert.equal(textOf(answer), outcome);
        assert.deepEqual(house.done, []);
      });
    }

    it('asks one question after the other, each answered once', async () => {
      house.done.length = 0;
      for (const name of ['twice', 'together']) {
        const first = await house.call(name);
        const second = await house.call(name, answered(first, YES));
        assert.notEqual(messageOf(second), messageOf(first));
        assert.notEqual(second.result.requestState, first.result.requestState);
        const answer = await house.call(name, answered(second, { action: 'decline' }));
        assert.equal(textOf(answer), 'true false');
      }
      assert.deepEqual(house.done, ['true false']);
    });

    it('counts no error that a tool caught as consent', async () => {
      house.done.length = 0;
      const asked = await house.call('deaf');
      assert.equal(asked.result.resultType, 'input_required');
      assert.equal(textOf(asked), undefined);
      // The tool went on by its own mistake; what it returned did not count.
      assert.equal(
        (await house.call('deaf', answered(asked, { action: 'decline' }))).error,
        undefined,
      );
    });

    it('refuses where the client cannot show a form, and runs nothing', async () => {
      house.done.length = 0;
      for (const capabilities of [{}, { elicitation: { url: {} } }, { elicitation: true }]) {
        const answer = await house.call('wipe', { capabilities });
        assert.equal(answer.result.isError, true);
        assert.match(textOf(answer) ?? '', /^This action requires a confirmation/);
      }
      for (const elicitation of [{ form: {} }, { form: {}, url: {} }]) {
        const asked = await house.call('wipe', { capabilities: { elicitation } });
        assert.equal(asked.result.resultType, 'input_required');
      }
      assert.deepEqual(house.done, []);
    });

    it('takes no argument for consent', async () => {
      house.done.length = 0;
      const smuggled = { arguments: { what: 'all' }, inputResponses: { question_1: YES } };
      assert.equal((await house.call('wipe', smuggled)).result.resultType, 'input_required');
      const extra = await house.call('wipe', { arguments: { what: 'all', confirm: true } });
      assert.match(textOf(extra) ?? '', /unknown parameter/);
      assert.deepEqual(house.done, []);
    });

    it('says a mistake of the tool to the log, not to the caller', async () => {
      const answer = await house.call('wrong');
      assert.match(textOf(answer) ?? '', /^Internal error/);
    });

    it('names the question as the tool wishes', async () => {
      const asked = await house.call('keyed', { arguments: { what: 'my_key' } });
      assert.deepEqual(Object.keys(asked.result.inputRequests ?? {}), ['my_key']);
      const wrong = await house.call('keyed', { arguments: { what: '__proto__ x' } });
      assert.match(textOf(wrong) ?? '', /^Internal error/);
    });

    it('ends a tool that asks for ever', async () => {
      let heard = await house.call('endless');
      let rounds = 0;
      for (; heard.result.resultType === 'input_required' && rounds < 30; rounds += 1)
        heard = await house.call('endless', answered(heard, YES));
      assert.equal(rounds, 20);
      assert.match(textOf(heard) ?? '', /^Internal error/);
    });
  });

  describe(`requestState on ${dialect}`, () => {
    const call = { arguments: { what: 'all' } };
    let house: House;
    let asked: Heard;
    before(async () => (house = await House.open(dialect)));
    after(() => house.app[Symbol.asyncDispose]());
    const askFirst = async (): Promise<void> => {
      house.done.length = 0;
      asked = await house.call('wipe', call);
      assert.equal(asked.result.resultType, 'input_required');
    };

    const altered: [name: string, change: (state: string) => unknown][] = [
      ['one that has more at its end', (state) => `${state}-TAMPERED`],
      ['one with another signature', (state) => `${state.slice(0, -4)}AAAA`],
      ['one with another payload', (state) => `AAAA${state.slice(4)}`],
      ['one without a signature', (state) => state.split('.')[0]],
      ['two in one', (state) => `${state}.${state}`],
      ['an empty one', () => ''],
      ['a number', () => 7],
      ['null', () => null],
      ['an object', (state) => ({ state })],
      ['a very long one', (state) => state.padEnd(100_000, 'A')],
    ];
    for (const [name, change] of altered) {
      it(`is refused when it was altered: ${name}`, async () => {
        await askFirst();
        const state = change(asked.result.requestState ?? '');
        const answer = await house.call(
          'wipe',
          answered(asked, YES, { ...call, requestState: state }),
        );
        assert.equal(answer.error?.code, -32602);
        assert.deepEqual(house.done, []);
      });
    }

    it('answers that are no object are refused too', async () => {
      await askFirst();
      for (const inputResponses of [null, [], 'yes', 7]) {
        const answer = await house.call('wipe', { ...call, inputResponses });
        assert.equal(answer.error?.code, -32602);
      }
    });

    const ignored: [name: string, retry: () => Promise<Heard>][] = [
      [
        'left out',
        () => house.call('wipe', answered(asked, YES, { ...call, requestState: undefined })),
      ],
      [
        'expired',
        async () => {
          house.clock.advance(10 * MINUTE);
          return house.call('wipe', answered(asked, YES, call));
        },
      ],
      [
        'for other arguments',
        () => house.call('wipe', answered(asked, YES, { arguments: { what: 'ALL' } })),
      ],
      ['for another tool', () => house.call('twice', answered(asked, YES, call))],
      [
        'of another grant',
        async () => house.call('wipe', answered(asked, YES, call), await tokenFor(house.app)),
      ],
      [
        'of another key for its answer',
        () =>
          house.call('wipe', {
            ...call,
            inputResponses: { other: YES },
            requestState: asked.result.requestState,
          }),
      ],
    ];
    for (const [name, retry] of ignored) {
      it(`counts for nothing when it is ${name}: the question is asked again`, async () => {
        await askFirst();
        const again = await retry();
        assert.equal(again.result.resultType, 'input_required');
        assert.notEqual(again.result.requestState, asked.result.requestState);
        assert.deepEqual(house.done, []);
      });
    }

    it('is used once, also by two at the same moment', async () => {
      await askFirst();
      const many = await Promise.all(
        Array.from({ length: 5 }, () => house.call('wipe', answered(asked, YES, call))),
      );
      assert.deepEqual(house.done, ['wiped all']);
      assert.equal(many.filter((one) => one.result.resultType === 'input_required').length, 4);
      const replayed = await house.call('wipe', answered(asked, YES, call));
      assert.equal(replayed.result.resultType, 'input_required');
      assert.deepEqual(house.done, ['wiped all']);
    });

    it('is used once for the answers of earlier rounds too', async () => {
      house.done.length = 0;
      const first = await house.call('twice');
      const second = await house.call('twice', answered(first, YES));
      await house.call('twice', answered(second, YES));
      const replayed = await house.call('twice', answered(second, YES));
      assert.equal(messageOf(replayed), 'First?');
      assert.deepEqual(house.done, ['true true']);
    });

    it('is for what the question was bound to', async () => {
      const first = await house.call('bound', { arguments: { what: 'more' } });
      // Meanwhile there is a row more: the run that brings the answer adds it.
      const again = await house.call(
        'bound',
        answered(first, YES, { arguments: { what: 'more' } }),
      );
      assert.equal(again.result.resultType, 'input_required');
      const same = await house.call('bound');
      assert.match(textOf(await house.call('bound', answered(same, YES))) ?? '', /^removed/);
    });

    it('opens nothing once its grant is revoked', async () => {
      await askFirst();
      const token = await tokenFor(house.app);
      const other = await house.call('wipe', call, token);
      await house.app.store.transaction((work) =>
        revokeGrants(work, { actor: 'cli', reason: 'administrator', where: {} }),
      );
      for (const one of [asked, other]) {
        const answer = await house.call('wipe', answered(one, YES, call), token);
        assert.equal(answer.status, 401);
      }
      assert.deepEqual(house.done, []);
    });
  });
}
