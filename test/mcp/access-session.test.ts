import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { HOUR, MINUTE } from '#src/clock.ts';
import type { ConfigInput } from '#src/config.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { tool, type Tool } from '#src/tools/define.ts';
import { DIALECTS, startTestApp, type Dialect, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { callTool, obtainTokens, registerClient, type Answer } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { SessionClient } from './session-client.ts';

/** Access sessions: seats, quotas, the hook, and what is kept, in both eras and on two servers. */

const PEOPLE = ['rita', 'walter', 'olga'];

class House {
  readonly app: TestApp;
  /** Another server on the same state and keys. */
  readonly other: TestApp;
  readonly clock: TestClock;
  readonly tokens: Map<string, string>;

  private constructor(made: Pick<House, 'app' | 'other' | 'clock' | 'tokens'>) {
    this.app = made.app;
    this.other = made.other;
    this.clock = made.clock;
    this.tokens = made.tokens;
  }

  static async open(dialect: Dialect, config: ConfigInput): Promise<House> {
    const clock = createTestClock();
    const roles = {
      restrictedByDefault: false,
      roles: ['readers', 'writers', 'owners'].map((role) => ({ role, privileges: [] })),
    };
    const oauth = { accessTokenTtlSeconds: 86_400 };
    const options = { dialect, clock, tools: toolsThat(), roles };
    const app = await startTestApp({ ...options, config: { ...config, oauth } });
    const { state, keysFolder, origin: publicUrl } = app;
    const there = { ...config, oauth, publicUrl };
    const other = await startTestApp({ ...options, config: there, state, keysFolder });
    const client = await registerClient(app);
    const tokens = new Map<string, string>();
    for (const name of PEOPLE)
      tokens.set(name, (await obtainTokens(createPerson(app), client, { name })).accessToken);
    return new House({ app, other, clock, tokens });
  }

  call(name: string, who = 'rita', at = this.app): Promise<Answer> {
    return callTool(at, this.tokens.get(who) ?? '', { name });
  }

  keep(args: Record<string, unknown>, at = this.app): Promise<Answer> {
    return callTool(at, this.tokens.get('rita') ?? '', { name: 'keep', arguments: args });
  }

  async rows(): Promise<{ id: string; storage: string; expires_at: number }[]> {
    const { db } = this.app.store;
    const now = this.clock.now();
    const query = db.selectFrom('access_sessions').select(['id', 'storage', 'expires_at']);
    return query.where('expires_at', '>', now).orderBy('created_at').execute();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.other[Symbol.asyncDispose]();
    await this.app[Symbol.asyncDispose]();
  }
}

function toolsThat(): Tool[] {
  return [
    tool({ name: 'hello', input: z.object({}), run: () => 'hello' }),
    tool({
      name: 'count',
      input: z.object({}),
      async run(_args, { session }) {
        const count = Number((await session.storage.get('count')) ?? 0) + 1;
        await session.storage.set('count', count);
        return count;
      },
    }),
    tool({
      name: 'keep',
      input: z.object({ key: z.string(), size: z.int().optional() }),
      async run({ key, size }, { session }) {
        if (size === undefined) return JSON.stringify(await session.storage.get(key));
        if (size < 0) await session.storage.delete(key);
        else await session.storage.set(key, 'x'.repeat(size));
        return 'kept';
      },
    }),
  ];
}

const textOf = ({ body }: Answer): string => {
  const result = body['result'] as { content?: { text?: string }[] } | undefined;
  return result?.content?.[0]?.text ?? '';
};

for (const dialect of DIALECTS) {
  describe(`an access session on ${dialect}`, () => {
    it('is one for a person in a client, in both eras, on every server', async () => {
      await using house = await House.open(dialect, {});
      assert.equal(textOf(await house.call('count')), '1');
      assert.equal(textOf(await house.call('count', 'rita', house.other)), '2');
      const session = new SessionClient(house.app, house.tokens.get('rita') ?? '');
      await session.open();
      const counted = await session.call('count');
      assert.match(counted.text, /"text":"3"/);
      assert.equal(textOf(await house.call('count', 'walter')), '1');
      assert.equal((await house.rows()).length, 2);
    });

    it('ends when nobody uses it, and what it kept is gone', async () => {
      await using house = await House.open(dialect, {});
      await house.call('count');
      house.clock.advance(50 * MINUTE);
      assert.equal(textOf(await house.call('count')), '2');
      // The use was noted behind the request.
      while (!(await house.rows()).some((row) => row.expires_at > house.clock.now() + 50 * MINUTE))
        await house.call('hello');
      house.clock.advance(50 * MINUTE);
      assert.equal(textOf(await house.call('count')), '3');
      house.clock.advance(HOUR);
      assert.equal(textOf(await house.call('count')), '1');
    });

    it('ends with its grant', async () => {
      await using house = await House.open(dialect, {});
      await house.call('count');
      await house.app.store.transaction((work) =>
        revokeGrants(work, { actor: 'cli', reason: 'administrator', where: {} }),
      );
      assert.equal((await house.call('count')).status, 401);
      assert.deepEqual(await house.rows(), []);
    });

    it('keeps JSON, so much and no more, whatever the key', async () => {
      await using house = await House.open(dialect, {});
      const keep = async (key: string, size?: number): Promise<string> =>
        textOf(await house.keep({ key, ...(size !== undefined && { size }) }));
      for (const key of ['a', '__proto__', 'constructor', 'ü\0']) {
        assert.equal(await keep(key), '', `${key} is not there`);
        assert.equal(await keep(key, 2), 'kept');
        assert.equal(await keep(key), '"xx"');
        assert.equal(await keep(key, -1), 'kept');
        assert.equal(await keep(key), '');
      }
      assert.match(await keep('large', 65_536), /^Internal error/);
      assert.match(await keep('', 1), /^Internal error/);
      assert.match(await keep('x'.repeat(129), 1), /^Internal error/);
      assert.equal(await keep('large'), '');
    });

    it('loses nothing when several calls keep something at once', async () => {
      await using house = await House.open(dialect, {});
      await house.call('hello');
      const keys = Array.from({ length: 12 }, (_, at) => `key${at}`);
      await Promise.all(
        keys.map((key, at) => house.keep({ key, size: 1 }, at % 2 === 0 ? house.app : house.other)),
      );
      const [row] = await house.rows();
      assert.deepEqual(
        Object.keys(JSON.parse(row?.storage ?? '{}') as object).toSorted(),
        keys.toSorted(),
      );
    });

    it('is refused while every seat is taken, and had again when one is free', async () => {
      await using house = await House.open(dialect, { mcp: { maxSessions: 2 } });
      const many = await Promise.all(
        [house.app, house.other].flatMap((at) => PEOPLE.map((who) => house.call('hello', who, at))),
      );
      assert.equal((await house.rows()).length, 2);
      const refused = many.filter((one) => one.status === 503);
      assert.equal(refused.length, 2, 'one person, on both servers');
      assert.equal(refused[0]?.headers.get('retry-after'), '30');
      assert.ok(many.filter((one) => one.status === 200).length === 4);
      const [first] = await house.rows();
      const { db } = house.app.store;
      await db
        .deleteFrom('access_sessions')
        .where('id', '=', first?.id ?? '')
        .execute();
      const again = await Promise.all(PEOPLE.map((who) => house.call('hello', who)));
      assert.equal(again.filter((one) => one.status === 503).length, 1);
      house.clock.advance(HOUR);
      assert.equal((await house.call('hello', 'olga')).status, 200);
    });

    it('has a number of requests a minute, counted over all servers, before a tool runs', async () => {
      const quotas = { requestsPerMinutePerSession: 10 };
      await using house = await House.open(dialect, { quotas });
      const many = await Promise.all(
        Array.from({ length: 30 }, (_, at) =>
          house.call('hello', 'rita', at % 2 === 0 ? house.app : house.other),
        ),
      );
      assert.equal(many.filter((one) => one.status === 200).length, 10);
      const refused = many.filter((one) => one.status === 429);
      assert.equal(refused.length, 20);
      assert.match(refused[0]?.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
      assert.equal((await house.call('hello', 'walter')).status, 200);
      house.clock.advance(MINUTE);
      assert.equal((await house.call('hello')).status, 200);
    });

    it('counts every request of a batch', async () => {
      await using house = await House.open(dialect, {
        quotas: { requestsPerMinutePerSession: 10 },
      });
      const session = new SessionClient(house.app, house.tokens.get('rita') ?? '');
      await session.open({ version: '2025-03-26' });
      const batch = Array.from({ length: 30 }, () => session.message('ping'));
      const heard = await session.post(batch);
      // Two were counted for the opening.
      assert.equal(heard.messages.filter((one) => one.result !== undefined).length, 8);
      assert.equal(heard.messages.filter((one) => one.error?.code === -32_000).length, 22);
    });
  });

  describe(`the hook of a new access session on ${dialect}`, () => {
    it('runs once, before the first request, however many come at once', async () => {
      const opened: unknown[] = [];
      const onSession = async ({ user, client, storage }: Opening): Promise<void> => {
        opened.push([user.name, client.name]);
        await storage.set('count', 100);
      };
      await using house = await House.open(dialect, { mcp: { onSession } });
      const many = await Promise.all(
        [house.app, house.other, house.app, house.other].map((at) =>
          house.call('hello', 'rita', at),
        ),
      );
      assert.deepEqual(
        many.map((one) => one.status),
        [200, 200, 200, 200],
      );
      assert.equal(textOf(await house.call('count')), '101');
      assert.deepEqual(opened, [['rita', 'Test CLI']]);
    });

    it('lets nobody in whose grant is revoked while it runs', async () => {
      const revoked = Promise.withResolvers<void>();
      const onSession = (): Promise<void> => revoked.promise;
      await using house = await House.open(dialect, { mcp: { onSession } });
      const answer = house.call('hello');
      while ((await house.rows()).length === 0) await new Promise((go) => setImmediate(go));
      await house.app.store.transaction((work) =>
        revokeGrants(work, { actor: 'cli', reason: 'administrator', where: {} }),
      );
      revoked.resolve();
      assert.equal((await answer).status, 401);
    });

    it('that throws refuses the request, and runs again at the next one', async () => {
      let count = 0;
      const onSession = (): void => {
        count += 1;
        if (count === 1) throw new Error('not yet');
      };
      await using house = await House.open(dialect, { mcp: { onSession } });
      assert.equal((await house.call('hello')).status, 503);
      assert.ok(
        house.app.events.some((one) => one.type === 'server.error' && one.where === 'onSession'),
      );
      assert.equal((await house.call('hello')).status, 200);
      assert.equal((await house.call('hello')).status, 200);
      assert.equal(count, 2);
    });
  });
}

type Opening = Parameters<NonNullable<NonNullable<ConfigInput['mcp']>['onSession']>>[0];
