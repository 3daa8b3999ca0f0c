import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DAY, HOUR } from '#src/clock.ts';
import { listGrants } from '#src/storage/grants.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { disableUser } from '#src/storage/users.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock } from '../support/clock.ts';
import {
  callTool,
  CLI_METADATA,
  leftFor,
  obtainCode,
  obtainTokens,
  registerClient,
  WEB_METADATA,
  type OAuthClient,
} from '../support/oauth-client.ts';
import { createPerson, formWith, tickedOn, type Page, type Person } from '../support/person.ts';

/** A person on the consent page. */
async function atConsent(
  app: TestApp,
  client: OAuthClient,
  name = 'olga',
): Promise<{ person: Person; page: Page }> {
  const person = createPerson(app);
  const page = await person.logIn(await person.follow(client.authorize().url), { name });
  formWith(page, 'decision');
  return { person, page };
}

function isConsent(page: Page): boolean {
  return page.leftFor === undefined && page.html.includes('name="decision"');
}

for (const dialect of DIALECTS) {
  describe(`consent on ${dialect}`, () => {
    let app: TestApp;
    let cli: OAuthClient;
    let web: OAuthClient;
    before(async () => {
      app = await startTestApp({ dialect });
      cli = await registerClient(app);
      web = await registerClient(app, WEB_METADATA);
    });
    after(() => app[Symbol.asyncDispose]());

    const grantCount = async (): Promise<number> => (await listGrants(app.store.db)).length;

    it('grants what is ticked, and no more', async () => {
      const cases: [allowed: string[], scope: string, tools: Record<string, number>][] = [
        [
          ['writer', 'admin'],
          'mcp writer admin',
          { 'notes-list': 200, 'notes-add': 200, 'notes-wipe': 200 },
        ],
        [['writer'], 'mcp writer', { 'notes-list': 200, 'notes-add': 200, 'notes-wipe': 403 }],
        [['admin'], 'mcp admin', { 'notes-list': 403, 'notes-wipe': 200 }],
        [['admin', 'reader', 'owner', '*'], 'mcp admin', { 'notes-list': 403 }],
      ];
      for (const [privileges, scope, tools] of cases) {
        const tokens = await obtainTokens(createPerson(app), cli, { name: 'olga', privileges });
        assert.equal(tokens.body['scope'], scope);
        for (const [name, status] of Object.entries(tools)) {
          const called = await callTool(app, tokens.accessToken, {
            name,
            arguments: name === 'notes-add' ? { text: 'x' } : {},
          });
          assert.equal(called.status, status, `${scope}: ${name}`);
        }
        assert.equal((await cli.refresh(tokens.refreshToken)).body['scope'], scope);
      }
    });

    it('refuses to allow nothing, and can be answered after that', async () => {
      const { person, page } = await atConsent(app, cli);
      const count = await grantCount();
      const again = await person.allow(page, { privileges: [] });
      assert.equal(again.status, 400);
      assert.equal(await grantCount(), count);
      const back = leftFor(await person.allow(again, { privileges: ['writer'] }));
      assert.ok(back.searchParams.has('code'));
    });

    it('sends a refusal back with state and iss, and grants nothing', async () => {
      const count = await grantCount();
      for (const at of ['login', 'consent']) {
        const person = createPerson(app);
        const authorization = cli.authorize({ state: 'a/b==' });
        let page = await person.follow(authorization.url);
        if (at === 'consent') page = await person.logIn(page, { name: 'olga' });
        const back = leftFor(await person.cancel(page));
        assert.equal(back.searchParams.get('error'), 'access_denied');
        assert.equal(back.searchParams.get('state'), 'a/b==');
        assert.equal(back.searchParams.get('iss'), `${app.origin}/mcp`);
      }
      assert.equal(await grantCount(), count);
    });

    it('counts once', async () => {
      const { person, page } = await atConsent(app, cli);
      const count = await grantCount();
      leftFor(await person.allow(page));
      assert.equal(await grantCount(), count + 1);
      const again = await person.allow(page);
      assert.equal(again.leftFor, undefined);
      assert.equal(again.status, 400);
      assert.equal(await grantCount(), count + 1);
    });

    it('counts once when it is sent many times at once', async () => {
      const { person, page } = await atConsent(app, cli);
      const count = await grantCount();
      await Promise.all(Array.from({ length: 5 }, () => person.allow(page).catch(() => undefined)));
      assert.equal(await grantCount(), count + 1);
    });

    it('always asks when the answer goes to this device', async () => {
      const cursor = await registerClient(app, {
        ...CLI_METADATA,
        client_name: 'Private',
        redirect_uris: ['cursor://anysphere/callback'],
      });
      for (const client of [cli, cursor]) {
        const { person, page } = await atConsent(app, client);
        leftFor(await person.allow(page));
        assert.ok(isConsent(await person.follow(client.authorize().url)));
        const silent = leftFor(await person.follow(client.authorize({ prompt: 'none' }).url));
        assert.equal(silent.searchParams.get('error'), 'consent_required');
      }
    });

    it('remembers an answer for a website, and makes a grant of its own', async () => {
      const { person, page } = await atConsent(app, web);
      leftFor(await person.allow(page, { privileges: ['admin'] }));
      const count = await grantCount();
      const { authorization, returned } = await obtainCode(person, web);
      const tokens = await web.redeem(authorization, returned);
      assert.equal(tokens.body['scope'], 'mcp admin');
      assert.equal(await grantCount(), count + 1);
      const silent = leftFor(
        await person.follow(web.authorize({ prompt: 'none', state: 'z' }).url),
      );
      assert.ok(silent.searchParams.has('code'));
      assert.equal(silent.searchParams.get('state'), 'z');
    });

    it('asks again for anything else than what was answered', async () => {
      const person = createPerson(app);
      const site = await registerClient(app, {
        ...WEB_METADATA,
        client_name: 'Careful',
        redirect_uris: ['https://a.example/cb', 'https://b.example/cb'],
      });
      await obtainCode(person, site, { name: 'olga', changes: { scope: 'mcp reader' } });
      assert.ok((await person.follow(site.authorize({ scope: 'mcp reader' }).url)).leftFor);
      assert.ok(isConsent(await person.follow(site.authorize().url)), 'more privileges');
      const other = site.authorize({ scope: 'mcp reader', redirect_uri: 'https://b.example/cb' });
      assert.ok(isConsent(await person.follow(other.url)), 'another address');
      assert.ok(
        isConsent(
          await person.follow(site.authorize({ scope: 'mcp reader', prompt: 'consent' }).url),
        ),
        'prompt=consent',
      );
      const twin = await registerClient(app, {
        ...WEB_METADATA,
        client_name: 'Careful twin',
        redirect_uris: ['https://a.example/cb'],
      });
      const same = twin.authorize({ scope: 'mcp reader' });
      assert.ok(isConsent(await person.follow(same.url)), 'another app with the same address');
    });

    it('forgets an answer when its grant is revoked or ends', async () => {
      const site = await registerClient(app, { ...WEB_METADATA, client_name: 'Forgotten' });
      const person = createPerson(app);
      await obtainCode(person, site);
      await app.store.transaction((work) =>
        revokeGrants(work, {
          actor: 'test',
          reason: 'administrator',
          where: { clientId: site.id },
        }),
      );
      assert.ok(isConsent(await person.follow(site.authorize().url)));
    });

    it('asks for a login again with prompt=login', async () => {
      const person = createPerson(app);
      await obtainCode(person, web, { name: 'olga' });
      const page = await person.follow(web.authorize({ prompt: 'login' }).url);
      assert.ok(page.html.includes('name="password"'));
      leftFor(await person.logIn(page, { name: 'olga' }));
      const both = await person.follow(web.authorize({ prompt: 'login consent' }).url);
      assert.ok(isConsent(await person.logIn(both, { name: 'olga' })));
    });

    it('ends with the account', async () => {
      const user = await app.addUser('zoe');
      const { person, page } = await atConsent(app, cli, 'zoe');
      await app.store.transaction((work) => disableUser(work, 'test', user));
      const count = await grantCount();
      const answer = await person.allow(page);
      assert.deepEqual([answer.status, answer.leftFor], [400, undefined]);
      assert.equal(await grantCount(), count);
    });

    it('makes grants that end 90 days after the login', async () => {
      await obtainCode(createPerson(app), cli, { name: 'rita' });
      const [grant] = await listGrants(app.store.db, { userId: (await app.findUser('rita')).id });
      assert.ok(grant);
      assert.ok(Math.abs(grant.expiresAt - Date.now() - 90 * DAY) < 60_000);
      assert.equal(grant.redirectHost, '127.0.0.1:7000');
      assert.deepEqual([grant.privileges, grant.offered], [['reader'], ['reader']]);
    });

    it('lets another person take over, with the same request', async () => {
      const { person, page } = await atConsent(app, cli, 'olga');
      const login = await person.switchUser(page);
      assert.ok(login.html.includes('name="password"'), login.html);
      const consent = await person.logIn(login, { name: 'rita' });
      assert.deepEqual(tickedOn(consent), ['reader']);
      assert.ok(leftFor(await person.allow(consent)).searchParams.has('code'));
    });

    it('still asks after the person has changed when prompt=consent was asked for', async () => {
      const site = await registerClient(app, { ...WEB_METADATA, client_name: 'Insists' });
      const person = createPerson(app);
      await obtainCode(person, site, { name: 'rita' });
      const asked = await person.follow(
        site.authorize({ prompt: 'consent', scope: 'mcp reader', state: 'kept' }).url,
      );
      const consent = await person.logIn(await person.switchUser(asked), { name: 'rita' });
      assert.ok(isConsent(consent));
      assert.deepEqual(tickedOn(consent), ['reader']);
      assert.equal(leftFor(await person.allow(consent)).searchParams.get('state'), 'kept');
    });

    it('does not go on for somebody else who logs in meanwhile', async () => {
      const person = createPerson(app);
      await obtainCode(person, web, { name: 'olga' });
      const login = await person.follow(cli.authorize({ prompt: 'login' }).url);
      const page = await person.logIn(login, { name: 'rita' });
      // Olga's session ends first; then Rita logs in to one of her own.
      const consent = page.html.includes('name="password"')
        ? await person.logIn(page, { name: 'rita' })
        : page;
      assert.deepEqual(tickedOn(consent), ['reader']);
      leftFor(await person.allow(consent));
      const [newest] = await listGrants(app.store.db);
      assert.equal(newest?.userName, 'rita');
    });
  });

  describe(`how long a login counts on ${dialect}`, () => {
    it('is twelve hours, however busy the browser is, and no longer than a grant', async () => {
      for (const [config, hours] of [
        [{}, 12],
        [{ oauth: { grantTtlSeconds: 7_200 } }, 2],
      ] as const) {
        const clock = createTestClock();
        await using app = await startTestApp({ dialect, clock, config });
        const web = await registerClient(app, WEB_METADATA);
        const person = createPerson(app);
        await obtainCode(person, web);
        const grants = async (): Promise<number[]> =>
          (await listGrants(app.store.db)).map((grant) => grant.expiresAt);
        const [end] = await grants();
        for (let half = 1; half < 2 * hours; half += 1) {
          clock.advance(HOUR / 2);
          assert.ok((await person.follow(web.authorize().url)).leftFor, `${half} half hours`);
        }
        for (const one of await grants()) assert.ok(Math.abs(one - (end ?? 0)) < 1_000);
        clock.advance(HOUR / 2);
        const silent = leftFor(await person.follow(web.authorize({ prompt: 'none' }).url));
        assert.equal(silent.searchParams.get('error'), 'login_required');
        const login = await person.follow(web.authorize().url);
        assert.ok(login.html.includes('name="password"'), `after ${hours} hours`);
        await person.logIn(login, { name: 'walter' });
      }
    });
  });
}
