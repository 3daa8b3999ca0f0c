import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import { obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';
import { DIFFERENCES, GENERAL, type GeneralDifference } from './differences.ts';
import { outcomeOf, type Ask } from './outcomes.ts';
import { PROBES } from './probes.ts';
import { SdkHouse, TOOLS } from './sdk-house.ts';

const LEAST = 200;

describe('beside the official SDK', () => {
  let app: TestApp;
  let ours: Ask;
  const sdk = new SdkHouse();
  const theirs: Ask = (init, isJson) =>
    sdk.fetch(new Request('http://localhost/mcp', init), isJson);
  before(async () => {
    app = await startTestApp({
      dialect: 'sqlite',
      tools: TOOLS,
      roles: { restrictedByDefault: false, roles: [{ role: 'readers', privileges: [] }] },
    });
    const client = await registerClient(app);
    const { accessToken } = await obtainTokens(createPerson(app), client, { name: 'rita' });
    ours = (init) => {
      const headers = { ...(init.headers as object), authorization: `Bearer ${accessToken}` };
      return fetch(`${app.url}/mcp`, { ...init, headers });
    };
  });
  after(async () => {
    await sdk.close();
    await app[Symbol.asyncDispose]();
  });

  it('every request is answered the same, but for what is listed with a reason', async (t) => {
    assert.ok(PROBES.length >= LEAST);
    assert.equal(new Set(PROBES.map(({ name }) => name)).size, PROBES.length, 'names are unique');
    const found: Record<string, Answers> = {};
    const general = new Set<string>();
    for (const probe of PROBES) {
      const raw = { ours: await outcomeOf(probe, ours), sdk: await outcomeOf(probe, theirs) };
      for (const one of GENERAL) if (differs(without(raw, one), raw)) general.add(one.reason);
      const answers = GENERAL.reduce(without, raw);
      if (answers.ours !== answers.sdk) found[probe.name] = answers;
    }
    const listed = DIFFERENCES.flatMap(({ probes, ours: here, sdk: there }) =>
      probes.map((name) => [name, { ours: here, sdk: there }] as const),
    );
    assert.deepEqual(found, Object.fromEntries(listed));
    assert.equal(listed.length, Object.keys(found).length, 'nothing is listed twice');
    assert.deepEqual([...general].toSorted(), GENERAL.map(({ reason }) => reason).toSorted());
    t.diagnostic(`${PROBES.length} requests, ${listed.length} answered differently with a reason`);
  });
});

interface Answers {
  ours: string;
  sdk: string;
}

function without(answers: Answers, { ours, sdk }: GeneralDifference): Answers {
  return {
    ours: ours === undefined ? answers.ours : answers.ours.replace(...ours),
    sdk: sdk === undefined ? answers.sdk : answers.sdk.replace(...sdk),
  };
}

/** Whether one of two answers was changed. */
function differs(one: Answers, other: Answers): boolean {
  return one.ours !== other.ours || one.sdk !== other.sdk;
}
