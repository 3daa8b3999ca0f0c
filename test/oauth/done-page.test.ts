import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pageHeaders } from '#src/http/security-headers.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import {
  callTool,
  CLI_METADATA,
  codeOf,
  leftFor,
  registerClient,
  type Changes,
  type OAuthClient,
} from '../support/oauth-client.ts';
import { createPerson, type Page, type Person } from '../support/person.ts';
import { readMarkup } from '../support/markup.ts';

const STATE = `a/b==&'"<|>+ %2F${'x'.repeat(3_000)}`;

/** The end of a login whose answer goes to an app on this device: a page that opens the app. */
for (const dialect of DIALECTS) {
  describe(`the last page on ${dialect}`, () => {
    let app: TestApp;
    let cursor: OAuthClient;
    before(async () => {
      app = await startTestApp({ dialect });
      cursor = await registerClient(app, {
        ...CLI_METADATA,
        client_name: 'Cursor <b>',
        redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback?from=a%2Fb&to=c'],
      });
    });
    after(() => app[Symbol.asyncDispose]());

    async function atConsent(changes: Changes = {}): Promise<{ person: Person; page: Page }> {
      const person = createPerson(app);
      const login = await person.follow(cursor.authorize({ state: STATE, ...changes }).url);
      return { person, page: await person.logIn(login, { name: 'walter' }) };
    }

    /** What a redirect would have led to: the registered address, then the answer. */
    function assertAnswer(page: Page, answer: Record<string, string | undefined>): void {
      const { href, searchParams } = leftFor(page);
      assert.ok(href.startsWith(`${cursor.redirectUri}&`), href);
      assert.deepEqual(Object.fromEntries(searchParams), {
        from: 'a/b',
        to: 'c',
        ...answer,
        state: STATE,
        iss: `${app.origin}/mcp`,
      });
    }

    /** The address is there twice, the same, and nowhere else: not in a header, not in the text. */
    function assertKeptHere(page: Page): void {
      const { tags, text } = readMarkup(page.html);
      const { href } = leftFor(page);
      const link = tags.find(({ attributes }) => attributes.get('class') === 'button');
      assert.equal(link?.attributes.get('href'), href);
      assert.equal(page.html.split('anysphere.cursor-mcp').length, 3);
      assert.ok(!text.includes('anysphere'));
      assert.ok(!JSON.stringify([...page.headers]).includes('anysphere'));
      for (const [name, value] of Object.entries(pageHeaders('none')))
        assert.equal(page.headers.get(name), value);
      assert.ok(tags.some((tag) => tag.attributes.get('content') === 'no-referrer'));
    }

    it('says what was allowed and hands the code to the app', async () => {
      const { person, page } = await atConsent();
      const done = await person.allow(page, { privileges: ['writer'] });
      assert.equal(done.status, 200);
      const { text } = readMarkup(done.html);
      for (const words of ['Cursor <b> is connected to Test House', 'Write notes', 'walter'])
        assert.ok(text.includes(words), words);
      assert.match(text, /Then you can close this window\./);
      assert.ok(!text.includes('Run the house'));
      assertAnswer(done, { code: codeOf(leftFor(done)) });
      assertKeptHere(done);
    });

    it('hands over a code that is good for a tool call', async () => {
      const person = createPerson(app);
      const authorization = cursor.authorize();
      const login = await person.follow(authorization.url);
      const done = await person.allow(await person.logIn(login, { name: 'walter' }));
      const tokens = await cursor.redeem(authorization, leftFor(done));
      assert.equal(tokens.status, 200, tokens.text);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
    });

    it('says that nothing was allowed, on the login page and the consent page', async () => {
      const consent = await atConsent();
      const person = createPerson(app);
      const login = await person.follow(cursor.authorize({ state: STATE }).url);
      for (const cancelled of [
        await consent.person.cancel(consent.page),
        await person.cancel(login),
      ]) {
        assert.equal(cancelled.status, 200);
        const { text } = readMarkup(cancelled.html);
        assert.match(text, /Cursor <b> is not connected to Test House/);
        assert.match(text, /You cancelled.*You can close this window\./);
        assert.ok(!text.includes('walter'));
        const error = leftFor(cancelled).searchParams.get('error_description') ?? undefined;
        assertAnswer(cancelled, { error: 'access_denied', error_description: error });
        assertKeptHere(cancelled);
      }
    });

    it('is shown once', async () => {
      const { person, page } = await atConsent();
      const done = await person.allow(page);
      const again = await person.follow(done.url);
      assert.equal(again.status, 400);
      assert.equal(again.leftFor, undefined);
      assert.match(readMarkup(again.html).text, /This request has expired/);
    });

    it('leaves errors that no person answered to the redirect', async () => {
      const person = createPerson(app);
      for (const [changes, error] of [
        [{ prompt: 'none' }, 'login_required'],
        [{ code_challenge: null }, 'invalid_request'],
        [{ resource: 'https://other.example/mcp' }, 'invalid_target'],
      ] as const) {
        const page = await person.follow(cursor.authorize(changes).url);
        assert.equal(page.status, 303);
        assert.equal(leftFor(page).searchParams.get('error'), error);
      }
    });
  });
}
