import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { tool } from '#src/tools/define.ts';
import { DIALECTS, startTestApp } from '../support/app.ts';
import { obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { SessionClient } from './session-client.ts';

/** What the person may do when they answer counts, not what they might when they were asked. */

for (const dialect of DIALECTS) {
  describe(`an answer in a session on ${dialect}`, () => {
    for (const [roles, outcome] of [
      [['owners'], ['wiped']],
      [['guests'], []],
    ] as const) {
      it(`${outcome.length > 0 ? 'counts' : 'counts for nothing'} for somebody who is one of ${roles[0]} by then`, async () => {
        const wiped: string[] = [];
        const wipe = tool({
          name: 'wipe',
          input: z.object({}),
          async run(_args, { confirm }) {
            if (await confirm('Wipe?')) wiped.push('wiped');
            return 'done';
          },
        });
        const rules = {
          privileges: [{ privilege: 'admin' }, { privilege: 'reader' }],
          roles: [
            { role: 'owners', privileges: ['admin', 'reader'] },
            { role: 'guests', privileges: ['reader'] },
          ],
          permissions: {
            allowed: [{ applyTo: 'wipe', type: 'tool' as const, execute: ['admin'] }],
          },
        };
        await using app = await startTestApp({ dialect, tools: [wipe], roles: rules });
        const client = await registerClient(app);
        const { accessToken } = await obtainTokens(createPerson(app), client, { name: 'olga' });
        const session = new SessionClient(app, accessToken);
        await session.open({ capabilities: { elicitation: {} } });
        const stream = await session.stream(session.message('tools/call', { name: 'wipe' }));
        const question = await stream.next();
        assert.equal(question?.method, 'elicitation/create');
        const now = JSON.stringify(roles);
        const { db } = app.store;
        await db.updateTable('users').set({ roles: now }).where('name', '=', 'olga').execute();
        const result = { action: 'accept', content: { confirm: true } };
        await session.post({ jsonrpc: '2.0', id: question.id, result });
        await stream.next();
        assert.deepEqual(wiped, outcome);
      });
    }
  });
}
