import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import { sendRaw } from './listening.ts';

/** What the server refuses before it routes: targets, hosts and ways that are none of its own. */

interface Answer {
  status: number;
  body: string;
}

async function ask(app: TestApp, line: string, headers: string[]): Promise<Answer> {
  const lines = [line, 'Connection: close', ...headers].map((one) => `${one}\r\n`);
  const text = await sendRaw(app.port, `${lines.join('')}\r\n`);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(head.slice(9, 12)), body };
}

describe('a request target', () => {
  let app: TestApp;
  before(async () => (app = await startTestApp({ dialect: 'sqlite' })));
  after(() => app[Symbol.asyncDispose]());
  const here = (): string[] => [`Host: 127.0.0.1:${app.port}`];

  for (const line of [
    'GET http://[bad/mcp HTTP/1.1',
    'POST http://[bad/ HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'GET ftp://127.0.0.1/ HTTP/1.1',
    'GET http://user@127.0.0.1/ HTTP/1.1',
  ]) {
    it(`is answered 400: ${line}`, async () => {
      app.events.length = 0;
      const { status, body } = await ask(app, line, here());
      assert.equal(status, 400);
      assert.equal((JSON.parse(body) as { error: string }).error, 'invalid_request');
      assert.deepEqual(
        app.events.map((one) => one.type === 'http.refused' && one.reason),
        ['bad request target'],
      );
    });
  }

  it('may be absolute; its host then counts, whatever Host says', async () => {
    const absolute = (host: string, path: string): string => `GET http://${host}${path} HTTP/1.1`;
    const own = `127.0.0.1:${app.port}`;
    const evil = ['Host: evil.example'];
    assert.equal((await ask(app, absolute(own, '/'), here())).status, 200);
    assert.equal((await ask(app, absolute(own, ''), evil)).status, 200);
    assert.equal((await ask(app, absolute(own, '/mcp'), here())).status, 405);
    assert.equal((await ask(app, absolute('evil.example', '/mcp'), here())).status, 403);
    assert.equal((await ask(app, absolute('evil.example', '/'), here())).status, 403);
  });
});

describe('the Host of a request', () => {
  const PATHS = ['/', '/mcp', '/mcp/oauth/authorize', '/.well-known/oauth-authorization-server'];
  let app: TestApp;
  before(async () => {
    const config = { publicUrl: 'https://mcp.example.com', trustedProxies: ['127.0.0.1'] };
    app = await startTestApp({ dialect: 'sqlite', config });
  });
  after(() => app[Symbol.asyncDispose]());

  for (const path of [...PATHS, '/no/such/page']) {
    it(`is ours or is refused at ${path}`, async () => {
      const evil = await ask(app, `GET ${path} HTTP/1.1`, ['Host: evil.example']);
      assert.equal(evil.status, 403);
      assert.ok(evil.body.length < 200 && JSON.parse(evil.body));
      const twice = ['Host: mcp.example.com', 'Host: evil.example'];
      assert.equal((await ask(app, `GET ${path} HTTP/1.1`, twice)).status, 403);
      for (const host of ['mcp.example.com', 'MCP.example.com:443', `localhost:${app.port}`]) {
        const proxied = [
          `Host: ${host}`,
          'X-Forwarded-For: 198.51.100.7',
          'X-Forwarded-Proto: https',
        ];
        assert.notEqual((await ask(app, `GET ${path} HTTP/1.1`, proxied)).status, 403, host);
      }
    });
  }

  it('does not matter to probes of health', async () => {
    for (const path of ['/healthz', '/readyz'])
      assert.equal((await ask(app, `GET ${path} HTTP/1.1`, ['Host: 10.0.0.7'])).status, 200);
  });

  it('is told when it is refused', async () => {
    app.events.length = 0;
    await ask(app, 'GET /x HTTP/1.1', ['Host: evil.example']);
    assert.deepEqual(app.events, [
      { type: 'http.refused', reason: 'Host', address: '127.0.0.1', path: '/x' },
    ]);
  });
});

describe('plain HTTP at /mcp', () => {
  for (const allowInsecureHttp of [false, true]) {
    it(`is ${allowInsecureHttp ? 'served' : 'refused and told'} as the configuration says`, async () => {
      const config = { trustedProxies: ['127.0.0.1'], allowInsecureHttp };
      await using app = await startTestApp({ dialect: 'sqlite', config });
      for (const path of ['/mcp', '/mcp/']) {
        app.events.length = 0;
        const forwarded = ['X-Forwarded-For: 198.51.100.7', 'X-Forwarded-Proto: http'];
        const headers = [`Host: 127.0.0.1:${app.port}`, ...forwarded];
        const { status, body } = await ask(app, `POST ${path} HTTP/1.1`, headers);
        assert.deepEqual([status, body === ''], allowInsecureHttp ? [415, false] : [404, true]);
        const refused = {
          type: 'http.refused',
          reason: 'plain HTTP',
          address: '198.51.100.7',
          path,
        };
        assert.deepEqual(app.events, allowInsecureHttp ? [] : [refused]);
      }
    });
  }
});
