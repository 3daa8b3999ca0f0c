import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DIALECTS, forwardedFrom, startTestApp, type TestApp } from '../support/app.ts';
import {
  callTool,
  CLI_METADATA,
  obtainTokens,
  register,
  registerClient,
  type Answer,
  type OAuthClient,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/*
 * Registrations in great numbers: of one honest client that registers at every connection, which must
 * cost nothing, and of strangers, which must end at the limits and hold up nobody else.
 */

/** Requests under way at the same moment. */
const AT_ONCE = 40;

async function rowsOf({ store }: TestApp): Promise<number> {
  const rows = await store.db.selectFrom('clients').select('id').execute();
  return rows.length;
}

/** Sends `count` requests, a few at a time, and counts the answers by status. */
async function flood(
  count: number,
  request: (index: number) => Promise<Answer>,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  let next = 0;
  async function work(): Promise<void> {
    while (next < count) {
      const { status } = await request(next++);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return statuses;
}

for (const dialect of DIALECTS) {
  describe(`registrations in great numbers on ${dialect}`, () => {
    it('of one honest client, 10,000 from one address, are one row and never refused', async () => {
      await using app = await startTestApp({ dialect });
      const ids = new Set<unknown>();
      const statuses = await flood(10_000, async (index) => {
        // Another port at every start, as command-line clients have it.
        const redirect_uris = [`http://127.0.0.1:${1_024 + index}/callback`];
        const answer = await register(app, { ...CLI_METADATA, redirect_uris });
        ids.add(answer.body['client_id']);
        return answer;
      });
      const faults = app.events.filter((event) => event.type === 'server.error');
      assert.deepEqual(faults, []);
      assert.deepEqual([...statuses], [[201, 10_000]]);
      assert.equal(ids.size, 1);
      assert.equal(await rowsOf(app), 1);
      assert.equal((await app.audit('client.added')).length, 1);
    });

    it('of 2,000 strangers end at the limits, while a known client goes on', async () => {
      const ADDRESSES = 125;
      const EACH = 16;
      const PER_ADDRESS = 10;
      const MOST = 1_000;
      await using app = await startTestApp({
        dialect,
        config: {
          trustedProxies: ['127.0.0.1'],
          oauth: { registrationsPerAddressPerHour: PER_ADDRESS, maxDynamicClients: MOST },
        },
      });
      const known = await registerClient(app);
      const flooding = flood(ADDRESSES * EACH, async (index) => {
        const address = `198.18.8.${index % ADDRESSES}`;
        const metadata = { ...CLI_METADATA, client_name: `Stranger ${index}` };
        const answer = await register(app, metadata, forwardedFrom(address));
        if (answer.status !== 201) {
          const error = answer.status === 429 ? 'too_many_requests' : 'temporarily_unavailable';
          assert.equal(answer.body['error'], error);
          assert.ok(Number(answer.headers.get('retry-after')) > 0);
        }
        return answer;
      });
      const flooded = new AbortController();
      const over = flooding.finally(() => flooded.abort());
      let tokens = await logInAndCall(app, known);
      while (!flooded.signal.aborted) tokens = await refreshAndCall(app, known, tokens);
      const statuses = Object.fromEntries(await over);
      // All from an address after the tenth, and of the others all for which there is no room.
      const tooMany = ADDRESSES * (EACH - PER_ADDRESS);
      const full = ADDRESSES * PER_ADDRESS - (MOST - 1);
      assert.deepEqual(statuses, { 201: MOST - 1, 429: tooMany, 503: full });
      assert.equal(await rowsOf(app), MOST);
      await registerClient(app);
      await logInAndCall(app, known);
    });
  });
}

async function logInAndCall(app: TestApp, client: OAuthClient): Promise<TokenAnswer> {
  const tokens = await obtainTokens(createPerson(app), client);
  assert.equal((await callTool(app, tokens.accessToken)).status, 200);
  return tokens;
}

async function refreshAndCall(
  app: TestApp,
  client: OAuthClient,
  { refreshToken }: TokenAnswer,
): Promise<TokenAnswer> {
  const tokens = await client.refresh(refreshToken);
  assert.equal(tokens.status, 200, tokens.text);
  assert.equal((await callTool(app, tokens.accessToken)).status, 200);
  return tokens;
}
