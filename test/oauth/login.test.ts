import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MINUTE } from '#src/clock.ts';
import { disableUser } from '#src/storage/users.ts';
import { DIALECTS, forwardedFrom, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { obtainCode, registerClient, type OAuthClient } from '../support/oauth-client.ts';
import { createPerson, formWith, type Page, type Person } from '../support/person.ts';
import { TEST_PASSWORD } from '../support/project.ts';

/** One failure less than the default allows, so that the tables below do not throttle themselves. */
const GENEROUS = { failuresPerAddress: 1_000, failuresPerUser: 1_000 };

/** What a page says, without what differs from one to the next. */
function wordsOf(page: Page): string {
  return page.html
    .replaceAll(page.url.pathname.split('/').at(-2) ?? '', 'UID')
    .replaceAll(/name="_csrf" value="[^"]*"/g, '')
    .replaceAll(/name="username"[^>]*value="[^"]*"/g, '');
}

const DIFFERENT = new Set(['date', 'content-length', 'x-request-id']);

/** An answer's headers, without what differs from one to the next; of cookies the names. */
function headersOf({ headers }: Page): string[] {
  return [...headers]
    .filter(([name]) => !DIFFERENT.has(name))
    .map(([name, value]) =>
      name === 'set-cookie' ? value.replace(/=.*/, '') : `${name}: ${value}`,
    );
}

for (const dialect of DIALECTS) {
  describe(`login on ${dialect}`, () => {
    let app: TestApp;
    let client: OAuthClient;
    before(async () => {
      app = await startTestApp({ dialect, config: { login: GENEROUS } });
      client = await registerClient(app);
      const disabled = await app.addUser('dora', { roles: ['readers'] });
      await app.store.transaction((work) => disableUser(work, 'test', disabled));
      await app.addUser('Žofie', { roles: ['readers'] });
    });
    after(() => app[Symbol.asyncDispose]());

    it('says the same to everybody who may not come in', async () => {
      const wrong: [name: string, password: string][] = [
        ['walter', 'not the password'],
        ['walter', `${TEST_PASSWORD} `],
        ['walter', ''],
        ['nobody', TEST_PASSWORD],
        ['dora', TEST_PASSWORD],
        ['', TEST_PASSWORD],
        ['walter\0', TEST_PASSWORD],
        ['x'.repeat(5_000), TEST_PASSWORD],
        ['walter', 'x'.repeat(5_000)],
        ["' OR 1=1 --", "' OR 1=1 --"],
      ];
      const words = new Set<string>();
      const headers = new Set<string>();
      for (const [name, password] of wrong) {
        const person = createPerson(app);
        const page = await person.logIn(await person.follow(client.authorize().url), {
          name,
          password,
        });
        assert.equal(page.status, 401, name);
        words.add(wordsOf(page));
        headers.add(headersOf(page).join('\n'));
      }
      assert.equal(words.size, 1);
      assert.equal(headers.size, 1, [...headers].join('\n\n'));
    });

    it('knows a name in another case and form', async () => {
      for (const name of ['WALTER', 'žofie'.normalize('NFD'), 'ＷＡＬＴＥＲ']) {
        const person = createPerson(app);
        const page = await person.logIn(await person.follow(client.authorize().url), { name });
        assert.equal(page.status, 200, `${name}: ${page.status}`);
        assert.ok(page.html.includes('name="decision"'));
      }
    });

    it('can be tried again on the page of a failure', async () => {
      const person = createPerson(app);
      const failed = await person.logIn(await person.follow(client.authorize().url), {
        name: 'rita',
        password: 'wrong',
      });
      assert.match(failed.html, /value="rita"/);
      assert.ok(!failed.html.includes('wrong"'));
      const consent = await person.logIn(failed, { name: 'rita' });
      assert.ok(consent.html.includes('name="decision"'), consent.html);
    });

    it('gives the browser a new session', async () => {
      const person = createPerson(app);
      // A session that somebody may know before the login: left behind by a prompt for a stranger.
      await person.follow(client.authorize({ prompt: 'none' }).url);
      const before = person.cookies.value('castellan_session');
      const page = await person.logIn(await person.follow(client.authorize().url), {
        name: 'rita',
      });
      const after = person.cookies.value('castellan_session');
      assert.ok(after !== undefined && after !== before);
      await person.allow(page);
      const settled = person.cookies.value('castellan_session');
      const again = await person.logIn(
        await person.follow(client.authorize({ prompt: 'login' }).url),
        { name: 'rita' },
      );
      assert.notEqual(person.cookies.value('castellan_session'), settled);
      assert.ok(again.html.includes('name="decision"'));
    });

    it('does not accept a session that it did not make', async () => {
      const person = createPerson(app);
      const page = await person.follow(client.authorize().url, {
        cookie: 'castellan_session=mine; castellan_session.sig=x',
      });
      assert.ok(page.html.includes('name="password"'));
    });

    it('keeps the session away from scripts and other sites', async () => {
      const person = createPerson(app);
      await obtainCode(person, client);
      const session = person.cookies
        .all()
        .filter((cookie) => cookie.name.startsWith('castellan_session'));
      assert.equal(session.length, 2);
      for (const cookie of session) {
        assert.deepEqual(
          [cookie.isHttpOnly, cookie.sameSite, cookie.path],
          [true, 'lax', '/mcp/oauth'],
        );
      }
    });

    it('writes the login down', async () => {
      await obtainCode(createPerson(app), client, { name: 'rita' });
      const [row] = (await app.audit('login.succeeded')).slice(-1);
      assert.deepEqual([row?.actor, row?.detail['clientId']], ['user:rita', client.id]);
      assert.ok(((await app.findUser('rita')).lastLoginAt ?? 0) > 0);
    });
  });

  describe(`guessing passwords on ${dialect}`, () => {
    let clock: TestClock;
    let app: TestApp;
    let other: TestApp;
    let client: OAuthClient;
    before(async () => {
      clock = createTestClock();
      const config = {
        trustedProxies: ['127.0.0.1'],
        login: { failuresPerAddress: 4, failuresPerUser: 6 },
      };
      app = await startTestApp({ dialect, clock, config });
      // A second process of the same installation.
      const { state, keysFolder, origin } = app;
      other = await startTestApp({
        dialect,
        clock,
        state,
        keysFolder,
        config: { ...config, publicUrl: origin },
      });
      client = await registerClient(app);
    });
    after(async () => {
      await other[Symbol.asyncDispose]();
      await app[Symbol.asyncDispose]();
    });

    /** One attempt from an address, through one of the two processes. */
    async function attempt(
      from: string,
      who: { name: string; password?: string },
      at = app,
    ): Promise<Page> {
      const person: Person = createPerson(at);
      const headers = forwardedFrom(from);
      const page = await person.follow(client.authorize().url, headers);
      const fields: [string, string][] = [
        ['username', who.name],
        ['password', who.password ?? TEST_PASSWORD],
      ];
      return person.submit(page, formWith(page, 'username'), { fields, headers });
    }

    it('ends for an address after too many failures, counted by all processes', async () => {
      for (const [count, at] of [app, other, app, other].entries()) {
        assert.equal((await attempt('198.18.2.1', { name: `guess${count}` }, at)).status, 401);
      }
      for (const at of [app, other]) {
        const page = await attempt('198.18.2.1', { name: 'rita' }, at);
        assert.equal(page.status, 429);
        const seconds = Number(page.headers.get('retry-after'));
        assert.ok(seconds > 890 && seconds <= 900, `${seconds}`);
        assert.equal(page.leftFor, undefined);
      }
      assert.equal(
        (await attempt('198.18.2.2', { name: 'rita' })).status,
        200,
        'others still come in',
      );
      clock.advance(14 * MINUTE);
      assert.equal((await attempt('198.18.2.1', { name: 'rita' })).status, 429);
      clock.advance(MINUTE + 1_000);
      assert.equal((await attempt('198.18.2.1', { name: 'rita' })).status, 200);
    });

    it('is refused for the whole window after the last failure, not the first', async () => {
      for (let count = 0; count < 4; count += 1) {
        assert.equal((await attempt('198.18.3.1', { name: 'nobody-home' })).status, 401);
        clock.advance(4 * MINUTE);
      }
      assert.equal((await attempt('198.18.3.1', { name: 'rita' })).status, 429);
      clock.advance(12 * MINUTE);
      assert.equal((await attempt('198.18.3.1', { name: 'rita' })).status, 200);
    });

    it('counts IPv6 addresses by /64', async () => {
      for (const host of ['::1', '::2', '::3', '::4']) {
        assert.equal(
          (await attempt(`2001:db9:5:6${host}`, { name: `six${host.at(-1)}` })).status,
          401,
        );
      }
      assert.equal((await attempt('2001:db9:5:6:aaaa::1', { name: 'rita' })).status, 429);
      assert.equal((await attempt('2001:db9:5:7::1', { name: 'rita' })).status, 200);
    });

    it('does not count what succeeds', async () => {
      for (let count = 0; count < 8; count += 1) {
        assert.equal((await attempt('198.18.4.1', { name: 'walter' })).status, 200);
      }
    });

    it('ends for a name too, with the words of a wrong password', async () => {
      const guess = (n: number, password: string): Promise<Page> =>
        attempt(
          `198.18.5.${n}`,
          { name: n % 2 === 0 ? 'olga' : 'OLGA', password },
          n % 2 === 0 ? app : other,
        );
      let wrong: Page | undefined;
      for (let count = 0; count < 6; count += 1) wrong = await guess(count, 'wrong');
      assert.equal(wrong?.status, 401);
      const refused = await guess(6, TEST_PASSWORD);
      assert.equal(refused.status, 401);
      assert.equal(wordsOf(refused), wordsOf(wrong));
      clock.advance(15 * MINUTE + 1_000);
      assert.equal((await guess(8, TEST_PASSWORD)).status, 200);
    });

    it('lets many at the same moment not past the limit', async () => {
      const pages = await Promise.all(
        Array.from({ length: 10 }, () =>
          attempt('198.18.6.1', { name: 'mole', password: 'wrong' }),
        ),
      );
      const looked = pages.filter((page) => page.status === 401);
      assert.equal(looked.length, 4);
      assert.equal(pages.filter((page) => page.status === 429).length, 6);
    });
  });
}
