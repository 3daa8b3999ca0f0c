import { z } from 'zod';
import { tool, type Tool, type ToolContext } from '#src/tools/define.ts';
import { startTestApp, type Dialect, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { obtainTokens, registerClient, send } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/** A whole server whose tools ask the person, and a client of the modern era that brings answers. */

const VERSION = '2026-07-28';

interface Result {
  resultType?: string;
  isError?: boolean;
  content?: { text?: string }[];
  inputRequests?: Record<string, { method: string; params: Record<string, unknown> }>;
  requestState?: string;
}

export interface Heard {
  status: number;
  result: Result;
  error: { code: number; message: string } | undefined;
}

/** A house whose tools ask, and what really ran in it. */
export class House {
  readonly app: TestApp;
  readonly clock: TestClock;
  readonly token: string;
  readonly done: string[];

  private constructor(made: Pick<House, 'app' | 'clock' | 'token' | 'done'>) {
    this.app = made.app;
    this.clock = made.clock;
    this.token = made.token;
    this.done = made.done;
  }

  static async open(dialect: Dialect): Promise<House> {
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
    return new House({ app, clock, token: await tokenFor(app), done });
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

export async function tokenFor(app: TestApp): Promise<string> {
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
export function answered(
  heard: Heard,
  response: unknown,
  more: object = {},
): Record<string, unknown> {
  const [key = ''] = Object.keys(heard.result.inputRequests ?? {});
  return {
    inputResponses: { [key]: response },
    requestState: heard.result.requestState,
    ...more,
  };
}

export const YES = { action: 'accept', content: { confirm: true } };
export const textOf = ({ result }: Heard): string | undefined => result.content?.[0]?.text;
export const messageOf = ({ result }: Heard): unknown =>
  Object.values(result.inputRequests ?? {})[0]?.params['message'];
