import assert from 'node:assert/strict';
import { registrationOf } from '../support/known-clients.ts';
import { REVOKE_PATH } from '../support/oauth-client.ts';
import { USUAL_PLACES } from './play.ts';
import { playClient } from './steps.ts';

/*
 * A page on localhost:6274, so every request of its goes through a browser's CORS: preflights for
 * its headers and JSON, and nothing to see of an answer but what is exposed to it.
 */

const { metadata } = registrationOf('MCP Inspector');

playClient(
  {
    client: 'MCP Inspector',
    revision: '2025-11-25',
    page: 'http://localhost:6274',
    looksFor: { ...USUAL_PLACES, resource: ['challenge', 'inserted'] },
    is: { kind: 'registers', metadata },
    redirectUris: ['http://localhost:6274/oauth/callback'],
    authorizes: ({ challenge }) => ({ scope: challenge.scope ?? '' }),
    refreshes: ({ resource }) => ({ resource }),
  },
  {
    async 'reads errors, and a 404, as well as answers'({ install }) {
      const client = install();
      await client.discover();
      await client.register();
      const refused = await client.refresh('x'.repeat(43));
      assert.deepEqual([refused.status, refused.error], [400, 'invalid_grant']);
      const missing = await client.send('/.well-known/nothing');
      assert.deepEqual([missing.status, missing.body['error']], [404, 'not_found']);
    },
    async 'signs out'({ install }) {
      const client = install();
      await client.logIn();
      const body = new URLSearchParams({
        token: client.tokens.refreshToken,
        client_id: client.oauth.id,
      });
      const answer = await client.send(REVOKE_PATH, { method: 'POST', body });
      assert.equal(answer.status, 200);
      assert.equal((await client.call()).status, 401);
    },
    async 'is the page of this machine, and no other'({ install }) {
      const foreign = install({ page: 'https://evil.example' });
      await assert.rejects(foreign.discover(), /a page may not read this/);
    },
  },
);
