import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  redirectKind,
  redirectUriMatches,
  redirectUriProblem,
  type RedirectKind,
} from '#src/oauth/redirect-uri.ts';

const SCHEMES = ['cursor', 'vscode', 'com.example.app'];

const ACCEPTED: [uri: string, kind: RedirectKind][] = [
  ['https://claude.ai/api/mcp/auth_callback', 'web'],
  ['https://app.example:8443/callback?tenant=1', 'web'],
  ['https://app.example', 'web'],
  ['https://localhost:3000/callback', 'web'],
  ['https://xn--bcher-kva.example/cb', 'web'],
  ['http://127.0.0.1/', 'loopback'],
  ['http://127.0.0.1:33418/', 'loopback'],
  ['http://localhost/callback', 'loopback'],
  ['http://localhost:8787/callback?x=1', 'loopback'],
  ['http://[::1]:6274/oauth/callback', 'loopback'],
  ['http://[::1]', 'loopback'],
  ['cursor://anysphere.cursor-mcp/oauth/callback', 'private-use'],
  ['com.example.app:/oauth2redirect', 'private-use'],
  ['vscode:callback', 'private-use'],
];

const REFUSED: [what: string, uri: unknown][] = [
  ['nothing', undefined],
  ['an empty text', ''],
  ['no text', 7],
  ['a path', '/callback'],
  ['no scheme', 'app.example/callback'],
  ['javascript:', 'javascript:alert(1)'],
  ['javascript: in another case', 'JavaScript:alert(1)'],
  ['javascript: that looks like a place', 'javascript://app.example/%0aalert(1)'],
  ['data:', 'data:text/html,hi'],
  ['file:', 'file:///etc/passwd'],
  ['blob:', 'blob:https://app.example/1'],
  ['vbscript:', 'vbscript:x'],
  ['about:', 'about:blank'],
  ['ftp:', 'ftp://app.example/'],
  ['ws:', 'ws://app.example/'],
  ['a private-use scheme that is not listed', 'slack://callback'],
  ['http elsewhere', 'http://app.example/callback'],
  ['http on a private address', 'http://192.168.0.1/callback'],
  ['http on another loopback address', 'http://127.0.0.2/callback'],
  ['http on a short loopback address', 'http://127.1/callback'],
  ['http on a number that is loopback', 'http://2130706433/callback'],
  ['http on a name that begins like loopback', 'http://127.0.0.1.app.example/callback'],
  ['http on a name that begins like localhost', 'http://localhost.app.example/callback'],
  ['http on localhost with a last dot', 'http://localhost./callback'],
  ['http on LOCALHOST', 'http://LOCALHOST/callback'],
  ['a loopback address mapped into IPv6', 'http://[::ffff:127.0.0.1]/callback'],
  ['a port that is none', 'http://localhost:port/callback'],
  ['an empty port', 'http://localhost:/callback'],
  ['a port out of range', 'http://localhost:99999/callback'],
  ['a fragment', 'https://app.example/callback#here'],
  ['an empty fragment', 'https://app.example/callback#'],
  ['a user name', 'https://user@app.example/callback'],
  ['a user name and password', 'https://user:secret@app.example/callback'],
  ['an empty user name', 'https://@app.example/callback'],
  ['a loopback address as the user name', 'http://localhost:80@app.example/callback'],
  ['a user name in a private-use URI', 'cursor://user@anysphere/callback'],
  ['a backslash', 'https://app.example\\@evil.example/callback'],
  ['a space', 'https://app.example/call back'],
  ['a tab', 'https://app.example/call\tback'],
  ['a line break', 'https://app.example/callback\n'],
  ['a leading space', ' https://app.example/callback'],
  ['a NUL', 'https://app.example/\0'],
  ['a wildcard host', 'https://*.app.example/callback'],
  ['a wildcard path', 'https://app.example/*'],
  ['letters beyond ASCII', 'https://bücher.example/callback'],
  ['no host', 'https:///callback'],
  ['https without slashes', 'https:app.example/callback'],
  ['more than 2,000 characters', `https://app.example/${'a'.repeat(2_000)}`],
];

describe('redirect URIs', () => {
  for (const [uri, kind] of ACCEPTED) {
    it(`accepts ${uri}`, () => {
      assert.equal(redirectUriProblem(uri, SCHEMES), undefined);
      assert.equal(redirectKind(uri, SCHEMES), kind);
    });
  }

  for (const [what, uri] of REFUSED) {
    it(`refuses ${what}`, () => {
      assert.equal(typeof redirectUriProblem(uri, SCHEMES), 'string');
    });
  }

  for (const scheme of ['javascript', 'data', 'file', 'blob', 'vbscript', 'http', 'ftp']) {
    it(`refuses ${scheme}: even where the configuration lists it`, () => {
      assert.notEqual(redirectUriProblem(`${scheme}://app.example/x`, [scheme]), undefined);
    });
  }
});

const MATCHES: [registered: string, presented: string][] = [
  ['https://app.example/callback', 'https://app.example/callback'],
  ['http://127.0.0.1/', 'http://127.0.0.1:33418/'],
  ['http://127.0.0.1:33418/', 'http://127.0.0.1:50000/'],
  ['http://localhost:8787/callback', 'http://localhost/callback'],
  ['http://localhost/callback', 'http://localhost:1/callback'],
  ['http://[::1]:1/cb', 'http://[::1]:2/cb'],
  ['http://localhost:1/cb?x=1', 'http://localhost:2/cb?x=1'],
  ['cursor://anysphere/cb', 'cursor://anysphere/cb'],
];

const DIFFERS: [what: string, registered: string, presented: string][] = [
  ['another path', 'https://app.example/callback', 'https://app.example/callback/'],
  ['a query more', 'https://app.example/callback', 'https://app.example/callback?x=1'],
  ['another case of the host', 'https://app.example/cb', 'https://APP.example/cb'],
  ['the default port', 'https://app.example/cb', 'https://app.example:443/cb'],
  ['another port of a website', 'https://app.example:1/cb', 'https://app.example:2/cb'],
  ['http in place of https', 'https://app.example/cb', 'http://app.example/cb'],
  ['a path that leads up', 'https://app.example/cb', 'https://app.example/x/../cb'],
  ['127.0.0.1 in place of localhost', 'http://localhost:1/cb', 'http://127.0.0.1:1/cb'],
  ['[::1] in place of 127.0.0.1', 'http://127.0.0.1:1/cb', 'http://[::1]:1/cb'],
  ['https on the loopback address', 'http://localhost:1/cb', 'https://localhost:1/cb'],
  ['another path on loopback', 'http://localhost:1/cb', 'http://localhost:1/other'],
  ['a longer host on loopback', 'http://localhost/cb', 'http://localhost.app.example/cb'],
  ['another private-use path', 'cursor://anysphere/cb', 'cursor://anysphere/cb/'],
  ['another private-use host', 'cursor://anysphere/cb', 'cursor://other/cb'],
  ['another case of the scheme', 'cursor://anysphere/cb', 'CURSOR://anysphere/cb'],
  ['another port of a private-use URI', 'cursor://a:1/cb', 'cursor://a:2/cb'],
];

describe('matching a redirect URI', () => {
  for (const [registered, presented] of MATCHES) {
    it(`${registered} covers ${presented}`, () => {
      assert.ok(redirectUriMatches(['https://first.example/', registered], presented));
    });
  }

  for (const [what, registered, presented] of DIFFERS) {
    it(`${what} is another one`, () => {
      assert.equal(redirectUriMatches([registered], presented), false);
    });
  }
});
