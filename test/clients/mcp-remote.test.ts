import assert from 'node:assert/strict';
import { registrationOf } from '../support/known-clients.ts';
import { createOAuthClient, type Answer, type Send } from '../support/oauth-client.ts';
import { pathOf } from './wire.ts';
import { assertServed, playClient } from './steps.ts';

/*
 * A bridge for apps that only start local servers. It keeps its client id in a file for ever, so it
 * asks the authorization endpoint for JSON before it opens the browser: only an answer that says that
 * the client is not registered, and where to register, makes it register again.
 */

const { metadata } = registrationOf('mcp-remote');
const FALLBACK_SCOPE = 'openid email profile';

function asksForJson(send: Send, path: string): Promise<Answer> {
  return send(path, { headers: { accept: 'application/json' } });
}

/** Whether this answer makes it forget its client id. */
function saysNotRegistered({ status, body }: Answer): boolean {
  if (status !== 400 && status !== 401) return false;
  const { registration_endpoint: endpoint, error_description: words } = body;
  return typeof endpoint === 'string' && /\bclient is not registered\b/i.test(String(words));
}

playClient(
  {
    client: 'mcp-remote',
    revision: '2025-11-25',
    looksFor: {
      resource: ['challenge', 'inserted', 'root'],
      server: ['oauth inserted', 'openid inserted', 'openid appended', 'oauth root'],
    },
    is: { kind: 'registers', metadata },
    redirectUris: ['http://localhost:3334/oauth/callback', 'http://localhost:17093/oauth/callback'],
    authorizes: () => ({ scope: FALLBACK_SCOPE }),
    refreshes: ({ resource }) => ({ resource }),
    async tries(send, path) {
      assert.ok(!saysNotRegistered(await asksForJson(send, path)), 'it would register for ever');
    },
  },
  {
    async 'registers again when its client is gone, and only then'({ install }) {
      const client = install();
      await client.discover();
      const [redirectUri] = client.play.redirectUris;
      const gone = createOAuthClient(client.site, { id: `cli_${'0'.repeat(30)}`, redirectUri });
      const path = pathOf(client.site, gone.authorize({ scope: FALLBACK_SCOPE }).url);
      const answer = await asksForJson(client.send, path);
      assert.ok(saysNotRegistered(answer), answer.text);
      assert.equal(
        answer.body['registration_endpoint'],
        client.found.server['registration_endpoint'],
      );
      const refused = await gone.refresh('x'.repeat(43));
      assert.deepEqual([refused.status, refused.error], [401, 'invalid_client']);
      await client.logIn();
      assertServed(await client.call());
    },
    async 'does not register again for another mistake'({ install }) {
      const client = install();
      await client.discover();
      await client.register();
      for (const changes of [
        { redirect_uri: 'https://evil.example/' },
        { code_challenge: null },
        { resource: 'https://other.example/mcp' },
      ]) {
        const path = pathOf(client.site, client.oauth.authorize(changes).url);
        assert.ok(!saysNotRegistered(await asksForJson(client.send, path)));
      }
    },
  },
);
