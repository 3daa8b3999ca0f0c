import assert from 'node:assert/strict';
import { registrationOf } from '../support/known-clients.ts';
import { USUAL_PLACES } from './play.ts';
import { assertServed, playClient } from './steps.ts';

/*
 * An editor whose three redirect URIs are of three kinds. Most logins come back through a scheme of
 * its own, which the operating system hands to it as the browser wrote it.
 */

const { metadata } = registrationOf('Cursor');
const scheme = 'cursor://anysphere.cursor-mcp/oauth/callback';

playClient(
  {
    client: 'Cursor',
    revision: '2025-11-25',
    sends: { 'user-agent': 'Cursor/3.2.0' },
    looksFor: USUAL_PLACES,
    is: { kind: 'registers', metadata },
    redirectUris: [scheme, 'http://localhost:8787/callback'],
    authorizes: ({ challenge }) => ({ scope: challenge.scope ?? null }),
    refreshes: ({ resource }) => ({ resource }),
  },
  {
    async 'comes back through its website too'({ install }) {
      const client = install({
        redirectUris: ['https://www.cursor.com/agents/mcp/oauth/callback'],
      });
      await client.logIn();
      assertServed(await client.call());
    },
    async 'is always asked about at its own scheme, which others could claim'({ install }) {
      const client = install();
      await client.logIn();
      const second = await client.authorize();
      assert.ok(second.consent);
    },
    async 'gets its address whole, whatever the state says'({ install }) {
      const client = install({ authorizes: () => ({ state: 'a b&c=d#e/%41é' }) });
      await client.discover();
      await client.register();
      const { returned } = await client.authorize();
      const { protocol, host, pathname, hash, searchParams } = returned;
      assert.deepEqual(
        [protocol, host, pathname, hash],
        ['cursor:', 'anysphere.cursor-mcp', '/oauth/callback', ''],
      );
      assert.deepEqual([...searchParams.keys()].toSorted(), ['code', 'iss', 'state']);
      assert.equal(searchParams.get('state'), 'a b&c=d#e/%41é');
    },
    async 'may not be sent elsewhere within its scheme'({ install }) {
      const client = install();
      await client.discover();
      await client.register();
      for (const redirectUri of [`${scheme}/`, 'cursor://evil/oauth/callback', 'cursor://x']) {
        const { url } = client.oauth.authorize({ redirect_uri: redirectUri });
        const page = await client.person.follow(url);
        assert.deepEqual([page.status, page.leftFor], [400, undefined]);
      }
    },
  },
);
