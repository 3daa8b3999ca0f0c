import assert from 'node:assert/strict';
import { documentOf, registrationOf } from '../support/known-clients.ts';
import { USUAL_PLACES } from './play.ts';
import { playClient } from './steps.ts';

/*
 * A program on somebody's computer. It listens on whichever port is free, so its redirect URI is
 * another one at each login.
 */

const older = registrationOf('Claude Code');
const newer = registrationOf('Claude Code, newer');
const published = documentOf('Claude Code');

// Builds that knew neither RFC 9728 nor RFC 8707: the server is the authorization server.
playClient({
  client: 'Claude Code, older',
  revision: '2025-03-26',
  looksFor: { resource: [], server: ['oauth root'] },
  is: { kind: 'registers', metadata: older.metadata },
  redirectUris: ['http://localhost:54545/callback', 'http://localhost:60001/callback'],
  authorizes: () => ({ scope: null, resource: null }),
  redeems: () => ({ resource: null }),
});

playClient(
  {
    client: 'Claude Code',
    revision: '2025-11-25',
    sends: { 'user-agent': 'claude-code/2.1.0 (cli)' },
    looksFor: USUAL_PLACES,
    is: { kind: 'registers', metadata: newer.metadata },
    redirectUris: ['http://localhost:54545/callback', 'http://localhost:49152/callback'],
    authorizes: ({ challenge, resource }) => ({ scope: challenge.scope ?? null, resource }),
    refreshes: ({ resource }) => ({ resource }),
  },
  {
    async 'two laptops keep two logins'({ install }) {
      const [one, other] = [install(), install()];
      await one.logIn();
      await other.logIn();
      assert.equal(one.oauth.id, other.oauth.id);
      await one.oauth.revoke(one.tokens.refreshToken);
      assert.equal((await one.call()).status, 401);
      assert.equal((await other.call()).status, 200);
    },
  },
);

playClient({
  client: 'Claude Code, document',
  revision: '2025-11-25',
  looksFor: USUAL_PLACES,
  is: { kind: 'document', id: published.id, metadata: published.metadata },
  redirectUris: ['http://localhost:54545/callback', 'http://127.0.0.1:60001/callback'],
  refreshes: ({ resource }) => ({ resource }),
});
