import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DIALECTS } from '../support/app.ts';
import { answered, House, messageOf, textOf, YES } from './asking-house.ts';

/** Asking the person in the modern era: over real HTTP, with real grants and a real store. */

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
}
