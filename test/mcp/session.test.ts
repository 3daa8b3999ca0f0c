import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MINUTE } from '#src/clock.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { DIALECTS } from '../support/app.ts';
import { obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { SessionClient, Stream } from './session-client.ts';
import { elsewhere, openHouse, openSession, textOf, type House } from './session-house.ts';

/** Sessions of the older revisions: what opens, keeps and ends them, over real HTTP. */

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

for (const dialect of DIALECTS) {
  describe(`a session on ${dialect}`, () => {
    let house: House;
    before(async () => (house = await openHouse(dialect)));
    after(() => house[Symbol.asyncDispose]());

    for (const version of VERSIONS) {
      it(`agrees on ${version} and serves tools`, async () => {
        const session = new SessionClient(house.app, house.tokens.accessToken);
        const result = await session.open({ version });
        assert.deepEqual(result, {
          protocolVersion: version,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'Test House', version: '0.0.0' },
        });
        const listed = await session.request('tools/list');
        const tools = listed.messages[0]?.result?.['tools'] as { name: string }[];
        assert.deepEqual(
          tools.map((one) => one.name),
          ['echo', 'name', 'steps', 'wait', 'wipe'],
        );
        const called = await session.call('echo', { text: version });
        assert.equal(called.headers.get('content-type'), 'application/json');
        assert.equal(textOf(called.messages[0]?.result), version);
        assert.deepEqual((await session.request('ping')).messages[0]?.result, {});
      });
    }

    it('agrees on the newest version when it knows none of the others', async () => {
      for (const version of ['1999-01-01', '2099-01-01', 'x', '']) {
        const session = new SessionClient(house.app, house.tokens.accessToken);
        assert.equal((await session.open({ version }))['protocolVersion'], '2025-11-25');
      }
      const session = new SessionClient(house.app, house.tokens.accessToken);
      const strange = await session.request('initialize', {
        protocolVersion: 7,
        capabilities: 'x',
      });
      assert.equal(strange.messages[0]?.result?.['protocolVersion'], '2025-11-25');
    });

    it('needs a credential at initialize and at every request', async () => {
      const stranger = new SessionClient(house.app, 'bad');
      const refused = await stranger.request('initialize', { protocolVersion: '2025-11-25' });
      assert.equal(refused.status, 401);
      assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/);
      const session = await openSession(house);
      session.token = 'bad';
      for (const method of ['POST', 'GET', 'DELETE'])
        assert.equal(
          (await session.send(method, method === 'POST' ? { body: '{}' } : {})).status,
          401,
        );
    });

    it('answers lists that clients ask for, and no other methods', async () => {
      const session = await openSession(house);
      const lists = ['resources/list', 'resources/templates/list', 'prompts/list'];
      const results = await Promise.all(lists.map((method) => session.request(method)));
      assert.deepEqual(
        results.map((one) => one.messages[0]?.result),
        [{ resources: [] }, { resourceTemplates: [] }, { prompts: [] }],
      );
      for (const method of ['tools/nope', 'logging/setLevel', 'server/discover', 'constructor']) {
        const { status, messages } = await session.request(method);
        assert.deepEqual([status, messages[0]?.error?.code], [200, -32601], method);
      }
      assert.equal((await session.request('initialize')).messages[0]?.error?.code, -32600);
      const unknown = await session.call('nothing-here');
      assert.deepEqual([unknown.status, unknown.messages[0]?.error?.code], [200, -32602]);
    });

    it('streams progress to a client that takes streams', async () => {
      const session = await openSession(house);
      const heard = await session.call('steps', {}, { progressToken: 'p' });
      assert.equal(heard.headers.get('content-type'), 'text/event-stream');
      assert.deepEqual(
        heard.messages.map((one) => one.params?.['progress'] ?? textOf(one.result)),
        [1, 2, 3, 'done'],
      );
    });

    it('answers in the one form that a client takes', async () => {
      const session = await openSession(house);
      const params = { name: 'steps', arguments: {}, _meta: { progressToken: 'p' } };
      const json = await session.request('tools/call', params, { accept: 'application/json' });
      assert.equal(json.headers.get('content-type'), 'application/json');
      assert.equal(json.messages.length, 1);
      const stream = await session.request('ping', {}, { accept: 'text/event-stream' });
      assert.equal(stream.headers.get('content-type'), 'text/event-stream');
      assert.deepEqual(stream.messages[0]?.result, {});
    });

    it('has batches in the one revision that has them', async () => {
      for (const version of VERSIONS) {
        const session = new SessionClient(house.app, house.tokens.accessToken);
        await session.open({ version });
        const batch = [
          session.message('ping'),
          { jsonrpc: '2.0', method: 'notifications/x' },
          session.message('tools/call', { name: 'echo', arguments: { text: 'b' } }),
          session.message('nope'),
          7,
        ];
        const heard = await session.post(batch);
        if (version !== '2025-03-26') {
          assert.deepEqual([heard.status, heard.messages[0]?.error?.code], [400, -32600]);
          continue;
        }
        assert.deepEqual(
          heard.messages.map((one) => one.error?.code ?? textOf(one.result) ?? one.result),
          [{}, 'b', -32601, -32600],
        );
        const silent = await session.post([{ jsonrpc: '2.0', method: 'notifications/x' }]);
        assert.deepEqual([silent.status, silent.text], [202, '']);
        const streamed = await session.post(batch, { accept: 'text/event-stream' });
        assert.equal(streamed.messages.length, 4);
      }
    });

    it('looks at the version in the header, not at whether it is there', async () => {
      const session = await openSession(house);
      for (const [version, status] of [
        ['2025-11-25', 200],
        ['2025-03-26', 200],
        ['2026-07-28', 400],
        ['nonsense', 400],
      ] as const) {
        const heard = await session.request('ping', {}, { 'mcp-protocol-version': version });
        assert.equal(heard.status, status, version);
      }
    });

    it('is 404 when it is unknown, deleted or idle too long', async () => {
      const session = await openSession(house);
      const unknown = Object.assign(new SessionClient(house.app, session.token), { id: 'x' });
      const gone = async (one: SessionClient): Promise<void> => {
        const heard = await one.request('ping');
        assert.deepEqual([heard.status, heard.messages[0]?.error?.code], [404, -32001]);
        for (const method of ['GET', 'DELETE']) assert.equal((await one.send(method)).status, 404);
      };
      await gone(unknown);
      house.clock.advance(4 * MINUTE);
      assert.equal((await session.request('ping')).status, 200);
      house.clock.advance(4 * MINUTE);
      assert.equal((await session.request('ping')).status, 200, 'its use was noted');
      assert.equal((await session.send('DELETE')).status, 204);
      await gone(session);
      const idle = await openSession(house);
      house.clock.advance(5 * MINUTE);
      idle.token = house.tokens.accessToken;
      const fresh = await house.client.refresh(house.tokens.refreshToken);
      house.tokens = fresh;
      idle.token = fresh.accessToken;
      await gone(idle);
    });

    it('is kept over a refresh of the token', async () => {
      const session = await openSession(house);
      house.tokens = await house.client.refresh(house.tokens.refreshToken);
      session.token = house.tokens.accessToken;
      assert.equal((await session.request('ping')).status, 200);
    });

    it('is nobody else’s: not to POST, GET or DELETE, not of another client either', async () => {
      const session = await openSession(house);
      const { accessToken: walters } = await obtainTokens(createPerson(house.app), house.client);
      const second = await registerClient(house.app, {
        client_name: 'Another',
        redirect_uris: ['http://127.0.0.1:7001/cb'],
      });
      const { accessToken: fromOther } = await obtainTokens(createPerson(house.app), second, {
        name: 'rita',
      });
      for (const token of [walters, fromOther]) {
        const thief = Object.assign(new SessionClient(house.app, token), { id: session.id });
        assert.equal((await thief.request('tools/list')).status, 404);
        for (const method of ['GET', 'DELETE'])
          assert.equal((await thief.send(method)).status, 404);
      }
      assert.equal((await session.request('ping')).status, 200);
    });

    it('is served by any server on the same store', async () => {
      const session = await openSession(house);
      const there = elsewhere(house, session);
      assert.equal(
        textOf((await there.call('echo', { text: 'there' })).messages[0]?.result),
        'there',
      );
      assert.equal((await there.send('DELETE')).status, 204);
      assert.equal((await session.request('ping')).status, 404);
    });

    it('has a stream that ends with the session', async () => {
      const session = await openSession(house);
      const stream = new Stream(await session.send('GET'));
      assert.equal(stream.response.headers.get('content-type'), 'text/event-stream');
      assert.equal(stream.response.headers.get('x-accel-buffering'), 'no');
      const ended = stream.next();
      await elsewhere(house, session).send('DELETE');
      assert.equal(await ended, undefined);
      const other = await openSession(house);
      const refused = await other.send('GET', { headers: { accept: 'application/json' } });
      assert.equal(refused.status, 406);
    });

    it('has so many streams at once', async () => {
      const session = await openSession(house);
      const streams: Stream[] = [];
      let response = await session.send('GET');
      for (; response.status === 200; response = await session.send('GET'))
        streams.push(new Stream(response));
      assert.deepEqual([response.status, streams.length], [429, 16]);
      await Promise.all(streams.map((stream) => stream.cancel()));
      while (response.status === 429) response = await session.send('GET');
      await new Stream(response).cancel();
    });

    it('ends with its grant, and so does its stream', async () => {
      const { accessToken } = await obtainTokens(createPerson(house.app), house.client, {
        name: 'walter',
      });
      const session = new SessionClient(house.app, accessToken);
      await session.open();
      const stream = new Stream(await session.send('GET'));
      const ended = stream.next();
      const user = await house.app.findUser('walter');
      await house.app.store.transaction((work) =>
        revokeGrants(work, { actor: 'cli', reason: 'administrator', where: { userId: user.id } }),
      );
      assert.equal(await ended, undefined);
      assert.equal((await session.request('ping')).status, 401);
      const left = await house.app.store.db
        .selectFrom('protocol_sessions')
        .select('digest')
        .where('user_id', '=', user.id)
        .execute();
      assert.deepEqual(left, []);
    });

    it('keeps a hundred for one client, the newest', async () => {
      const first = await openSession(house);
      for (let count = 0; count < 100; count += 1) await openSession(house);
      assert.equal((await first.request('ping')).status, 404);
    });

    it('has an id that the store cannot tell', async () => {
      const session = await openSession(house);
      const rows = await house.app.store.db.selectFrom('protocol_sessions').selectAll().execute();
      assert.ok(!JSON.stringify(rows).includes(session.id));
      assert.match(session.id, /^[\x21-\x7e]{43}$/);
    });
  });
}
