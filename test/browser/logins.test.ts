import assert from 'node:assert/strict';
import { createServer as createTlsServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { MINUTE } from '#src/clock.ts';
import { textsFor } from '#src/http/language.ts';
import type { Texts } from '#src/http/texts/en.ts';
import { listening } from '../http/listening.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { openBrowser, type OpenBrowser, type PageOptions } from '../support/browser.ts';
import { makeCertificate } from '../support/certificate.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  callTool,
  CLI_METADATA,
  registerClient,
  type Authorization,
  type OAuthClient,
} from '../support/oauth-client.ts';
import { assertAccessible, assertFits, AXE_CONTEXT } from '../support/page-checks.ts';
import { TEST_PASSWORD } from '../support/project.ts';

/*
 * Whole logins in a real browser with its scripts off, against the whole server, to apps at all the
 * addresses that an answer can go to; and the pages of logins that end early.
 */

const APP_HOST = 'app.example';
const FAILURES = 3;
const LOCALES = { en: 'en-GB', de: 'de-AT', fr: 'fr-CA' } as const;

let clock: TestClock;
let app: TestApp;
let open: OpenBrowser;
const clients: Record<'https' | 'loopback' | 'private-use', OAuthClient> = {} as never;
const cleanup = new AsyncDisposableStack();

before(async () => {
  clock = createTestClock();
  app = cleanup.use(
    await startTestApp({
      dialect: 'sqlite',
      clock,
      config: { login: { failuresPerAddress: FAILURES } },
    }),
  );
  const web = createTlsServer(tlsOptions(), appPage);
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  cleanup.defer(() => {
    web.closeAllConnections();
    web.close();
  });
  const local = cleanup.use(await listening(appPage));
  open = cleanup.use(await openBrowser({ [APP_HOST]: (web.address() as AddressInfo).port }));
  const addresses = {
    https: `https://${APP_HOST}/callback?from=a`,
    loopback: `http://localhost:${local.port}/callback`,
    'private-use': 'cursor://anysphere.cursor-mcp/oauth/callback',
  };
  for (const [kind, address] of Object.entries(addresses)) {
    clients[kind as keyof typeof clients] = await registerClient(app, {
      ...CLI_METADATA,
      client_name: 'Browser test',
      redirect_uris: [address],
    });
  }
});

after(() => cleanup.disposeAsync());

function tlsOptions(): { key: string; cert: string } {
  const { key, certificate } = makeCertificate([APP_HOST]);
  return { key, cert: certificate };
}

/** What an app shows: at `/frame` whatever address it is told, in a frame. */
function appPage(request: IncomingMessage, response: ServerResponse): void {
  const { searchParams } = new URL(request.url ?? '/', `https://${APP_HOST}`);
  const framed = searchParams.get('frame');
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(
      `<!doctype html><title>App</title>${framed === null ? '' : `<iframe src="${framed.replaceAll('&', '&amp;')}"></iframe>`}`,
    );
}

async function logIn(page: Page, password = TEST_PASSWORD): Promise<void> {
  await page.locator('#username').fill('olga');
  await page.locator('#password').fill(password);
  const loaded = page.waitForEvent('load');
  await page.locator('#password').press('Enter');
  await loaded;
}

/** A browser without scripts at the login page of a new authorization. */
async function atLogin(
  client: OAuthClient,
  options: PageOptions = {},
): Promise<{ page: Page; authorization: Authorization }> {
  const page = await open.newPage({ javaScript: false, ...options });
  // Consent is asked for also where an earlier answer would be remembered.
  const state = `s/1==&"'${'x'.repeat(1_000)}`;
  const authorization = client.authorize({ state, prompt: 'consent' });
  await page.goto(authorization.url);
  return { page, authorization };
}

/** Presses a button and returns what the browser asked the app for. */
async function answer(page: Page, client: OAuthClient, button: string): Promise<URL> {
  const asked = page.waitForRequest((request) => request.url().startsWith(client.redirectUri));
  await page.getByRole('button', { name: button, exact: true }).click();
  return new URL((await asked).url());
}

describe('without JavaScript, an answer goes', () => {
  for (const kind of ['https', 'loopback', 'private-use'] as const) {
    it(`to ${kind} with a code that is good for a tool call`, async () => {
      const client = clients[kind];
      const { page, authorization } = await atLogin(client);
      await logIn(page);
      const returned = await answer(page, client, 'Allow');
      assert.equal(returned.searchParams.get('state'), authorization.state);
      assert.equal(returned.searchParams.get('iss'), `${app.origin}/mcp`);
      const tokens = await client.redeem(authorization, returned);
      assert.equal((await callTool(app, tokens.accessToken)).status, 200);
      if (kind !== 'private-use') {
        await page.waitForURL(returned.href);
        assert.equal(await page.title(), 'App');
      }
    });

    for (const step of ['login', 'consent'] as const) {
      it(`to ${kind} as access_denied after cancelling the ${step}`, async () => {
        const client = clients[kind];
        const { page, authorization } = await atLogin(client);
        if (step === 'consent') await logIn(page);
        const button = step === 'login' ? 'Cancel and return to Browser test' : 'Cancel';
        const { searchParams } = await answer(page, client, button);
        assert.equal(searchParams.get('error'), 'access_denied');
        assert.equal(searchParams.get('state'), authorization.state);
        assert.equal(searchParams.get('iss'), `${app.origin}/mcp`);
        assert.equal(searchParams.has('code'), false);
      });
    }
  }

  it('to an app on this device from a page that stays, once by itself and again by a link', async () => {
    const client = clients['private-use'];
    const { page } = await atLogin(client);
    await logIn(page);
    const elsewhere: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('code=')) elsewhere.push(request.url());
    });
    const returned = await answer(page, client, 'Allow');
    await page.getByText('Then you can close this window.').waitFor();
    assert.ok(page.url().startsWith(`${app.origin}/mcp/oauth/authorize/`), page.url());
    const again = page.waitForRequest((request) => request.url().startsWith('cursor:'));
    await page.getByRole('link', { name: 'Return to Browser test' }).click();
    assert.equal((await again).url(), returned.href);
    assert.deepEqual(elsewhere, [returned.href, returned.href]);
  });
});

describe('another site', () => {
  it('cannot put a step of a login in a frame', async () => {
    const client = clients.https;
    const { page, authorization } = await atLogin(client);
    const login = page.url();
    const frame = async (address: string): Promise<number | undefined> => {
      await page.goto(`${clients.loopback.redirectUri}?frame=${encodeURIComponent(address)}`);
      assert.equal(page.frames().length, 2);
      return page.frames()[1]?.locator('main, form, h1').count();
    };
    for (const address of [authorization.url, login]) assert.equal(await frame(address), 0);
    await page.goto(login);
    await logIn(page);
    assert.equal(await page.getByRole('button', { name: 'Allow' }).count(), 1);
    const consent = page.url();
    assert.equal(await frame(consent), 0);
    await page.goto(consent);
    assert.equal(await page.getByRole('button', { name: 'Allow' }).count(), 1);
  });
});

/** A state that a person can see: how to get there from the login page, and what it says. */
interface State {
  status: number;
  says: (t: Texts) => string;
  arrive: (page: Page) => Promise<unknown>;
}

const NOWHERE = { site: '', mcpUrl: '', host: '' };
const wrong = 'not the password';

const STATES: Record<string, State> = {
  login: { status: 200, says: (t) => t.login.submit, arrive: async () => {} },
  'wrong password': {
    status: 401,
    says: (t) => t.login.credentials.lead,
    arrive: (page) => logIn(page, wrong),
  },
  throttled: {
    status: 429,
    says: (t) => t.login.busy.lead,
    async arrive(page) {
      for (let attempt = 0; attempt <= FAILURES; attempt += 1) await logIn(page, wrong);
    },
  },
  consent: { status: 200, says: (t) => t.consent.allow, arrive: (page) => logIn(page) },
  'nothing ticked': {
    status: 400,
    says: (t) => t.consent.nothingTicked.lead,
    async arrive(page) {
      await logIn(page);
      for (const box of await page.getByRole('checkbox').all()) await box.uncheck();
      await page.locator('[value=allow]').click();
    },
  },
  done: {
    status: 200,
    says: (t) => t.done.text,
    async arrive(page) {
      await logIn(page);
      await page.locator('[value=allow]').click();
    },
  },
  cancelled: {
    status: 200,
    says: (t) => t.done.textCancelled,
    arrive: (page) => page.locator('.after button').click(),
  },
  expired: {
    status: 400,
    says: (t) => t.problems.expired(NOWHERE).title,
    async arrive(page) {
      clock.advance(11 * MINUTE);
      await page.reload();
    },
  },
  "somebody else's link": {
    status: 403,
    says: (t) => t.problems['other-browser'](NOWHERE).title,
    async arrive(page) {
      const { page: other } = await atLogin(clients.https);
      await page.goto(other.url());
    },
  },
  'bad redirect URI': {
    status: 400,
    says: (t) => t.problems.redirect(NOWHERE).title,
    arrive: (page) =>
      page.goto(clients.https.authorize({ redirect_uri: 'https://evil.example/' }).url),
  },
  'unknown client': {
    status: 400,
    says: (t) => t.problems['unknown-client'](NOWHERE).title,
    arrive: (page) => page.goto(clients.https.authorize({ client_id: 'unknown' }).url),
  },
  home: {
    status: 200,
    says: (t) => t.home.lead,
    arrive: (page) => page.goto(app.origin),
  },
  'not found': {
    status: 404,
    says: (t) => t.notfound.title,
    arrive: (page) => page.goto(`${app.origin}/nowhere`),
  },
};

for (const language of ['en', 'de', 'fr'] as const) {
  describe(`in ${LOCALES[language]}`, () => {
    for (const [name, { status, says, arrive }] of Object.entries(STATES)) {
      it(`${name}: ${status}, for everybody to read, from 320 pixels`, async () => {
        const locale = LOCALES[language];
        const context = await open.browser.newContext({ ...AXE_CONTEXT, locale });
        const page = await context.newPage();
        const statuses: number[] = [];
        page.on('response', (response) => {
          if (response.request().isNavigationRequest()) statuses.push(response.status());
        });
        // Whatever was tried before is long ago.
        clock.advance(20 * MINUTE);
        await page.goto(clients['private-use'].authorize().url);
        await arrive(page);
        await page
          .getByText(says(textsFor(language)), { exact: false })
          .first()
          .waitFor();
        assert.equal(statuses.at(-1), status);
        assert.equal(await page.locator('html').getAttribute('lang'), language);
        await assertAccessible(page, name);
        await page.setViewportSize({ width: 320, height: 640 });
        await assertFits(page, 320, name);
        await context.close();
      });
    }
  });
}
