import assert from 'node:assert/strict';
import { mkdir, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { readForm } from '#src/http/body.ts';
import { pageHeaders } from '#src/http/security-headers.ts';
import { openBrowser, type OpenBrowser } from '../support/browser.ts';
import { hostileWords } from '../support/hostile-words.ts';
import { renderSample, samplePages, sampleRenderer } from '../support/sample-pages.ts';

/*
 * The pages as a browser shows them, with the headers that the server sends.
 *
 * `CASTELLAN_PICTURES=1 node --test test/browser/pages.test.ts` also takes the pictures of the README
 * anew, into docs/pictures. (test/run.ts clears such settings, so the test run never writes them.)
 */

const pictures = fileURLToPath(new URL('../../docs/pictures', import.meta.url));
const RING = 'rgb(42, 70, 176) solid 2px';
const MAX_PICTURE_BYTES = 150_000;
const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const renderer = sampleRenderer();
const pages = samplePages();
const long = 'unbrokenwords'.repeat(20);
const longPages = samplePages({
  words: { appName: long, userName: long.slice(0, 64), privilege: long, quoted: long },
});

/** A form as it came to the server. */
interface Submission {
  path: string;
  fields: [name: string, value: string][];
}

const submissions: Submission[] = [];
const server = createServer((request, response) => void answer(request, response));
let origin: string;
let open: OpenBrowser;

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  origin = `http://127.0.0.1:${address.port}`;
  open = await openBrowser();
});

after(async () => {
  await open[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

/** `/page/NAME` and `/long/NAME` are the samples; every form is answered like the server's own. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const [, kind, name = ''] = pathname.split('/').map(decodeURIComponent);
  const page = { page: pages, long: longPages }[kind ?? '']?.get(name);
  if (pathname === renderer.stylesheet.path) {
    response.writeHead(200, { 'content-type': 'text/css' }).end(renderer.stylesheet.body);
  } else if (request.method === 'POST') {
    submissions.push({ path: pathname, fields: [...(await readForm(request))] });
    // As at the end of a login: through here to the app, which is another origin.
    const app = origin.replace('127.0.0.1', 'localhost');
    response.writeHead(303, { ...pageHeaders('redirect'), location: `${app}/app/callback` }).end();
  } else if (page !== undefined) {
    const headers = { ...pageHeaders(page.forms), 'content-type': 'text/html; charset=utf-8' };
    response.writeHead(200, headers).end(renderSample(renderer, page));
  } else {
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(appPage(kind === 'app' ? name : ''));
  }
}

/** A page of the app, with a page of ours in a frame and behind a link to a window of its own. */
function appPage(name: string): string {
  const address = addressOf(name);
  return `<!doctype html><title>App</title><iframe src="${address}"></iframe>
    <a href="${address}" target="_blank" rel="opener">Connect</a>`;
}

function addressOf(name: string, kind = 'page'): string {
  return `${origin}/${kind}/${encodeURIComponent(name)}`;
}

async function submit(page: Page, press: () => Promise<void>): Promise<Submission> {
  submissions.length = 0;
  await press();
  await page.waitForURL('**/app/callback');
  assert.equal(submissions.length, 1);
  return submissions[0] as Submission;
}

describe('every page', () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has no axe violation in ${colorScheme}`, async () => {
      // The pages' own policy keeps axe out as it keeps out everything else.
      const context = await open.browser.newContext({ bypassCSP: true, colorScheme });
      const page = await context.newPage();
      for (const name of pages.keys()) {
        await page.goto(addressOf(name));
        await openDetails(page);
        await page.addScriptTag({ path: axePath });
        assert.deepEqual(await findViolations(page), [], name);
      }
      await context.close();
    });
  }

  it('fits a screen of 320 pixels, however long the words are', async () => {
    const page = await open.newPage({ width: 320 });
    for (const [kind, samples] of Object.entries({ page: pages, long: longPages })) {
      for (const name of samples.keys()) {
        await page.goto(addressOf(name, kind));
        await openDetails(page);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, name);
      }
    }
  });

  it('keeps within its own policy', async () => {
    const page = await open.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    for (const name of pages.keys()) {
      await page.goto(addressOf(name));
      const font = await page.evaluate('getComputedStyle(document.body).fontFamily');
      assert.match(String(font), /system-ui/, 'the stylesheet is there');
    }
    assert.deepEqual(complaints, []);
  });

  it('has a ring around what has the keyboard', async () => {
    const page = await open.newPage();
    await page.goto(addressOf('consent, verified'));
    const reached: string[] = [];
    for (let turn = 0; turn < 12; turn++) {
      await page.keyboard.press('Tab');
      const focused = page.locator(':focus');
      if ((await focused.count()) === 0) break;
      const outline: string = await focused.evaluate(
        (one) => one.ownerDocument.defaultView.getComputedStyle(one).outline,
      );
      assert.equal(outline, RING);
      reached.push((await focused.textContent()) ?? '');
    }
    assert.deepEqual([reached[0], ...reached.slice(-2)], ['Not you?', 'Cancel', 'Allow']);
  });
});

describe('without JavaScript', () => {
  it('somebody signs in', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(addressOf('login'));
    await page.getByLabel('User name').fill('demo.user');
    await page.getByLabel('Password').fill('correct horse');
    assert.deepEqual(await submit(page, () => page.keyboard.press('Enter')), {
      path: '/mcp/oauth/interaction/u1/login',
      fields: [
        ['_csrf', 'token-of-the-login-form'],
        ['username', 'demo.user'],
        ['password', 'correct horse'],
      ],
    });
  });

  it('somebody who mistyped finds the name again and the keyboard in the password', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(addressOf('login, wrong password'));
    await page.getByRole('alert').getByText('That did not work.').waitFor();
    await page.keyboard.type('correct horse');
    const { fields } = await submit(page, () =>
      page.getByRole('button', { name: 'Sign in' }).click(),
    );
    assert.deepEqual(fields.slice(1), [
      ['username', 'demo.user'],
      ['password', 'correct horse'],
    ]);
  });

  it('somebody who has to wait reads until when', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(addressOf('login, busy'));
    const alert = await page.getByRole('alert').textContent();
    assert.match(alert ?? '', /try again at 14:36 UTC, in 4 minutes\./);
    const again = page.getByRole('link', { name: 'Try again' });
    assert.equal(await again.getAttribute('href'), '/mcp/oauth/interaction/u1');
  });

  it('somebody goes back to the app', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(addressOf('login'));
    const cancel = page.getByRole('button', { name: 'Cancel and return to Claude' });
    assert.deepEqual(await submit(page, () => cancel.click()), {
      path: '/mcp/oauth/interaction/u1/cancel',
      fields: [['_csrf', 'token-of-the-login-form']],
    });
  });

  it('somebody allows less than was asked for', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(addressOf('consent, verified'));
    await page.getByRole('checkbox', { name: 'Change orders' }).uncheck();
    await page.getByText('3 tools').click();
    await page.getByText('One customer with addresses.').waitFor();
    const allow = page.getByRole('button', { name: 'Allow' });
    assert.deepEqual(await submit(page, () => allow.click()), {
      path: '/mcp/oauth/interaction/u1/consent',
      fields: [
        ['_csrf', 'token-of-the-consent-form'],
        ['grant', 'read'],
        ['grant', 'knowledge'],
        ['decision', 'allow'],
      ],
    });
  });

  it('the Enter key in a box allows nothing', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(addressOf('consent, verified'));
    await page.getByRole('checkbox', { name: 'Change orders' }).focus();
    const { fields } = await submit(page, () => page.keyboard.press('Enter'));
    assert.deepEqual(fields.at(-1), ['decision', 'cancel']);
  });

  it('somebody else takes over', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(addressOf('consent, verified'));
    const notYou = page.getByRole('button', { name: 'Not you?' });
    assert.deepEqual(await submit(page, () => notYou.click()), {
      path: '/mcp/oauth/interaction/u1/switch',
      fields: [['_csrf', 'token-of-the-consent-form']],
    });
  });
});

describe('a browser', () => {
  it('runs nothing that an app calls itself', async () => {
    const page = await open.newPage();
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    for (const words of Object.values(hostileWords)) {
      const hostile = samplePages({
        words: { appName: words, userName: words, privilege: words, quoted: words },
      });
      for (const name of ['login, wrong password', 'consent, scheme', 'error, redirect']) {
        // Set as it is, without the policy that would stop it as well.
        await page.setContent(
          renderSample(renderer, hostile.get(name) ?? (pages.get('home') as never)),
        );
        assert.equal(await page.locator('h1').count(), 1);
      }
    }
    assert.deepEqual(dialogs, []);
    assert.deepEqual(
      requests.filter((url) => !url.includes('/assets/castellan.css')),
      [],
    );
  });

  it('shows no page inside a frame of another', async () => {
    const page = await open.newPage();
    for (const name of ['login', 'consent, verified', 'error, failed', 'home']) {
      await page.goto(addressOf(name, 'app'));
      assert.equal(page.frames().length, 2);
      assert.equal(await page.frames()[1]?.locator('main').count(), 0, name);
    }
  });

  it('leaves a web app in touch with the pop-up that it opened', async () => {
    const page = await open.newPage();
    await page.goto(addressOf('login', 'app').replace('127.0.0.1', 'localhost'));
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'Connect' }).click(),
    ]);
    await popup.getByRole('button', { name: 'Cancel and return to Claude' }).click();
    await popup.waitForURL('**/app/callback');
    assert.equal(await popup.evaluate('window.opener !== null'), true);
  });
});

describe('pictures', { skip: process.env['CASTELLAN_PICTURES'] === undefined }, () => {
  const wanted: [file: string, name: string, width: number, colorScheme: 'light' | 'dark'][] = [
    ['login.png', 'login', 1280, 'light'],
    ['consent.png', 'consent, verified', 1280, 'light'],
    ['consent-dark-390.png', 'consent, scheme', 390, 'dark'],
    ['home.png', 'home', 1280, 'light'],
    ['error.png', 'error, redirect', 1280, 'light'],
  ];
  for (const [file, name, width, colorScheme] of wanted) {
    it(file, async () => {
      await mkdir(pictures, { recursive: true });
      const page = await open.newPage({ width, colorScheme });
      await page.goto(addressOf(name));
      const path = join(pictures, file);
      await page.screenshot({ path, fullPage: true });
      assert.ok((await stat(path)).size < MAX_PICTURE_BYTES);
    });
  }
});

/** What is folded away has to be as good as the rest. */
async function openDetails(page: Page): Promise<void> {
  // Those of one name would close each other.
  await page.locator('details').evaluateAll((all) => {
    for (const one of all) one.removeAttribute('name');
    for (const one of all) one.setAttribute('open', '');
  });
}

async function findViolations(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
