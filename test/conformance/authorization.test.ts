import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startTestApp } from '../support/app.ts';
import { leftFor, registerClient, CLI_METADATA } from '../support/oauth-client.ts';
import { createPerson, type Person } from '../support/person.ts';
import { freePort, temporaryFolder } from '../support/temp.ts';
import { runSuite } from './suite.ts';

/** The suite prints where a person has to go, and waits for the person at its own callback. */
const LOGIN_URL = /http:\/\/\S+\/mcp\/oauth\/authorize\?\S+/;
const EXPECTED_CHECKS = 3;

it('the authorization scenarios pass against the real login', async (t) => {
  await using folder = await temporaryFolder();
  await using app = await startTestApp({ dialect: 'sqlite' });
  const port = await freePort();
  const redirectUri = `http://127.0.0.1:${port}/callback`;
  const client = await registerClient(app, { ...CLI_METADATA, redirect_uris: [redirectUri] });
  const person = createPerson(app);
  let visit: Promise<void> | undefined;
  const { checks, output } = await runSuite(
    [
      'authorization',
      `--url=${app.origin}/mcp`,
      `--client-id=${client.id}`,
      `--port=${port}`,
      `--resource=${app.origin}/mcp`,
    ],
    folder.path,
    (printed) => {
      const url = LOGIN_URL.exec(printed)?.[0];
      // Only once it listens: the line about waiting comes after the address.
      if (url !== undefined && printed.includes('Callback server started'))
        visit ??= logIn(person, url);
    },
  );
  await visit;
  const failed = checks.filter((check) => check.status !== 'SUCCESS');
  assert.deepEqual(failed, [], output.slice(-3_000));
  assert.ok(checks.length >= EXPECTED_CHECKS, `only ${checks.length} checks ran\n${output}`);
  t.diagnostic(`${checks.length} of ${checks.length} checks passed`);
});

async function logIn(person: Person, url: string): Promise<void> {
  const consent = await person.logIn(await person.follow(url), { name: 'rita' });
  await fetch(leftFor(await person.allow(consent)));
}
