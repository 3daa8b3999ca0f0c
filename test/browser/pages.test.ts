import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser, type OpenBrowser } from '../support/browser.ts';
import { hostileWords } from '../support/hostile-words.ts';
import { assertAccessible, assertFits, AXE_CONTEXT } from '../support/page-checks.ts';
import { renderSample, samplePages, sampleRenderer } from '../support/sample-pages.ts';
import { serveSamples, type SampleServer, type Submission } from '../support/sample-server.ts';

/** The pages as a browser shows them, with the headers that the server sends. */

const RING = 'rgb(42, 70, 176) solid 2px';
const renderer = sampleRenderer();
const pages = samplePages();
const long = 'unbrokenwords'.repeat(20);
const collections = {
  page: pages,
  long: samplePages({
    words: { appName: long, userName: long.slice(0, 64), privilege: long, quoted: long },
  }),
  de: samplePages({ language: 'de' }),
  fr: samplePages({ language: 'fr' }),
};

let samples: SampleServer;
let open: OpenBrowser;

before(async () => {
  samples = await serveSamples(collections);
  open = await openBrowser();
});

after(async () => {
  await open[Symbol.asyncDispose]();
  await samples[Symbol.asyncDispose]();
});

async function submit(page: Page, press: () => Promise<void>): Promise<Submission> {
  samples.submissions.length = 0;
  await press();
  await page.waitForURL('**/app/callback');
  assert.equal(samples.submissions.length, 1);
  return samples.submissions[0] as Submission;
}

describe('every page', () => {
  it('has no axe violation in light and dark', async () => {
    const context = await open.browser.newContext(AXE_CONTEXT);
    const page = await context.newPage();
    for (const name of pages.keys()) {
      await page.goto(samples.addressOf(name));
      await assertAccessible(page, name);
    }
    await context.close();
  });

  for (const [kind, named] of Object.entries(collections)) {
    it(`fits a screen of 320 pixels: ${kind}`, async () => {
      const page = await open.newPage({ width: 320 });
      for (const name of named.keys()) {
        await page.goto(samples.addressOf(name, kind));
        await assertFits(page, 320, name);
      }
    });
  }

  it('keeps within its own policy', async () => {
    const page = await open.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    for (const name of pages.keys()) {
      await page.goto(samples.addressOf(name));
      const font = await page.evaluate('getComputedStyle(document.body).fontFamily');
      assert.match(String(font), /system-ui/, 'the stylesheet is there');
    }
    assert.deepEqual(complaints, []);
  });

  it('has a ring around what has the keyboard', async () => {
    const page = await open.newPage();
    await page.goto(samples.addressOf('consent, verified'));
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
    await page.goto(samples.addressOf('login'));
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
    await page.goto(samples.addressOf('login, wrong password'));
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
    await page.goto(samples.addressOf('login, busy'));
    const alert = await page.getByRole('alert').textContent();
    assert.match(alert ?? '', /try again at 14:36 UTC, in 4 minutes\./);
    const again = page.getByRole('link', { name: 'Try again' });
    assert.equal(await again.getAttribute('href'), '/mcp/oauth/interaction/u1');
  });

  it('somebody goes back to the app', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(samples.addressOf('login'));
    const cancel = page.getByRole('button', { name: 'Cancel and return to Claude' });
    assert.deepEqual(await submit(page, () => cancel.click()), {
      path: '/mcp/oauth/interaction/u1/cancel',
      fields: [['_csrf', 'token-of-the-login-form']],
    });
  });

  it('somebody allows less than was asked for', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(samples.addressOf('consent, verified'));
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
    await page.goto(samples.addressOf('consent, verified'));
    await page.getByRole('checkbox', { name: 'Change orders' }).focus();
    const { fields } = await submit(page, () => page.keyboard.press('Enter'));
    assert.deepEqual(fields.at(-1), ['decision', 'cancel']);
  });

  it('somebody else takes over', async () => {
    const page = await open.newPage({ javaScript: false });
    await page.goto(samples.addressOf('consent, verified'));
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
    const opened: string[] = [];
    page.on('request', (request) => opened.push(request.url()));
    for (const name of ['login', 'consent, verified', 'done', 'error, failed', 'home']) {
      await page.goto(samples.appPageFor(name));
      assert.equal(page.frames().length, 2);
      assert.equal(await page.frames()[1]?.locator('main').count(), 0, name);
    }
    assert.ok(!opened.some((url) => url.startsWith('cursor:')), 'nor opens an app from there');
  });

  it('leaves a web app in touch with the pop-up that it opened', async () => {
    const page = await open.newPage();
    await page.goto(samples.appPageFor('login'));
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'Connect' }).click(),
    ]);
    await popup.getByRole('button', { name: 'Cancel and return to Claude' }).click();
    await popup.waitForURL('**/app/callback');
    assert.equal(await popup.evaluate('window.opener !== null'), true);
  });
});
