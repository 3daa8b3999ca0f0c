import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { switchMcp } from '#src/storage/settings.ts';
import { tool } from '#src/tools/define.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { callTool, obtainTokens, registerClient, send } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { SessionClient, Stream } from './session-client.ts';

/** The endpoint, switched off and on while servers run. */

const turn = (app: TestApp, isOn: boolean): Promise<void> =>
  app.store.transaction((work) => switchMcp(work, 'cli', isOn));

for (const dialect of DIALECTS) {
  describe(`the switch of the endpoint on ${dialect}`, () => {
    it('lets running calls finish, refuses the very next request, and closes sessions', async () => {
      const running = Promise.withResolvers<void>();
      const go = Promise.withResolvers<string>();
      const tools = [
        tool({
          name: 'wait',
          input: z.object({}),
          run() {
            running.resolve();
            return go.promise;
          },
        }),
      ];
      const roles = { restrictedByDefault: false, roles: [{ role: 'readers', privileges: [] }] };
      await using app = await startTestApp({ dialect, tools, roles });
      const client = await registerClient(app);
      const { accessToken } = await obtainTokens(createPerson(app), client, { name: 'rita' });
      const session = new SessionClient(app, accessToken);
      await session.open();
      const stream = new Stream(await session.send('GET'));
      const answer = callTool(app, accessToken, { name: 'wait' });
      await running.promise;
      await turn(app, false);
      const refused = await callTool(app, accessToken, { name: 'wait' });
      assert.deepEqual([refused.status, refused.text], [404, '']);
      assert.equal((await session.request('ping')).status, 404);
      assert.equal(await stream.next(), undefined);
      // Who brings no credential hears of it within a second.
      let status = 0;
      while (status !== 404) status = (await send(app, '/mcp', { method: 'POST' })).status;
      go.resolve('done');
      assert.match((await answer).text, /"done"/);
      assert.match((await send(app, '/', { headers: { accept: 'text/html' } })).text, /Paused/);
      await turn(app, true);
      while ((await callTool(app, accessToken, { name: 'nope' })).status === 404);
      assert.equal((await session.request('ping')).status, 404, 'the session is gone');
      await session.open();
      assert.deepEqual(
        (await app.audit()).map((row) => row.action).filter((action) => action.startsWith('mcp.')),
        ['mcp.disabled', 'mcp.enabled'],
      );
    });
  });
}
