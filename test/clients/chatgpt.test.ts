import assert from 'node:assert/strict';
import { CHATGPT_DOCUMENT } from '../support/known-clients.ts';
import { makeSigner } from '../support/signer.ts';
import { PUBLIC_SERVER, USUAL_PLACES, type ClientPlay } from './play.ts';
import { assertServed, playClient } from './steps.ts';

/*
 * A website with one metadata document for everybody. It signs its token requests with a key that it
 * publishes, or does not: its document lists both.
 */

const { id, keysUrl, metadata } = CHATGPT_DOCUMENT;
const signer = makeSigner('chatgpt-1', 'RS256');

const HABITS = {
  revision: '2025-11-25',
  sends: { 'user-agent': 'openai-mcp/1.0.0' },
  accepts: 'text/event-stream, application/json',
  looksFor: { ...USUAL_PLACES, resource: ['challenge', 'inserted'] },
  redirectUris: [metadata.redirect_uris[0]],
  authorizes: ({ challenge }) => ({ scope: challenge.scope ?? null }),
  refreshes: ({ resource }) => ({ resource, scope: 'mcp' }),
  server: PUBLIC_SERVER,
} satisfies Partial<ClientPlay>;

playClient(
  {
    ...HABITS,
    client: 'ChatGPT, signing',
    is: { kind: 'document', id, metadata, signs: { signer, keysUrl } },
  },
  {
    async 'its keys and its document are fetched once while they are fresh'({ stage, install }) {
      stage.clock.advance(3_600_000);
      stage.hosts.requests.length = 0;
      const client = install();
      await client.logIn();
      client.keep(await client.refresh());
      assert.deepEqual(stage.hosts.requests.toSorted(), [
        'chatgpt.com/oauth/client.json',
        'chatgpt.com/oauth/jwks.json',
      ]);
    },
    async 'stays in while its host is unreachable'({ stage, install }) {
      const client = install();
      await client.logIn();
      stage.hosts.unplug();
      stage.clock.advance(2 * 3_600_000);
      client.keep(await client.refresh());
      assertServed(await client.call());
      stage.hosts.plugIn();
    },
    async 'is not whoever signs with another key'({ install }) {
      const client = install({
        is: {
          kind: 'document',
          id,
          metadata,
          signs: { signer: makeSigner('chatgpt-1', 'RS256'), keysUrl },
        },
      });
      await client.discover();
      await client.register();
      const answer = await client.refresh('x'.repeat(43));
      assert.deepEqual([answer.status, answer.error], [401, 'invalid_client']);
    },
  },
);

playClient({ ...HABITS, client: 'ChatGPT', is: { kind: 'document', id, metadata } });
