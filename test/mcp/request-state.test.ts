import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MINUTE } from '#src/clock.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { DIALECTS } from '../support/app.ts';
import { answered, House, messageOf, textOf, tokenFor, YES, type Heard } from './asking-house.ts';

/** `requestState`: what makes an answer count once, for one call of one grant. */

for (const dialect of DIALECTS) {
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
