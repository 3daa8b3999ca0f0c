import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { documentOf, registrationOf } from '../support/known-clients.ts';
import { USUAL_PLACES, type ClientPlay } from './play.ts';
import { assertServed, playClient } from './steps.ts';

/*
 * An editor. It waits at 127.0.0.1:33418 or, when that is taken, at any port, or lets its website send
 * the person back. Its state is base64 as it comes.
 */

const registered = registrationOf('VS Code');
const published = documentOf('VS Code');

/** Sixteen bytes, so always padded; with slashes in them. */
function state(): string {
  return Buffer.concat([Buffer.from([0xff, 0xff, 0xff]), randomBytes(13)]).toString('base64');
}

const HABITS = {
  revision: '2025-11-25',
  sends: { 'user-agent': 'Visual Studio Code/1.118.0' },
  looksFor: { ...USUAL_PLACES, resource: ['challenge', 'inserted', 'root'] },
  authorizes: ({ challenge }) => ({ scope: challenge.scope ?? '', state: state() }),
  redeems: ({ resource }) => ({ resource }),
} satisfies Partial<ClientPlay>;

playClient(
  {
    ...HABITS,
    client: 'VS Code',
    is: { kind: 'registers', metadata: registered.metadata },
    redirectUris: ['http://127.0.0.1:51234/', 'https://vscode.dev/redirect'],
  },
  {
    async 'its state has what breaks in a query'() {
      assert.match(state(), /^\/{3}.*==$/);
    },
    async 'waits at its own port, or at none'({ install }) {
      for (const redirectUri of ['http://127.0.0.1:33418/', 'http://127.0.0.1/']) {
        const client = install({ redirectUris: [redirectUri] });
        await client.logIn();
        assertServed(await client.call());
      }
    },
    async 'two windows share a client id and no token'({ install }) {
      const [one, other] = [install(), install()];
      await one.logIn();
      await other.logIn();
      assert.equal(one.oauth.id, other.oauth.id);
      assert.notEqual(one.tokens.refreshToken, other.tokens.refreshToken);
    },
  },
);

playClient({
  ...HABITS,
  client: 'VS Code, document',
  is: { kind: 'document', id: published.id, metadata: published.metadata },
  redirectUris: ['http://127.0.0.1:50123/', 'https://vscode.dev/redirect'],
});
