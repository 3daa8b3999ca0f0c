import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { revokeGrants } from '#src/storage/revoke.ts';
import { tool } from '#src/tools/define.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { SessionClient, Stream } from './session-client.ts';

/** Streams that tell when the tools have changed, in both eras. */

const VERSION = '2026-07-28';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const hello = tool({ name: 'hello', input: z.object({}), run: () => 'hello' });
const more = tool({ name: 'more', input: z.object({}), run: () => 'more' });

interface House extends AsyncDisposable {
  app: TestApp;
  token: string;
}

async function openHouse(dialect: (typeof DIALECTS)[number]): Promise<House> {
  const roles = { restrictedByDefault: false, roles: [{ role: 'readers', privileges: [] }] };
  const app = await startTestApp({ dialect, tools: [hello], roles });
  const client = await registerClient(app);
  const { accessToken } = await obtainTokens(createPerson(app), client, { name: 'rita' });
  return { app, token: accessToken, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

function listen({ app, token }: House, notifications: unknown, accept = '*/*'): Promise<Response> {
  return fetch(new URL('/mcp', app.url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept,
      'content-type': 'application/json',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'sub-1',
      method: 'subscriptions/listen',
      params: {
        notifications,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': VERSION,
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
}

const revokeAll = (app: TestApp): Promise<unknown> =>
  app.store.transaction((work) =>
    revokeGrants(work, { actor: 'cli', reason: 'administrator', where: {} }),
  );

for (const dialect of DIALECTS) {
  describe(`a subscription on ${dialect}`, () => {
    it('is acknowledged, tells when the tools change, and ends with its grant', async () => {
      await using house = await openHouse(dialect);
      const stream = new Stream(await listen(house, { toolsListChanged: true }));
      const acknowledged = await stream.next();
      assert.equal(acknowledged?.method, 'notifications/subscriptions/acknowledged');
      assert.deepEqual(acknowledged.params, {
        notifications: { toolsListChanged: true },
        _meta: { [SUBSCRIPTION]: 'sub-1' },
      });
      for (const tools of [[hello, more], [hello]]) {
        house.app.replaceTools(tools);
        const told = await stream.next();
        assert.equal(told?.method, 'notifications/tools/list_changed');
        assert.deepEqual(told.params, { _meta: { [SUBSCRIPTION]: 'sub-1' } });
      }
      await revokeAll(house.app);
      const last = await stream.next();
      assert.deepEqual([last?.id, last?.result?.['resultType']], ['sub-1', 'complete']);
      assert.equal(await stream.next(), undefined);
    });

    it('to what is not here is acknowledged as nothing, and ends at once', async () => {
      await using house = await openHouse(dialect);
      for (const wish of [{}, { promptsListChanged: true }, { toolsListChanged: 'yes' }]) {
        const stream = new Stream(await listen(house, wish));
        assert.deepEqual((await stream.next())?.params?.['notifications'], {});
        assert.equal((await stream.next())?.id, 'sub-1');
        assert.equal(await stream.next(), undefined);
      }
      for (const wish of [undefined, null, 7, ['toolsListChanged']]) {
        const refused = await listen(house, wish);
        assert.match(await refused.text(), /"code":-32602/);
      }
      const json = await listen(house, { toolsListChanged: true }, 'application/json');
      assert.match(await json.text(), /"resultType":"complete"/);
    });

    it('of a session is its stream', async () => {
      await using house = await openHouse(dialect);
      const session = new SessionClient(house.app, house.token);
      const { capabilities } = await session.open();
      assert.deepEqual(capabilities, { tools: { listChanged: true } });
      const stream = new Stream(await session.send('GET'));
      house.app.replaceTools([hello, more]);
      const told = await stream.next();
      assert.deepEqual([told?.method, told?.id], ['notifications/tools/list_changed', undefined]);
      await stream.cancel();
    });
  });
}
