import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import Koa from 'koa';
import { pageHeaders } from '#src/http/security-headers.ts';
import { createSiteRouter, notFound, type SiteParts } from '#src/http/site-routes.ts';
import { readMarkup } from '../support/markup.ts';
import { sampleRenderer } from '../support/sample-pages.ts';

let isReady = true;
const parts: SiteParts = {
  renderer: sampleRenderer(),
  toolCount: () => 3,
  isMcpEnabled: () => true,
  isReady: async () => isReady,
};
const app = new Koa();
app.use(async (ctx, next) => {
  await next();
  if (ctx.status === 404 && ctx.body === undefined) notFound(parts, ctx);
});
app.use(createSiteRouter(parts).routes());
// Koa answers every request itself; the promise of its handler says nothing more.
const handle = app.callback();
const server = createServer((request, response) => void handle(request, response));
let origin: string;

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  origin = `http://127.0.0.1:${address.port}`;
});

after(() => {
  server.closeAllConnections();
  server.close();
});

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

function assertHeaders(response: Response, expected: Record<string, string>): void {
  for (const [name, value] of Object.entries(expected))
    assert.equal(response.headers.get(name), value);
}

describe('the site', () => {
  it('shows how to connect', async () => {
    const response = await fetch(origin, { headers: html });
    assert.equal(response.status, 200);
    assertHeaders(response, { ...pageHeaders('none'), 'content-type': 'text/html; charset=utf-8' });
    const { text } = readMarkup(await response.text());
    assert.match(text, /Connect your AI app to Sales/);
    assert.match(text, /3 tools/);
  });

  it('speaks the language that the browser asks for', async () => {
    for (const [asked, language, words] of [
      ['de-AT,de;q=0.9,en;q=0.8', 'de', /Verbinden Sie Ihre KI-App mit Sales/],
      ['nl,fr;q=0.3', 'fr', /Connectez votre application d’IA à Sales/],
      ['nl', 'en', /Connect your AI app to Sales/],
    ] as const) {
      const response = await fetch(origin, { headers: { ...html, 'accept-language': asked } });
      assertHeaders(response, { 'content-language': language, vary: 'Accept-Language' });
      const page = await response.text();
      assert.match(page, new RegExp(`^<!doctype html>\\s*<html lang="${language}"`));
      assert.match(readMarkup(page).text, words);
      const missing = await fetch(`${origin}/no-such-page`, {
        headers: { ...html, 'accept-language': asked },
      });
      assertHeaders(missing, { 'content-language': language, vary: 'Accept-Language' });
    }
  });

  it('sends the stylesheet that pages name, to be kept', async () => {
    const page = await (await fetch(origin)).text();
    const path = /<link rel="stylesheet" href="([^"]*)">/.exec(page)?.[1];
    const response = await fetch(`${origin}${path}`);
    assert.equal(response.status, 200);
    assertHeaders(response, {
      'content-type': 'text/css; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
    assert.equal(await response.text(), parts.renderer.stylesheet.body);
  });

  it('says that it lives, and whether it can work', async () => {
    for (const ready of [true, false]) {
      isReady = ready;
      const health = await fetch(`${origin}/healthz`);
      assert.deepEqual([health.status, await health.json()], [200, { status: 'ok' }]);
      const readiness = await fetch(`${origin}/readyz`);
      assert.equal(readiness.status, ready ? 200 : 503);
      assert.deepEqual(await readiness.json(), { status: ready ? 'ready' : 'not ready' });
      assert.equal(readiness.headers.get('cache-control'), 'no-store');
    }
  });

  it('shows a person a page for what is not there', async () => {
    const response = await fetch(`${origin}/nowhere`, { headers: html });
    assert.equal(response.status, 404);
    assertHeaders(response, pageHeaders('none'));
    assert.match(readMarkup(await response.text()).text, /There is no page here/);
  });

  const probes: [method: string, path: string, headers?: Record<string, string>][] = [
    ['GET', '/.well-known/nothing', html],
    ['GET', '/mcp/.well-known/nothing', html],
    ['GET', '/mcp/nothing', html],
    ['GET', '/HEALTHZ', { accept: 'application/json' }],
    ['GET', '/healthz/', { accept: 'application/json' }],
    ['POST', '/nowhere', html],
    ['DELETE', '/', html],
  ];
  for (const [method, path, headers = {}] of probes) {
    it(`answers a program in JSON: ${method} ${path}`, async () => {
      const response = await fetch(`${origin}${path}`, { method, headers });
      assert.equal(response.status, 404);
      assertHeaders(response, {
        'content-type': 'application/json; charset=utf-8',
        'access-control-allow-origin': '*',
        'cache-control': 'no-store',
      });
      assert.equal(((await response.json()) as { error: string }).error, 'not_found');
    });
  }
});
