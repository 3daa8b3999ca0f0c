import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startTestApp } from '../support/app.ts';
import { createTestClock } from '../support/clock.ts';
import { registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

const LIMIT = 300;

describe('authorization requests of one address', () => {
  it('are limited, and served again later', async () => {
    const clock = createTestClock();
    await using app = await startTestApp({ dialect: 'sqlite', clock });
    const client = await registerClient(app);
    const person = createPerson(app);
    for (let sent = 0; sent < LIMIT; sent += 1) {
      assert.equal((await person.request(client.authorize().url)).status, 303);
    }
    const refused = await person.request(client.authorize().url);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.match(await refused.text(), /Too many requests/);
    const left = await app.store.db.selectFrom('artifacts').select('digest').execute();
    assert.equal(left.length, LIMIT);
    clock.advance(10 * 60_000 + 1_000);
    assert.equal((await person.request(client.authorize().url)).status, 303);
  });

  it('are refused when they are too long, and leave nothing', async () => {
    await using app = await startTestApp({ dialect: 'sqlite' });
    const client = await registerClient(app);
    const tooLong = 'x'.repeat(17_000);
    for (const name of ['state', 'scope', 'client_id', 'redirect_uri', 'login_hint', 'unknown']) {
      const answer = await createPerson(app).request(client.authorize({ [name]: tooLong }).url);
      assert.equal(answer.status, 400, name);
      assert.equal(answer.headers.get('location'), null, name);
    }
    assert.deepEqual(await app.store.db.selectFrom('artifacts').select('digest').execute(), []);
  });
});
