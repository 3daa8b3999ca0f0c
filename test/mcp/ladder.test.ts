import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AppError } from '#src/errors.ts';
import {
  authenticatorFor,
  ANNA,
  echoCall,
  mcpServer,
  modern,
  VERSION,
  type McpServer,
  type Sent,
  type ServerOptions,
} from './server.ts';

/*
 * The ladder of a modern request, row by row: every check with its answer, and that of two things
 * that are wrong the earlier one is told.
 */

interface Rung {
  name: string;
  /** The server that refuses; the usual one unless told. */
  options?: ServerOptions;
  /** Laid over a good request, or over one that a later rung refuses. */
  spoil(request: Sent): Sent;
  status: number;
  /** undefined: no body. */
  code?: number;
  headers?: Record<string, string>;
}

const PLAIN = { address: '203.0.113.5', isSafe: false };
const withHeaders =
  (headers: Sent['headers']) =>
  (request: Sent): Sent => ({
    ...request,
    headers: { ...request.headers, ...headers },
  });
/** Changes the message, and leaves the headers as they are. */
const withMessage =
  (change: (message: Record<string, unknown>) => unknown) =>
  (request: Sent): Sent => {
    const message = JSON.parse(String(request.body)) as Record<string, unknown>;
    return { ...request, body: JSON.stringify(change(message)) };
  };
const withMeta = (change: Record<string, unknown>) =>
  withMessage((message) => {
    const params = message['params'] as { _meta: object };
    return { ...message, params: { ...params, _meta: { ...params._meta, ...change } } };
  });
const PROTOCOL = 'io.modelcontextprotocol/protocolVersion';

/** In the order of the design; of each kind of refusal one example. */
const RUNGS: Rung[] = [
  {
    name: 'MCP disabled',
    options: { rules: { isEnabled: () => false } },
    spoil: (request) => request,
    status: 404,
  },
  { name: 'plain HTTP', options: { caller: PLAIN }, spoil: (request) => request, status: 404 },
  { name: 'Host', spoil: withHeaders({ host: 'evil.example' }), status: 403, code: -32003 },
  {
    name: 'method',
    spoil: (request) => ({ ...request, method: 'PUT' }),
    status: 405,
    headers: { allow: 'POST' },
  },
  {
    name: 'Origin',
    spoil: withHeaders({ origin: 'https://evil.example' }),
    status: 403,
    code: -32003,
  },
  {
    name: 'content type',
    spoil: withHeaders({ 'content-type': 'text/plain' }),
    status: 415,
    code: -32600,
  },
  {
    name: 'body limit',
    spoil: (request) => ({ ...request, body: String(request.body).padEnd(10_001) }),
    status: 413,
    code: -32600,
  },
  {
    name: 'JSON',
    spoil: (request) => ({ ...request, body: '{"jsonrpc":' }),
    status: 400,
    code: -32700,
  },
  { name: 'batch', spoil: withMessage((message) => [message]), status: 400, code: -32600 },
  {
    name: 'notification',
    spoil: withMessage(({ id: _id, ...message }) => message),
    status: 202,
  },
  {
    name: 'no version in _meta',
    spoil: withMeta({ [PROTOCOL]: undefined }),
    status: 400,
    code: -32602,
  },
  {
    name: 'no capabilities in _meta',
    spoil: withMeta({ 'io.modelcontextprotocol/clientCapabilities': undefined }),
    status: 400,
    code: -32602,
  },
  {
    name: 'version in the header',
    spoil: withHeaders({ 'mcp-protocol-version': '2025-11-25' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'Mcp-Method',
    spoil: withHeaders({ 'mcp-method': 'tools/list' }),
    status: 400,
    code: -32020,
  },
  { name: 'Mcp-Name', spoil: withHeaders({ 'mcp-name': 'wipe' }), status: 400, code: -32020 },
  {
    name: 'unsupported version',
    spoil: (request) =>
      withHeaders({ 'mcp-protocol-version': '2027-01-01' })(
        withMeta({ [PROTOCOL]: '2027-01-01' })(request),
      ),
    status: 400,
    code: -32022,
  },
  {
    name: 'unknown method',
    spoil: (request) =>
      withHeaders({ 'mcp-method': 'tools/cal' })(
        withMessage((message) => ({ ...message, method: 'tools/cal' }))(request),
      ),
    status: 404,
    code: -32601,
  },
  {
    name: 'no credential',
    spoil: withHeaders({ authorization: undefined }),
    status: 401,
    code: -32001,
  },
  {
    name: 'insufficient scope',
    spoil: (request) =>
      withHeaders({ 'mcp-name': 'change' })(
        withMessage((message) => ({
          ...message,
          params: { ...(message['params'] as object), name: 'change', arguments: {} },
        }))(request),
      ),
    status: 403,
    code: -32003,
  },
];

/** Pairs that no request can have: the one takes away what the other is about. */
const IMPOSSIBLE = new Set([
  // Without a version in `_meta` it is the header that says which era this is.
  'no version in _meta, version in the header',
  'version in the header, unsupported version',
  // Only a method that has a target has a header for it.
  'Mcp-Name, unknown method',
]);

function canMeet(rung: Rung, later: Rung): boolean {
  return later.options === undefined && !IMPOSSIBLE.has(`${rung.name}, ${later.name}`);
}

describe('the ladder of a modern request', () => {
  const stack = new AsyncDisposableStack();
  const servers = new Map<ServerOptions | undefined, McpServer>();
  before(async () => {
    for (const { options } of [{ options: undefined }, ...RUNGS]) {
      if (!servers.has(options)) servers.set(options, stack.use(await mcpServer(options)));
    }
  });
  after(() => stack.disposeAsync());

  async function check(rung: Rung, request: Sent): Promise<void> {
    const server = servers.get(rung.options);
    assert.ok(server);
    const answer = await server.send(request);
    assert.equal(answer.status, rung.status);
    assert.equal(answer.json.error?.code, rung.code);
    if (rung.code === undefined) assert.equal(answer.text, '');
    for (const [name, value] of Object.entries(rung.headers ?? {})) {
      assert.equal(answer.headers[name], value);
    }
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]{16}$/);
    assert.equal(answer.headers['cache-control'], 'no-store');
  }

  for (const rung of RUNGS) {
    it(`${rung.status} ${rung.code ?? 'without a body'}: ${rung.name}`, () =>
      check(rung, rung.spoil(echoCall())));
  }

  for (const [index, rung] of RUNGS.entries()) {
    for (const later of RUNGS.slice(index + 1)) {
      if (!canMeet(rung, later)) continue;
      it(`${rung.name} before ${later.name}`, () =>
        check(rung, rung.spoil(later.spoil(echoCall()))));
    }
  }

  it('lets a good request pass', async () => {
    const answer = await servers.get(undefined)?.send(echoCall());
    assert.equal(answer?.status, 200);
    assert.deepEqual(answer?.json.result?.['content'], [{ type: 'text', text: 'hi' }]);
  });
});

describe('when the store does not answer', () => {
  const failing: ServerOptions = {
    authenticator: {
      looksGenuine: async () => true,
      authenticate: () =>
        Promise.reject(new AppError('store_unavailable', 'connect 10.0.0.9:5432')),
    },
  };

  it('every request fails closed with 503, and says nothing of why', async () => {
    await using server = await mcpServer(failing);
    const { status, headers, json } = await server.send(echoCall());
    assert.equal(status, 503);
    assert.equal(headers['retry-after'], '5');
    assert.deepEqual(json.error, {
      code: -32000,
      message: 'Service unavailable, try again shortly',
    });
    const [event] = server.events;
    assert.ok(event?.type === 'server.error');
    assert.equal(event.where, `mcp ${String(headers['x-request-id'])}`);
  });

  it('discovery, which asks nothing of it, goes on', async () => {
    await using server = await mcpServer(failing);
    assert.equal((await server.send(modern('server/discover'))).status, 200);
  });

  it('an unexpected error is an internal one, and its text is for the log', async () => {
    await using server = await mcpServer({
      authenticator: {
        looksGenuine: async () => true,
        authenticate: () => Promise.reject(new Error('secret detail')),
      },
    });
    const { status, json } = await server.send(echoCall());
    assert.equal(status, 500);
    assert.deepEqual(json, {
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: 'Internal error' },
    });
    assert.ok(
      server.events[0]?.type === 'server.error' && server.events[0].message === 'secret detail',
    );
  });
});

describe('plain HTTP from elsewhere', () => {
  it('is served when the configuration allows it', async () => {
    await using server = await mcpServer({ caller: PLAIN, rules: { allowInsecureHttp: true } });
    assert.equal((await server.send(echoCall())).status, 200);
  });

  it('is not even told which methods there are', async () => {
    await using server = await mcpServer({ caller: PLAIN });
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'HEAD', 'PUT']) {
      const { status, text, headers } = await server.send({ method });
      assert.deepEqual([status, text, headers.allow], [404, '', undefined], method);
    }
  });
});

describe('methods of HTTP', () => {
  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'QUERY']) {
    it(`405: ${method}`, async () => {
      await using server = await mcpServer();
      const { status, text, headers } = await server.send({ method });
      assert.deepEqual([status, text, headers.allow], [405, '', 'POST']);
    });
  }
});

it('the reason why a credential is refused is for the log, with the address and the request id', async () => {
  await using server = await mcpServer({ authenticator: authenticatorFor(ANNA) });
  const { headers, text } = await server.send(
    echoCall({ headers: { authorization: 'Bearer old' } }),
  );
  assert.ok(!text.includes('expired'));
  assert.deepEqual(server.events, [
    {
      type: 'request.denied',
      reason: 'expired',
      address: '127.0.0.1',
      requestId: headers['x-request-id'],
    },
  ]);
});

it('an unsupported version is told what is supported', async () => {
  await using server = await mcpServer();
  const request = echoCall({
    meta: { [PROTOCOL]: '2027-01-01' },
    headers: { 'mcp-protocol-version': '2027-01-01' },
  });
  const { json } = await server.send(request);
  assert.deepEqual(json.error?.data, { supported: [VERSION], requested: '2027-01-01' });
});
