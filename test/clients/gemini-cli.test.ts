import assert from 'node:assert/strict';
import { registrationOf } from '../support/known-clients.ts';
import { TOKEN_PATH } from '../support/oauth-client.ts';
import { playClient } from './steps.ts';

/*
 * A program on somebody's computer with an OAuth client of its own. It looks for the metadata before
 * it has seen a 401, asks for no scope, and would take a form as the token endpoint's answer.
 */

const { metadata } = registrationOf('Gemini CLI');
const accept = 'application/json, application/x-www-form-urlencoded';

playClient(
  {
    client: 'Gemini CLI',
    revision: '2025-06-18',
    sends: { accept },
    looksFor: {
      resource: ['inserted', 'root', 'challenge'],
      server: ['oauth inserted', 'openid inserted', 'openid appended', 'oauth root', 'openid root'],
    },
    is: { kind: 'registers', metadata },
    redirectUris: ['http://localhost:7777/oauth/callback', 'http://localhost:41000/oauth/callback'],
    authorizes: () => ({ scope: null }),
    refreshes: ({ resource }) => ({ resource }),
  },
  {
    async 'sends an empty scope where an older one left it out'({ install }) {
      const client = install({
        authorizes: () => ({ scope: '' }),
        refreshes: () => ({ scope: '' }),
      });
      await client.logIn();
      client.keep(await client.refresh());
    },
    async 'asks the server itself before anything else'({ install }) {
      const { send } = install();
      const asked = await send('/mcp', {
        method: 'HEAD',
        headers: { accept: 'text/event-stream' },
      });
      assert.ok([401, 405].includes(asked.status), `${asked.status}`);
    },
    async 'reads errors as JSON although it accepts forms'({ install }) {
      const { send } = install();
      const body = new URLSearchParams({ grant_type: 'refresh_token', client_id: 'cli_0' });
      const answer = await send(TOKEN_PATH, { method: 'POST', body });
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
      assert.equal(typeof answer.body['error'], 'string');
    },
  },
);
