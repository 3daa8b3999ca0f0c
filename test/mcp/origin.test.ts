import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendRaw } from '../http/listening.ts';
import { echoCall, mcpServer, type ServerOptions } from './server.ts';

const AWAY: ServerOptions = { rules: { allowLoopback: false } };

describe('Host', () => {
  const cases: [host: string, onLoopback: number, elsewhere: number][] = [
    ['mcp.example.com', 200, 200],
    ['MCP.Example.Com', 200, 200],
    // An entry without a port allows every port; one with a port allows that one.
    ['mcp.example.com:8420', 200, 200],
    ['other.example:8443', 200, 200],
    ['other.example', 403, 403],
    ['other.example:443', 403, 403],
    ['127.0.0.1', 200, 403],
    ['127.0.0.1:8420', 200, 403],
    ['localhost:1', 200, 403],
    ['[::1]:8420', 200, 403],
    ['[::1]', 200, 403],
    ['evil.example', 403, 403],
    ['localhost.evil.example', 403, 403],
    ['127.0.0.1.evil.example', 403, 403],
    ['mcp.example.com.evil.example', 403, 403],
    ['mcp.example.com:x', 403, 403],
    ['mcp.example.com@evil.example', 403, 403],
    ['mcp.example.com, evil.example', 403, 403],
    ['10.0.0.1', 403, 403],
    ['0.0.0.0', 403, 403],
  ];
  it('is one of ours, or of this machine while we listen there', async () => {
    await using loopback = await mcpServer();
    await using away = await mcpServer(AWAY);
    for (const [host, onLoopback, elsewhere] of cases) {
      const request = echoCall({ headers: { host } });
      assert.equal((await loopback.send(request)).status, onLoopback, host);
      assert.equal((await away.send(request)).status, elsewhere, host);
    }
  });

  it('is refused when it is empty, missing or there twice', async () => {
    await using server = await mcpServer();
    const rest = 'Content-Type: application/json\r\nConnection: close\r\n\r\n';
    const requests = [
      `POST /mcp HTTP/1.1\r\nHost:\r\n${rest}`,
      `POST /mcp HTTP/1.0\r\n${rest}`,
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n${rest}`,
      `POST /mcp HTTP/1.1\r\nhost: localhost\r\nHOST: localhost\r\n${rest}`,
    ];
    for (const request of requests) {
      assert.match(await sendRaw(server.port, request), /^HTTP\/1\.1 403 /, request);
    }
  });
});

describe('Origin', () => {
  const cases: [origin: string | undefined, onLoopback: number, elsewhere: number][] = [
    [undefined, 200, 200],
    ['https://mcp.example.com', 200, 200],
    ['http://localhost:6274', 200, 403],
    ['http://127.0.0.1', 200, 403],
    ['http://[::1]:3000', 200, 403],
    ['http://mcp.example.com', 403, 403],
    ['https://mcp.example.com:444', 403, 403],
    ['https://mcp.example.com/', 403, 403],
    ['https://MCP.example.com', 403, 403],
    ['https://mcp.example.com.evil.example', 403, 403],
    ['https://evil.example', 403, 403],
    ['http://localhost.evil.example', 403, 403],
    ['http://evil.example@localhost', 403, 403],
    ['http://localhost/path', 403, 403],
    ['null', 403, 403],
    ['', 403, 403],
    ['file://', 403, 403],
    ['https://mcp.example.com, https://evil.example', 403, 403],
  ];
  it('is one of ours, or of this machine while we listen there', async () => {
    await using loopback = await mcpServer();
    await using away = await mcpServer(AWAY);
    for (const [origin, onLoopback, elsewhere] of cases) {
      const request = echoCall({ headers: { origin, host: 'mcp.example.com' } });
      assert.equal((await loopback.send(request)).status, onLoopback, origin);
      assert.equal((await away.send(request)).status, elsewhere, origin);
    }
  });
});

describe('CORS', () => {
  const origin = 'https://mcp.example.com';
  const asked = 'authorization,content-type,mcp-protocol-version';

  it('lets a browser of an allowed origin ask first', async () => {
    await using server = await mcpServer();
    const { status, text, headers } = await server.send({
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': asked,
      },
    });
    assert.deepEqual([status, text], [204, '']);
    assert.equal(headers['access-control-allow-origin'], origin);
    assert.equal(headers['access-control-allow-methods'], 'POST, GET, DELETE');
    assert.equal(headers['access-control-allow-headers'], asked);
    assert.equal(headers['access-control-allow-credentials'], undefined);
    assert.equal(headers.vary, 'Origin');
    assert.equal(headers['content-length'], undefined);
    assert.match(String(headers['x-request-id']), /^[0-9a-f]{16}$/);
  });

  it('says nothing to another origin', async () => {
    await using server = await mcpServer();
    for (const method of ['OPTIONS', 'POST']) {
      const { headers } = await server.send({
        method,
        headers: { origin: 'https://evil.example' },
      });
      const names = Object.keys(headers).filter((name) => name.startsWith('access-control'));
      assert.deepEqual(names, [], method);
    }
  });

  it('names headers of its own when those asked for are no list of names', async () => {
    await using server = await mcpServer();
    for (const list of ['a b', 'a,,b', '*', 'x'.repeat(501), '']) {
      const { headers } = await server.send({
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-headers': list },
      });
      assert.match(
        String(headers['access-control-allow-headers']),
        /^Authorization, Content-Type, /,
      );
    }
  });

  it('shows a browser every answer, also those that refuse, and the headers it needs', async () => {
    await using server = await mcpServer();
    const requests = [
      echoCall({ headers: { origin } }),
      echoCall({ headers: { origin, authorization: undefined } }),
      echoCall({ headers: { origin, 'content-type': 'text/plain' } }),
      { method: 'GET', headers: { origin } },
    ];
    for (const request of requests) {
      const { status, headers } = await server.send(request);
      assert.equal(headers['access-control-allow-origin'], origin, String(status));
      const exposed = String(headers['access-control-expose-headers']);
      for (const name of ['WWW-Authenticate', 'X-Request-Id', 'Retry-After']) {
        assert.ok(exposed.includes(name), name);
      }
    }
  });

  it('is not needed without an origin', async () => {
    await using server = await mcpServer();
    const { headers } = await server.send(echoCall());
    assert.equal(headers['access-control-allow-origin'], undefined);
    assert.equal(headers.vary, undefined);
  });
});
