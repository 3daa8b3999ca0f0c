import assert from 'node:assert/strict';
import { WEB_METADATA } from '../support/oauth-client.ts';
import { PUBLIC_SERVER, USUAL_PLACES } from './play.ts';
import { assertServed, playClient } from './steps.ts';

/*
 * What clients do whose names nobody knows: they keep a secret and send it in their own way, spell
 * things oddly, and accept one type only.
 */

const [callback = ''] = WEB_METADATA.redirect_uris;

// The secret travels in the header alone: there is no client_id in the form.
playClient({
  client: 'secret, in Basic',
  revision: '2025-06-18',
  looksFor: USUAL_PLACES,
  is: {
    kind: 'registers',
    metadata: { ...WEB_METADATA, token_endpoint_auth_method: 'client_secret_post' },
    auth: 'basic',
  },
  redirectUris: [callback],
  authorizes: () => ({ prompt: 'consent' }),
  server: PUBLIC_SERVER,
});

playClient(
  {
    client: 'secret, in the form',
    revision: '2025-06-18',
    looksFor: { resource: ['root'], server: ['oauth appended'] },
    is: {
      kind: 'registers',
      metadata: { ...WEB_METADATA, token_endpoint_auth_method: 'client_secret_basic' },
      auth: 'post',
      forgets: true,
    },
    redirectUris: [callback],
    server: PUBLIC_SERVER,
  },
  {
    async 'is nobody without its secret'({ install }) {
      const client = install();
      await client.logIn();
      const answer = await client.oauth.refresh(client.tokens.refreshToken, {
        client_secret: null,
      });
      assert.deepEqual([answer.status, answer.error], [401, 'invalid_client']);
      client.keep(await client.refresh());
    },
    async 'signs out with its access token'({ install }) {
      const client = install();
      await client.logIn();
      assert.equal((await client.oauth.revoke(client.tokens.accessToken)).status, 200);
      assert.equal((await client.call()).status, 401);
      assert.equal((await client.refresh()).error, 'invalid_grant');
    },
  },
);

playClient({
  client: 'odd spelling',
  revision: '2024-11-05',
  typed: '/mcp/',
  accepts: 'application/json',
  looksFor: { resource: ['root'], server: ['openid root'] },
  is: {
    kind: 'registers',
    metadata: {
      client_name: 'Odd',
      redirect_uris: ['http://[::1]:7000/callback', 'http://localhost/callback'],
      grant_types: ['authorization_code', 'refresh_token', 'implicit'],
      application_type: 'web',
      logo_uri: '',
      contacts: null,
      scope: ' openid  mcp ',
    },
  },
  redirectUris: ['http://[::1]:60123/callback', 'http://localhost/callback'],
  authorizes: ({ resource }) => ({ scope: '  mcp  offline_access ', resource: `${resource}/` }),
  redeems: ({ resource }) => ({ resource: [resource, `${resource}/`] }),
  refreshes: ({ resource }) => ({ scope: ' mcp  writer ', resource: `${resource}/` }),
});

playClient(
  {
    client: 'event streams only',
    revision: '2025-06-18',
    accepts: 'text/event-stream',
    looksFor: USUAL_PLACES,
    is: {
      kind: 'registers',
      metadata: {
        redirect_uris: ['http://127.0.0.1/cb'],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    },
    redirectUris: ['http://127.0.0.1:4000/cb'],
    authorizes: () => ({ scope: null, resource: '', state: 's'.repeat(8_000) }),
    redeems: () => ({ resource: '' }),
    refreshes: () => ({ scope: '', resource: '' }),
  },
  {
    async 'accepts anything, or says nothing'({ install }) {
      for (const accepts of ['*/*', '']) {
        const client = install({ accepts });
        await client.logIn();
        assertServed(await client.call());
      }
    },
  },
);
