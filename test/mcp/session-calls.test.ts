import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { digest } from '#src/ids.ts';
import { DIALECTS } from '../support/app.ts';
import { obtainTokens } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { SessionClient } from './session-client.ts';
import { elsewhere, openHouse, openSession, textOf, type House } from './session-house.ts';

/** Calls of the session era that outlast their request: questions, cancellation, connections that close. */

for (const dialect of DIALECTS) {
  describe(`a call in a session on ${dialect}`, () => {
    let house: House;
    before(async () => (house = await openHouse(dialect)));
    after(() => house[Symbol.asyncDispose]());
    const there = (session: SessionClient): SessionClient => elsewhere(house, session);

    it('asks the person on the call’s own stream; the answer may come to another server', async () => {
      for (const [action, content, outcome] of [
        ['accept', { confirm: true }, 'wiped'],
        ['accept', { confirm: false }, 'kept'],
        ['decline', undefined, 'kept'],
      ] as const) {
        for (const where of [(one: SessionClient) => one, there]) {
          const session = await openSession(house, { elicitation: {} });
          const stream = await session.stream(session.message('tools/call', { name: 'wipe' }));
          const question = await stream.next();
          assert.equal(question?.method, 'elicitation/create');
          assert.equal(question.params?.['message'], 'Wipe?');
          const answer = { jsonrpc: '2.0', id: question.id, result: { action, content } };
          const taken = await where(session).post(answer);
          assert.deepEqual([taken.status, taken.text], [202, '']);
          assert.equal(textOf((await stream.next())?.result), outcome);
          assert.equal(await stream.next(), undefined);
        }
      }
    });

    it('takes no answer once its call is over', async () => {
      house.wiped.length = 0;
      const session = await openSession(house, { elicitation: {} });
      const message = session.message('tools/call', { name: 'wipe' });
      const stream = await session.stream(message);
      const question = await stream.next();
      const params = { requestId: message.id };
      await session.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      assert.equal(await stream.next(), undefined);
      const result = { action: 'accept', content: { confirm: true } };
      await session.post({ jsonrpc: '2.0', id: question?.id, result });
      assert.equal((await session.request('ping')).status, 200);
      assert.deepEqual(house.wiped, []);
    });

    it('takes no answer from anybody else, none twice, and none that does not fit', async () => {
      const session = await openSession(house, { elicitation: {} });
      const stream = await session.stream(session.message('tools/call', { name: 'name' }));
      const question = await stream.next();
      const yes = (id: unknown, name: string): unknown => ({
        jsonrpc: '2.0',
        id,
        result: { action: 'accept', content: { name } },
      });
      const { accessToken } = await obtainTokens(createPerson(house.app), house.client);
      const thief = Object.assign(new SessionClient(house.app, accessToken), { id: session.id });
      assert.equal((await thief.post(yes(question?.id, 'thief'))).status, 404);
      const own = new SessionClient(house.app, accessToken);
      await own.open();
      assert.equal((await own.post(yes(question?.id, 'thief'))).status, 202);
      assert.equal((await session.post(yes('ask_guessed', 'nobody'))).status, 202);
      await session.post(yes(question?.id, 'x'));
      const again = await stream.next();
      assert.notEqual(again?.id, question?.id);
      await session.post(yes(question?.id, 'too late'));
      await session.post(yes(again?.id, 'Mia'));
      assert.equal(textOf((await stream.next())?.result), 'Mia');
    });

    it('asks nothing where the client cannot show it', async () => {
      for (const [version, capabilities] of [
        ['2025-11-25', {}],
        ['2025-11-25', { elicitation: { url: {} } }],
        ['2025-03-26', { elicitation: {} }],
      ] as const) {
        const session = new SessionClient(house.app, house.tokens.accessToken);
        await session.open({ version, capabilities });
        const heard = await session.call('wipe');
        assert.match(String(textOf(heard.messages[0]?.result)), /^This action requires a confirm/);
      }
    });

    it('lets a call go on when its connection closes, and ends it when it is cancelled', async () => {
      for (const where of [(one: SessionClient) => one, there]) {
        house.waiting = Promise.withResolvers();
        const session = await openSession(house);
        const leaving = new AbortController();
        const message = session.message('tools/call', { name: 'wait' });
        const sent = session.send('POST', {
          body: JSON.stringify(message),
          signal: leaving.signal,
        });
        const signal = await house.waiting.promise;
        leaving.abort();
        await assert.rejects(sent);
        await session.request('ping');
        assert.equal(signal.aborted, false);
        const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled' };
        await where(session).post({ ...cancel, params: { requestId: message.id } });
        await aborted;
      }
    });

    it('is one of so many at once, whether anybody waits for it or not', async () => {
      const session = await openSession(house);
      const leaving = new AbortController();
      const messages = Array.from({ length: 64 }, () =>
        session.message('tools/call', { name: 'wait' }),
      );
      const sent = messages.map((message) => {
        const init = { body: JSON.stringify(message), signal: leaving.signal };
        return session.send('POST', init).catch(() => undefined);
      });
      let refused = await session.call('echo', { text: 'x' });
      while (refused.status === 200) refused = await session.call('echo', { text: 'x' });
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5']);
      leaving.abort();
      await Promise.all(sent);
      assert.equal((await session.call('echo', { text: 'x' })).status, 429, 'they go on');
      assert.equal((await session.request('ping')).status, 200);
      for (const { id } of messages) {
        const params = { requestId: id };
        await session.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      }
      while ((await session.call('echo', { text: 'x' })).status === 429);
    });

    it('ends a call that is cancelled without an answer', async () => {
      house.waiting = Promise.withResolvers();
      const session = await openSession(house);
      const message = session.message('tools/call', { name: 'wait' });
      const answer = session.post(message);
      await house.waiting.promise;
      const params = { requestId: message.id };
      await session.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      const { status, text } = await answer;
      assert.deepEqual([status, text], [202, '']);
    });

    it('keeps nothing of answers and cancellations that no call can be waiting for', async () => {
      const session = await openSession(house);
      for (const id of ['\u0000', '\ud800', '', 0, 'ask_', 'x'.repeat(256)]) {
        const heard = await session.post({ jsonrpc: '2.0', id, result: { action: 'decline' } });
        assert.equal(heard.status, 202, JSON.stringify(id));
      }
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled' };
      for (const requestId of ['x'.repeat(257), 1.5, null, {}, undefined]) {
        const heard = await session.post({ ...cancel, params: { requestId } });
        assert.equal(heard.status, 202, JSON.stringify(requestId));
      }
      await session.post({ ...cancel, params: { requestId: '\u0000' } });
      const mail = house.app.store.db.selectFrom('session_mail').select('ref');
      const kept = await mail.where('session', '=', digest(session.id)).execute();
      assert.deepEqual(
        kept.map(({ ref }) => ref),
        ['cancel "\\u0000"'],
      );
      const told = house.app.events.filter(({ type }) => type === 'server.error');
      assert.deepEqual(told, []);
    });
  });
}
