import { z } from 'zod';
import { tool, type Tool } from '#src/tools/define.ts';
import { startTestApp, type Dialect, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  obtainTokens,
  registerClient,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { SessionClient, type Body } from './session-client.ts';

/** Two servers on one store, with tools that the tests of the session era need. */

const NONE = z.object({});

export interface House extends AsyncDisposable {
  app: TestApp;
  /** Another server on the same state and keys. */
  other: TestApp;
  clock: TestClock;
  client: OAuthClient;
  tokens: TokenAnswer;
  /** Resolved by the tool `wait` when it runs, with its signal. */
  waiting: PromiseWithResolvers<AbortSignal>;
  /** What the tool `wipe` did. */
  wiped: string[];
}

function toolsThat(waiting: () => PromiseWithResolvers<AbortSignal>, wiped: string[]): Tool[] {
  return [
    tool({ name: 'echo', input: z.object({ text: z.string() }), run: ({ text }) => text }),
    tool({
      name: 'steps',
      input: NONE,
      async run(_args, { progress }) {
        for (const step of [1, 2, 3]) await progress(step, 3, `step ${step}`);
        return 'done';
      },
    }),
    tool({
      name: 'wait',
      input: NONE,
      run(_args, { signal }) {
        waiting().resolve(signal);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted')));
      },
    }),
    tool({
      name: 'wipe',
      input: NONE,
      async run(_args, { confirm }) {
        if (!(await confirm('Wipe?'))) return 'kept';
        wiped.push('all');
        return 'wiped';
      },
    }),
    tool({
      name: 'name',
      input: NONE,
      run: async (_args, { ask }) => (await ask({ name: z.string().min(2) }))?.name ?? 'nobody',
    }),
  ];
}

export async function openHouse(dialect: Dialect): Promise<House> {
  const clock = createTestClock();
  await using stack = new AsyncDisposableStack();
  const house = { waiting: Promise.withResolvers<AbortSignal>(), wiped: [] as string[] };
  const options = {
    dialect,
    clock,
    tools: toolsThat(() => house.waiting, house.wiped),
    roles: { restrictedByDefault: false, roles: [{ role: 'readers', privileges: [] }] },
  };
  const app = stack.use(await startTestApp(options));
  const { state, keysFolder } = app;
  const config = { publicUrl: app.origin };
  const other = stack.use(await startTestApp({ ...options, config, state, keysFolder }));
  const client = await registerClient(app);
  const tokens = await obtainTokens(createPerson(app), client, { name: 'rita' });
  const owned = stack.move();
  return Object.assign(house, {
    app,
    other,
    clock,
    client,
    tokens,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  });
}

export const textOf = (result: unknown): unknown =>
  (result as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text;

/** A new session of a house's own client, at its first server. */
export async function openSession(house: House, capabilities: Body = {}): Promise<SessionClient> {
  const session = new SessionClient(house.app, house.tokens.accessToken);
  await session.open({ capabilities });
  return session;
}

/** The same session, spoken to at the other server. */
export function elsewhere(house: House, session: SessionClient): SessionClient {
  return Object.assign(new SessionClient(house.other, session.token), { id: session.id });
}
