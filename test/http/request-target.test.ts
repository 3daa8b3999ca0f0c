import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { isHostServed, normalizeTarget } from '#src/http/request-target.ts';

function asked(url: string, host?: string): IncomingMessage {
  const headers = host === undefined ? {} : { host };
  const rawHeaders = host === undefined ? [] : ['Host', host];
  return { url, headers, rawHeaders } as unknown as IncomingMessage;
}

describe('a request target', () => {
  const good: [target: string, path: string, host: string][] = [
    ['/mcp?a=b', '/mcp?a=b', 'here.example'],
    ['/', '/', 'here.example'],
    ['//other.example/mcp', '//other.example/mcp', 'here.example'],
    ['http://other.example/mcp?a=b', '/mcp?a=b', 'other.example'],
    ['HTTPS://Other.example:8443', '/', 'other.example:8443'],
    ['http://[::1]:80/mcp', '/mcp', '[::1]'],
  ];
  for (const [target, path, host] of good) {
    it(`is read: ${target}`, () => {
      const request = asked(target, 'here.example');
      assert.equal(normalizeTarget(request), true);
      assert.deepEqual([request.url, request.headers.host], [path, host]);
    });
  }

  for (const target of [
    '*',
    '',
    'mcp',
    'http://[bad/mcp',
    'http:///',
    'http:/mcp',
    'http:mcp',
    'ftp://here.example/mcp',
    'javascript:alert(1)',
    'here.example:443',
    'http://user:secret@here.example/mcp',
  ]) {
    it(`is refused: ${target === '' ? 'nothing' : target}`, () => {
      const request = asked(target, 'here.example');
      assert.equal(normalizeTarget(request), false);
      assert.deepEqual([request.url, request.headers.host], [target, 'here.example']);
    });
  }
});

describe('a Host', () => {
  const rules = {
    allowedHosts: new Set(['mcp.example.com', 'x.example:8443']),
    allowLoopback: false,
  };
  const cases: [host: string | undefined, served: boolean, onLoopback: boolean][] = [
    ['mcp.example.com', true, true],
    ['MCP.example.com:443', true, true],
    ['x.example:8443', true, true],
    ['x.example', false, false],
    ['evil.example', false, false],
    ['mcp.example.com.evil.example', false, false],
    ['', false, false],
    [undefined, false, false],
    ['localhost:1', false, true],
    ['127.0.0.1', false, true],
    ['[::1]:8420', false, true],
  ];
  for (const [host, served, onLoopback] of cases) {
    it(`is ${served ? '' : 'not '}served: ${host}`, () => {
      assert.equal(isHostServed(rules, asked('/', host)), served);
      assert.equal(isHostServed({ ...rules, allowLoopback: true }, asked('/', host)), onLoopback);
    });
  }

  it('is not served twice', () => {
    const request = asked('/', 'mcp.example.com');
    request.rawHeaders.push('host', 'evil.example');
    assert.equal(isHostServed(rules, request), false);
  });
});
