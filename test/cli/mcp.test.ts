import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cliAudit, ENGINES, makeProject, seed } from './support.ts';

for (const engine of ENGINES) {
  describe(`mcp on ${engine}`, () => {
    it('is on, goes off and on again, and says so', async () => {
      await using project = await makeProject({ engine });
      const { store } = await seed(project);
      const on = { enabled: true, configured: true };
      const off = { enabled: false, configured: true };
      assert.deepEqual(await project.json(['mcp', 'status']), on);
      assert.deepEqual(await project.json(['mcp', 'disable']), off);
      assert.deepEqual(await project.json(['mcp', 'disable']), off);
      assert.match((await project.cli(['mcp', 'status'])).stdout, /is off: requests get 404/);
      assert.deepEqual(await project.json(['mcp', 'enable']), on);
      assert.match((await project.cli(['mcp', 'status'])).stdout, /^The MCP endpoint is on\.$/m);
      const actions = (await cliAudit(store)).map((row) => row.split(' ')[0]);
      assert.deepEqual(actions, ['mcp.disabled', 'mcp.disabled', 'mcp.enabled']);
    });
  });
}
