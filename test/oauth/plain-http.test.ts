import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import {
  CLI_METADATA,
  register,
  REGISTER_PATH,
  send,
  TOKEN_PATH,
} from '../support/oauth-client.ts';

const PATHS = [
  '/',
  '/mcp/oauth/authorize',
  TOKEN_PATH,
  REGISTER_PATH,
  '/mcp/oauth/interaction/x',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-protected-resource/mcp',
  '/assets/castellan.css',
];

const PLAIN: [what: string, headers: Record<string, string>][] = [
  ['over http', { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'http' }],
  ['from afar, without saying how', { 'x-forwarded-for': '198.51.100.7' }],
  ['over http, from loopback', { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http' }],
  [
    'over https that a stranger claims',
    { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https, http' },
  ],
  ['over something else', { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'wss' }],
];

for (const allowInsecureHttp of [false, true]) {
  describe(`plain HTTP behind a proxy, with allowInsecureHttp ${allowInsecureHttp}`, () => {
    let app: TestApp;
    before(async () => {
      const config = {
        trustedProxies: ['127.0.0.1'],
        publicUrl: 'https://mcp.example.com',
        allowInsecureHttp,
      };
      app = await startTestApp({ dialect: 'sqlite', config });
    });
    after(() => app[Symbol.asyncDispose]());

    for (const [what, headers] of PLAIN) {
      it(`gets 404 and nothing else ${what}`, async () => {
        for (const path of PATHS) {
          app.events.length = 0;
          const answer = await send(app, path, { headers });
          assert.deepEqual([answer.status, answer.text], [404, ''], path);
          assert.equal(answer.headers.get('set-cookie'), null);
          assert.deepEqual(app.events, [
            {
              type: 'http.refused',
              reason: 'plain HTTP',
              address: headers['x-forwarded-for'],
              path,
            },
          ]);
        }
      });
    }

    it('does not stop what came over TLS, or from this machine', async () => {
      for (const headers of [
        { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https' },
        {},
      ]) {
        for (const path of ['/', '/.well-known/oauth-authorization-server']) {
          assert.equal((await send(app, path, { headers })).status, 200, path);
        }
      }
    });

    it('is answered to probes of the machine', async () => {
      const headers = { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'http' };
      assert.equal((await send(app, '/healthz', { headers })).status, 200);
      assert.equal((await send(app, '/readyz', { headers })).status, 200);
    });

    it('does not log what a path holds beside itself', async () => {
      app.events.length = 0;
      await send(app, '/mcp/oauth/authorize?code=secret', { headers: PLAIN[0]?.[1] ?? {} });
      assert.ok(!JSON.stringify(app.events).includes('secret'));
    });
  });
}

describe('what a proxy says about the caller', () => {
  it('counts from trusted addresses only', async () => {
    const config = { oauth: { registrationsPerAddressPerHour: 1 } };
    await using app = await startTestApp({ dialect: 'sqlite', config });
    const from = (name: string, address: string) =>
      register(
        app,
        { ...CLI_METADATA, client_name: name },
        { 'x-forwarded-for': address, 'x-forwarded-proto': 'https', 'x-real-ip': address },
      );
    assert.equal((await from('a', '198.51.100.1')).status, 201);
    assert.equal(
      (await from('b', '198.51.100.2')).status,
      429,
      'nobody is trusted, so it is one caller',
    );
  });

  it('is read from the right, up to the first address that is not trusted', async () => {
    const config = {
      trustedProxies: ['127.0.0.1', '10.0.0.0/8'],
      oauth: { registrationsPerAddressPerHour: 1 },
    };
    await using app = await startTestApp({ dialect: 'sqlite', config });
    const from = (name: string, chain: string) =>
      register(
        app,
        { ...CLI_METADATA, client_name: name },
        { 'x-forwarded-for': chain, 'x-forwarded-proto': 'https' },
      );
    assert.equal((await from('a', '198.51.100.1')).status, 201);
    assert.equal(
      (await from('b', '6.6.6.6, 198.51.100.1, 10.0.0.3')).status,
      429,
      'what the caller wrote does not count',
    );
    assert.equal((await from('c', '198.51.100.1, 198.51.100.2, 10.0.0.3')).status, 201);
    assert.equal(
      (await from('d', '::ffff:198.51.100.2')).status,
      429,
      'mapped into IPv6 it is the same',
    );
  });
});
