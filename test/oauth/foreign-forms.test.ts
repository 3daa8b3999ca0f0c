import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MINUTE } from '#src/clock.ts';
import { listGrants } from '#src/storage/grants.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { leftFor, registerClient, type OAuthClient } from '../support/oauth-client.ts';
import {
  createPerson,
  formWith,
  type Page,
  type Person,
  type Submission,
} from '../support/person.ts';
import { TEST_PASSWORD } from '../support/project.ts';

const ALLOW: NonNullable<Submission['fields']> = [
  ['grant', 'writer'],
  ['decision', 'allow'],
];
const CREDENTIALS: NonNullable<Submission['fields']> = [
  ['username', 'walter'],
  ['password', TEST_PASSWORD],
];

/** Steps that somebody else prepared, and browsers that are led through them: nothing may come of it. */
for (const dialect of DIALECTS) {
  describe(`forms and links of others on ${dialect}`, () => {
    let clock: TestClock;
    let app: TestApp;
    let client: OAuthClient;
    before(async () => {
      clock = createTestClock();
      app = await startTestApp({ dialect, clock });
      client = await registerClient(app);
    });
    after(() => app[Symbol.asyncDispose]());

    async function atLogin(): Promise<{ person: Person; page: Page }> {
      const person = createPerson(app);
      return { person, page: await person.follow(client.authorize().url) };
    }

    async function atConsent(): Promise<{ person: Person; page: Page }> {
      const { person, page } = await atLogin();
      return { person, page: await person.logIn(page, { name: 'walter' }) };
    }

    /** An error page, and neither a grant nor a session came of it. */
    async function assertNothingCame(page: Page, grants: number): Promise<void> {
      assert.equal(page.leftFor, undefined);
      assert.ok(page.status === 400 || page.status === 403, `${page.status}`);
      assert.equal(page.forms.length, 0, page.html);
      assert.equal((await listGrants(app.store.db)).length, grants);
    }

    const count = async (): Promise<number> => (await listGrants(app.store.db)).length;

    const TAMPERED: [
      what: string,
      change: (form: { hidden: [string, string][] }) => void,
      headers?: Record<string, string>,
    ][] = [
      ['without its token', (form) => (form.hidden = [])],
      ['with an empty token', (form) => (form.hidden = [['_csrf', '']])],
      ['with a wrong token', (form) => (form.hidden = [['_csrf', 'A'.repeat(43)]])],
      ['sent from another site', () => {}, { 'sec-fetch-site': 'cross-site' }],
      ['sent from a sibling site', () => {}, { 'sec-fetch-site': 'same-site' }],
      [
        'sent from another origin',
        () => {},
        { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
      ],
    ];
    for (const [what, change, headers = {}] of TAMPERED) {
      it(`refuses a login ${what}`, async () => {
        const { person, page } = await atLogin();
        const form = formWith(page, 'username');
        change(form);
        const grants = await count();
        await assertNothingCame(
          await person.submit(page, form, { fields: CREDENTIALS, headers }),
          grants,
        );
        assert.ok((await person.follow(client.authorize().url)).html.includes('name="password"'));
      });

      it(`refuses a consent ${what}`, async () => {
        const { person, page } = await atConsent();
        const form = formWith(page, 'decision');
        change(form);
        const grants = await count();
        await assertNothingCame(
          await person.submit(page, form, { fields: ALLOW, headers }),
          grants,
        );
      });
    }

    it("does not take the token of the login for the consent, nor one of another interaction's", async () => {
      const { person, page: login } = await atLogin();
      const consent = await person.logIn(login, { name: 'walter' });
      const other = await atConsent();
      for (const hidden of [
        formWith(login, 'username').hidden,
        formWith(other.page, 'decision').hidden,
      ]) {
        const form = { ...formWith(consent, 'decision'), hidden };
        await assertNothingCame(
          await person.submit(consent, form, { fields: ALLOW }),
          await count(),
        );
      }
    });

    it('shows another browser nothing of an interaction', async () => {
      const victim = await atConsent();
      const stranger = createPerson(app);
      for (const suffix of ['', '?x=1']) {
        const page = await stranger.follow(victim.page.url.href + suffix);
        await assertNothingCame(page, await count());
        assert.match(page.html, /This page belongs to another browser/);
        assert.ok(!page.html.includes('walter'));
      }
      await assertNothingCame(await stranger.allow(victim.page), await count());
    });

    it("does not let a stranger's link be answered by whoever is signed in", async () => {
      const victim = await atConsent();
      leftFor(await victim.person.allow(victim.page));
      const attacker = await atConsent();
      await assertNothingCame(await victim.person.follow(attacker.page.url), await count());
      await assertNothingCame(await victim.person.allow(attacker.page), await count());
    });

    it('resumes nothing for a browser that did not start it', async () => {
      const { person, page } = await atConsent();
      const uid = page.url.pathname.split('/').at(-1) ?? '';
      const stranger = createPerson(app);
      const evil = new URLSearchParams({
        client_id: client.id,
        redirect_uri: 'https://evil.example/',
      });
      for (const path of [
        `/mcp/oauth/authorize/${uid}`,
        `/mcp/oauth/authorize/${uid}?${evil.toString()}`,
      ]) {
        await assertNothingCame(await stranger.follow(path), await count());
      }
      leftFor(await person.allow(page));
    });

    it('does not reread what was asked for on the way back', async () => {
      const { person, page } = await atConsent();
      const form = formWith(page, 'decision');
      const answer = await person.request(form.action, {
        method: 'POST',
        body: new URLSearchParams([...form.hidden, ...ALLOW]),
        headers: { origin: 'null', 'sec-fetch-site': 'same-origin' },
      });
      const resume = new URL(answer.headers.get('location') ?? '', page.url);
      for (const [name, value] of [
        ['redirect_uri', 'https://evil.example/'],
        ['client_id', 'cli_0'],
        ['code_challenge', 'x'.repeat(43)],
        ['state', 'evil'],
      ]) {
        resume.searchParams.set(String(name), String(value));
      }
      const back = leftFor(await person.follow(resume));
      assert.equal(back.origin + back.pathname, client.redirectUri);
      assert.notEqual(back.searchParams.get('state'), 'evil');
    });

    it('gives no code before both the login and the consent are done', async () => {
      for (const at of [atLogin, atConsent]) {
        const { person, page } = await at();
        const grants = await count();
        const uid = page.url.pathname.split('/').at(-1) ?? '';
        const resumed = await person.follow(`/mcp/oauth/authorize/${uid}`);
        assert.equal(resumed.leftFor?.searchParams.get('code') ?? null, null);
        const silent = await person.follow(client.authorize({ prompt: 'none' }).url);
        const back = leftFor(silent).searchParams;
        assert.equal(back.get('code'), null);
        assert.match(back.get('error') ?? '', /^(login|consent)_required$/);
        assert.equal(await count(), grants);
      }
    });

    it('answers a way back once', async () => {
      const { person, page } = await atConsent();
      const done = await person.allow(page);
      assert.ok(leftFor(done).searchParams.has('code'));
      await assertNothingCame(await person.follow(done.url), await count());
    });

    it('lets nobody answer a consent from the login page, nor the other way round', async () => {
      const { person, page } = await atLogin();
      const form = formWith(page, 'username');
      const consent = { ...form, action: form.action.replace(/login$/, 'consent') };
      await assertNothingCame(await person.submit(page, consent, { fields: ALLOW }), await count());
      const later = await atConsent();
      const decision = formWith(later.page, 'decision');
      const login = { ...decision, action: decision.action.replace(/consent$/, 'login') };
      await assertNothingCame(
        await later.person.submit(later.page, login, { fields: CREDENTIALS }),
        await count(),
      );
    });

    it('ends an interaction after ten minutes', async () => {
      const { person, page } = await atConsent();
      clock.advance(11 * MINUTE);
      const late = await person.allow(page);
      await assertNothingCame(late, await count());
      const stranger = await createPerson(app).follow(page.url);
      for (const { html } of [late, stranger]) assert.match(html, /This request has expired/);
    });

    it('refuses a form that is no form', async () => {
      const { person, page } = await atLogin();
      const { action } = formWith(page, 'username');
      for (const [type, body] of [
        ['application/json', '{}'],
        ['multipart/form-data; boundary=x', '--x--'],
        ['text/plain', '_csrf=x'],
      ]) {
        const answer = await person.request(action, {
          method: 'POST',
          headers: { 'content-type': String(type) },
          body: String(body),
        });
        assert.equal(answer.status, 400);
      }
      const large = await person.request(action, {
        method: 'POST',
        body: new URLSearchParams({ x: 'y'.repeat(70_000) }),
      });
      assert.equal(large.status, 413);
    });
  });
}

describe('headers of the pages', () => {
  it('allow no script, no frame and nothing from elsewhere', async () => {
    await using app = await startTestApp({ dialect: 'sqlite' });
    const client = await registerClient(app);
    const person = createPerson(app);
    const login = await person.follow(client.authorize().url);
    const consent = await person.logIn(login, { name: 'walter' });
    const failed = await createPerson(app).follow(consent.url);
    for (const page of [login, consent, failed]) {
      const policy = page.headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.match(policy, /base-uri 'none'/);
      assert.ok(!policy.includes('script-src') && !policy.includes('unsafe'));
      assert.equal(page.headers.get('x-frame-options'), 'DENY');
      assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
      assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
      assert.equal(page.headers.get('cache-control'), 'no-store');
      assert.match(page.headers.get('content-type') ?? '', /^text\/html; charset=utf-8/);
      assert.ok(!/<script|\son[a-z]+=|style=|src="(?!\/assets)/i.test(page.html));
    }
    // Chromium applies form-action to the whole chain of redirects, which ends at the client.
    assert.ok(!(consent.headers.get('content-security-policy') ?? '').includes('form-action'));
  });

  it('say nothing about an app that could be markup', async () => {
    await using app = await startTestApp({ dialect: 'sqlite' });
    const name = `<img src=x onerror=alert(1)>"'\u202e\u200bApp`;
    const client = await registerClient(app, {
      client_name: name,
      redirect_uris: ['http://localhost:1/cb'],
    });
    const person = createPerson(app);
    const login = await person.follow(client.authorize().url);
    const consent = await person.logIn(login, { name: 'walter' });
    for (const page of [login, consent]) {
      assert.ok(!page.html.includes('<img'));
      assert.ok(!/[\u202e\u200b]/.test(page.html));
    }
  });

  it('show nothing from an address that an app names', async () => {
    await using app = await startTestApp({ dialect: 'sqlite' });
    const links = Object.fromEntries(
      ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri'].map((field) => [
        field,
        `https://tracker.example/${field}.png`,
      ]),
    );
    const client = await registerClient(app, {
      client_name: 'Pictures',
      redirect_uris: ['http://localhost:1/cb'],
      ...links,
    });
    const person = createPerson(app);
    const login = await person.follow(client.authorize().url);
    const consent = await person.logIn(login, { name: 'walter' });
    for (const page of [login, consent]) {
      assert.ok(page.html.includes('Pictures'));
      assert.ok(!page.html.includes('tracker.example'));
      assert.match(page.headers.get('content-security-policy') ?? '', /img-src 'self'/);
    }
  });
});
