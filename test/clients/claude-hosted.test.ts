import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { documentOf, registrationOf } from '../support/known-clients.ts';
import { passPages } from '../support/oauth-client.ts';
import { PUBLIC_SERVER, USUAL_PLACES, type ClientPlay } from './play.ts';
import { assertServed, playClient } from './steps.ts';

/*
 * A website whose own servers do the talking, for many people from few addresses. It registers twice
 * for each connection, and disconnecting tells the server nothing.
 */

const registered = registrationOf('Claude, hosted');
const published = documentOf('Claude, hosted');
const callback = 'https://claude.ai/api/mcp/auth_callback';

const HABITS = {
  revision: '2025-11-25',
  sends: { 'user-agent': 'python-httpx/0.28.1', accept: '*/*' },
  looksFor: USUAL_PLACES,
  redirectUris: [callback],
  // Everything that its own pages need to go on, signed: far longer than usual.
  authorizes: ({ challenge }) => ({
    scope: challenge.scope ?? null,
    state: `${randomBytes(1_500).toString('base64')}.${randomBytes(32).toString('base64url')}`,
  }),
  refreshes: ({ resource }) => ({ resource }),
} satisfies Partial<ClientPlay>;

playClient(
  {
    ...HABITS,
    client: 'Claude',
    typed: '/mcp/',
    is: { kind: 'registers', metadata: registered.metadata, times: 2, forgets: true },
    server: { ...PUBLIC_SERVER, oauth: { registrationsPerAddressPerHour: 1 } },
  },
  {
    async 'forty people connect from one address, and none of them is refused'({ install }) {
      const ids = new Set<string>();
      for (let person = 0; person < 40; person += 1) {
        const client = install();
        await client.discover();
        await client.register();
        ids.add(client.oauth.id);
      }
      assert.equal(ids.size, 1);
    },
    async 'leaves without a word and comes back'({ install }) {
      const client = install();
      await client.logIn();
      const left = client.tokens;
      await client.logIn();
      assertServed(await client.call());
      assertServed(await client.call(left.accessToken));
    },
  },
);

playClient(
  {
    ...HABITS,
    client: 'Claude, document',
    is: { kind: 'document', id: published.id, metadata: published.metadata, isPinned: true },
    server: PUBLIC_SERVER,
  },
  {
    async 'its document is never asked for'({ stage }) {
      assert.deepEqual(stage.hosts.requests, []);
    },
  },
);

playClient(
  {
    ...HABITS,
    client: 'Claude, fetched',
    is: { kind: 'document', id: published.id, metadata: published.metadata },
    server: PUBLIC_SERVER,
  },
  {
    async 'stays in while its host answers 403'({ stage, install }) {
      const client = install();
      await client.logIn();
      stage.hosts.answer(published.id, { status: 403 });
      stage.clock.advance(25 * 3_600_000);
      client.keep(await client.refresh());
      assertServed(await client.call());
      const other = install();
      await other.logIn();
      assertServed(await other.call());
    },
    async 'is told to try again when it cannot be known yet'({ stage, install }) {
      const id = 'https://claude.ai/oauth/another-client-metadata';
      stage.hosts.answer(id, { status: 403 });
      const client = install({ is: { kind: 'document', id, metadata: published.metadata } });
      await client.discover();
      await client.register();
      const request = client.oauth.authorize();
      const page = await client.person.follow(request.url);
      assert.deepEqual([page.status, page.headers.get('retry-after')], [503, '60']);
      stage.hosts.publish(id, published.metadata);
      stage.clock.advance(61_000);
      const { returned } = await passPages(client.person, request, { name: 'walter' });
      assert.ok(returned.href.startsWith(`${callback}?`));
    },
  },
);
