import assert from 'node:assert/strict';
import { it } from 'node:test';
import { z } from 'zod';
import { tool, type Tool } from '#src/tools/define.ts';
import { startTestApp } from '../support/app.ts';
import { obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { temporaryFolder } from '../support/temp.ts';
import { startCredentialProxy } from './credential-proxy.ts';
import { FIXTURE_TOOLS } from './fixtures.ts';
import { isScored, knownDifferences, REVISIONS, type Revision } from './known-differences.ts';
import { runSuite } from './suite.ts';

const OPEN_HOUSE = {
  restrictedByDefault: false,
  privileges: [],
  roles: [{ role: 'tester', privileges: [] }],
  permissions: { allowed: [] },
};
/** Fewer means that the suite did not run as it should. */
const EXPECTED_SUCCESSES: Readonly<Record<Revision, number>> = {
  '2026-07-28': 110,
  '2025-11-25': 58,
};

/** The tool that changes which tools there are. */
function trigger(change: (tools: Tool[]) => void): Tool {
  const self: Tool = tool({
    name: 'test_trigger_tool_change',
    description: 'Changes the list of tools.',
    input: z.object({}),
    run() {
      change([self]);
      return 'changed';
    },
  });
  return self;
}

for (const revision of REVISIONS) {
  it(`the requirements of revision ${revision} hold, but for what is listed with a reason`, async (t) => {
    await using folder = await temporaryFolder();
    await using app = await startTestApp({
      dialect: 'sqlite',
      tools: [...FIXTURE_TOOLS, trigger((tools) => app.replaceTools([...FIXTURE_TOOLS, ...tools]))],
      roles: OPEN_HOUSE,
    });
    await app.addUser('tester', { roles: ['tester'] });
    const client = await registerClient(app);
    const { accessToken } = await obtainTokens(createPerson(app), client, { name: 'tester' });
    await using proxy = await startCredentialProxy(app.url, `Bearer ${accessToken}`);
    const { checks, output } = await runSuite(
      ['server', '--url', `${proxy.url}/mcp`, '--requirements', revision],
      folder.path,
    );
    const known = knownDifferences(revision);
    const scored = checks.filter((check) => isScored(check.scenario));
    const passed = scored.filter((check) => check.status === 'SUCCESS');
    const failed = scored.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
    const surprises = failed.filter((check) => !Object.hasOwn(known, check.id));
    assert.deepEqual(surprises, [], 'every check that fails is listed with a reason');
    const failing = new Set(failed.map((check) => check.id));
    const outdated = Object.keys(known).filter((id) => !failing.has(id));
    assert.deepEqual(outdated, [], 'what passes is not on the list');
    assert.ok(
      passed.length >= EXPECTED_SUCCESSES[revision],
      `only ${passed.length} checks passed\n${output.slice(-2_000)}`,
    );
    t.diagnostic(`${passed.length} checks passed, ${failed.length} differ with a reason`);
  });
}
