import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Authenticator } from '#src/credentials/authenticate.ts';
import type { Principal } from '#src/credentials/principal.ts';
import { insufficientScope, unauthorized } from '#src/mcp/challenge.ts';
import { sendRaw } from '../http/listening.ts';
import { ANNA, authenticatorFor, echoCall, mcpServer, METADATA, modern } from './server.ts';

/** The parameters of a challenge; fails when it is not to the letter what RFC 9110 allows. */
function readChallenge(header: unknown): Record<string, string> {
  assert.ok(typeof header === 'string');
  assert.match(header, /^[\x20-\x7e]+$/);
  assert.match(header, /^Bearer [a-z_]+="[^"]*"(, [a-z_]+="[^"]*")*$/);
  const parameters = [...header.matchAll(/([a-z_]+)="([^"]*)"/g)];
  const names = parameters.map(([, name = '']) => name);
  assert.equal(new Set(names).size, names.length, 'one of each parameter');
  return Object.fromEntries(parameters.map(([, name = '', value = '']) => [name, value]));
}

describe('the challenge of a 401', () => {
  const cases: [authorization: string | undefined, error: string | undefined][] = [
    [undefined, undefined],
    ['Bearer old', 'invalid_token'],
  ];
  for (const [authorization, error] of cases) {
    it(`with ${authorization ?? 'no credential'} says ${error ?? 'no error'}`, async () => {
      await using server = await mcpServer();
      for (const method of ['tools/list', 'tools/call']) {
        const params = method === 'tools/call' ? { name: 'echo' } : {};
        const { status, headers, json } = await server.send(
          modern(method, params, { headers: { authorization } }),
        );
        assert.equal(status, 401);
        assert.equal(json.error?.code, -32001);
        const expected = { resource_metadata: METADATA, scope: 'mcp', ...(error && { error }) };
        assert.deepEqual(readChallenge(headers['www-authenticate']), expected);
      }
    });
  }

  it('is the same whether a tool exists or not', async () => {
    await using server = await mcpServer();
    const answers = await Promise.all(
      ['echo', 'wipe', 'nowhere'].map((name) =>
        server.send(modern('tools/call', { name }, { headers: { authorization: undefined } })),
      ),
    );
    assert.equal(new Set(answers.map((one) => one.text)).size, 1);
  });

  it('is not given for discovery, with a bad credential neither', async () => {
    await using server = await mcpServer();
    for (const authorization of [undefined, 'Bearer old', 'garbage']) {
      const request = modern('server/discover', {}, { headers: { authorization } });
      assert.equal((await server.send(request)).status, 200);
    }
  });

  it('names no metadata while OAuth is off', async () => {
    await using server = await mcpServer({ metadataUrl: undefined });
    const { headers } = await server.send(echoCall({ headers: { authorization: undefined } }));
    assert.deepEqual(readChallenge(headers['www-authenticate']), { scope: 'mcp' });
  });

  it('is not on any other answer', async () => {
    await using server = await mcpServer();
    const requests = [
      echoCall(),
      modern('no/such'),
      { method: 'GET' },
      echoCall({ headers: { host: 'evil.example' } }),
    ];
    for (const request of requests) {
      assert.equal((await server.send(request)).headers['www-authenticate'], undefined);
    }
  });

  it('takes a token in the URL or in the body for none', async () => {
    await using server = await mcpServer();
    const { body = '', headers = {} } = echoCall({ headers: { authorization: undefined } });
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${String(value)}\r\n`],
    );
    const answer = await sendRaw(
      server.port,
      `POST /mcp?access_token=good HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${String(body)}`,
    );
    assert.match(answer, /^HTTP\/1\.1 401 /);
    const inBody = echoCall({
      headers: { authorization: undefined },
      message: { access_token: 'good' },
    });
    assert.equal((await server.send(inBody)).status, 401);
  });
});

describe('two credentials', () => {
  it('are put to the authenticator side by side, never the first alone', async () => {
    const seen: (string | undefined)[] = [];
    const authenticator: Authenticator = {
      looksGenuine: async () => true,
      async authenticate(authorization, address) {
        seen.push(authorization);
        return authenticatorFor(ANNA).authenticate(authorization, address);
      },
    };
    await using server = await mcpServer({ authenticator });
    const twice = ['Bearer good', 'Bearer good'];
    const { status } = await server.send(echoCall({ headers: { authorization: twice } }));
    assert.equal(status, 401);
    assert.deepEqual(seen, ['Bearer good, Bearer good']);
  });
});

describe('the challenge of a 403', () => {
  it('names the base scope, what the grant has, and what the call lacks', async () => {
    await using server = await mcpServer();
    const { status, headers, json } = await server.send(modern('tools/call', { name: 'change' }));
    assert.equal(status, 403);
    assert.deepEqual(readChallenge(headers['www-authenticate']), {
      error: 'insufficient_scope',
      scope: 'mcp reader writer',
      resource_metadata: METADATA,
    });
    assert.deepEqual(json, {
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32003,
        message: 'Insufficient scope: this needs writer',
        data: { scope: 'mcp reader writer' },
      },
    });
  });

  it('never names offline_access, and no scope twice', () => {
    const principal: Principal = { ...ANNA, granted: ['reader', 'mcp'] };
    const { headers } = insufficientScope(METADATA, principal, ['writer', 'reader']);
    assert.equal(readChallenge(headers?.['www-authenticate'])['scope'], 'mcp reader writer');
  });
});

describe('a challenge cannot be broken out of', () => {
  const hostile = [
    'a"b',
    'a", realm="evil',
    'a\r\nset-cookie: a=b',
    'a\nb',
    'a\\',
    'é',
    'a b',
    'a\0',
    '',
    '\u2028',
  ];
  for (const name of hostile) {
    it(`by a privilege called ${JSON.stringify(name)}`, async () => {
      const principal: Principal = { ...ANNA, granted: ['reader', name] };
      await using server = await mcpServer({ authenticator: authenticatorFor(principal) });
      const { status, headers } = await server.send(modern('tools/call', { name: 'change' }));
      assert.equal(status, 403);
      assert.equal(headers['set-cookie'], undefined);
      assert.equal(readChallenge(headers['www-authenticate'])['scope'], 'mcp reader writer');
    });
  }

  it('by a name of a tool, a method, a version or an id', async () => {
    await using server = await mcpServer();
    const evil = 'x"\r\nset-cookie: a=b\r\n';
    const encoded = `=?base64?${Buffer.from(evil).toString('base64')}?=`;
    const requests = [
      modern(
        'tools/call',
        { name: evil },
        { headers: { 'mcp-name': encoded, authorization: undefined } },
      ),
      modern('tools/call', { name: evil }, { headers: { 'mcp-name': encoded }, id: evil }),
      echoCall({ message: { method: evil }, id: evil }),
      echoCall({ meta: { 'io.modelcontextprotocol/protocolVersion': evil } }),
    ];
    for (const request of requests) {
      const { headers } = await server.send(request);
      assert.equal(headers['set-cookie'], undefined);
    }
  });

  it('is the same however often it is made', () => {
    assert.deepEqual(unauthorized(METADATA, true), unauthorized(METADATA, true));
  });
});
