import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { content, tool, toolError, type Tool } from '#src/tools/define.ts';
import { compileAccess } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';
import { echoCall, mcpServer, modern, type Answer, type McpServer, type Sent } from './server.ts';

const OPEN = compileAccess(rolesSchema.parse({ restrictedByDefault: false }));
const ENVELOPE = {
  resultType: 'complete',
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'Test house', version: '1.2.3' } },
};

/** Calls a tool that does what the test says. */
async function callOf(
  run: Tool['run'],
  definition: object = {},
): Promise<Answer & { server: McpServer }> {
  const one = tool({ name: 'it', input: z.object({}), run, ...definition });
  await using server = await mcpServer({ tools: [one], access: OPEN });
  const answer = await server.send(modern('tools/call', { name: 'it', arguments: {} }));
  return { ...answer, server };
}

describe('the result of a call', () => {
  it('is the text that the tool returned', async () => {
    const { status, headers, json } = await callOf(() => 'done');
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'application/json');
    assert.deepEqual(json, {
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: 'done' }], ...ENVELOPE },
    });
  });

  it('has an object both as structure and as the same JSON in text', async () => {
    const output = z.object({ total: z.number() });
    const { json } = await callOf(() => ({ total: 3, more: 4 }), { output });
    assert.deepEqual(json.result, {
      content: [{ type: 'text', text: '{"total":3}' }],
      structuredContent: { total: 3 },
      ...ENVELOPE,
    });
  });

  it('has pictures and the rest of content as they are', async () => {
    const picture = { type: 'image', data: 'AAAA', mimeType: 'image/png' } as const;
    const { json } = await callOf(() => content(picture));
    assert.deepEqual(json.result, { content: [picture], ...ENVELOPE });
  });

  it('is never `task` or anything else uninvited', async () => {
    const { json } = await callOf(() => ({ resultType: 'task', _meta: { a: 1 } }));
    assert.equal(json.result?.['resultType'], 'complete');
    assert.deepEqual(json.result?.['_meta'], ENVELOPE._meta);
  });

  it('is an error to read when the tool refuses', async () => {
    const { status, json } = await callOf(() => {
      throw toolError('No book has the id 5');
    });
    assert.equal(status, 200);
    assert.deepEqual(json.result, {
      content: [{ type: 'text', text: 'No book has the id 5' }],
      isError: true,
      ...ENVELOPE,
    });
  });

  it('hides what went wrong inside, and names the request that the log names', async () => {
    const { headers, json, server } = await callOf(() => {
      throw new Error('password=hunter2');
    });
    const id = String(headers['x-request-id']);
    assert.deepEqual(json.result, {
      content: [{ type: 'text', text: `Internal error (request ${id})` }],
      isError: true,
      ...ENVELOPE,
    });
    const [event] = server.events;
    assert.ok(event?.type === 'tool.called');
    assert.deepEqual(
      [event.outcome, event.reason, event.requestId],
      ['failed', 'password=hunter2', id],
    );
  });

  it('that has no JSON is an internal error', async () => {
    const { status, json } = await callOf(() =>
      content({ type: 'text', text: 1n as unknown as string }),
    );
    assert.equal(status, 500);
    assert.equal(json.error?.code, -32603);
    assert.equal(json.id, 1);
  });
});

describe('arguments', () => {
  it('that are wrong are a result to read, not an error of the protocol', async () => {
    await using server = await mcpServer();
    const wrong: [args: unknown, text: string][] = [
      [{ text: 5 }, 'Invalid parameters: text: Invalid input: expected string, received number'],
      [{ txt: 'a' }, 'Invalid parameters: txt: unknown parameter'],
      [[], 'Invalid parameters: arguments: Invalid input: expected object, received array'],
    ];
    for (const [args, text] of wrong) {
      const { status, json } = await server.send(
        modern('tools/call', { name: 'echo', arguments: args }),
      );
      assert.equal(status, 200);
      assert.deepEqual(json.result, {
        content: [{ type: 'text', text }],
        isError: true,
        ...ENVELOPE,
      });
    }
  });

  it('may be left out', async () => {
    await using server = await mcpServer();
    const { json } = await server.send(modern('tools/call', { name: 'echo' }));
    assert.deepEqual(json.result?.['content'], [{ type: 'text', text: 'nothing' }]);
  });
});

describe('a tool beyond the roles of the caller', () => {
  it('is like one that does not exist, to the byte', async () => {
    await using server = await mcpServer();
    const call = async (name: string): Promise<Answer> =>
      server.send(modern('tools/call', { name }));
    const [hidden, missing] = [await call('wipe'), await call('wope')];
    assert.equal(hidden.status, 200);
    assert.deepEqual(hidden.json.error, { code: -32602, message: 'Unknown tool: wipe' });
    assert.equal(missing.text, hidden.text.replace('wipe', 'wope'));
    const names = ({ headers }: Answer): string[] => Object.keys(headers).toSorted();
    assert.deepEqual(names(missing), names(hidden));
    // The log knows better.
    const reasons = server.events.map((one) => one.type === 'tool.called' && one.reason);
    assert.deepEqual(reasons, ["beyond the person's roles", 'no such tool']);
  });

  it('is named at the length of a name', async () => {
    await using server = await mcpServer();
    const name = 'x'.repeat(2_000);
    const { json } = await server.send(modern('tools/call', { name }));
    assert.equal(json.error?.message, `Unknown tool: ${'x'.repeat(128)}`);
  });
});

describe('every answer', () => {
  it('has a request id of its own, may be kept by nobody, and is JSON', async () => {
    await using server = await mcpServer();
    const requests: Sent[] = [
      echoCall(),
      echoCall(),
      modern('tools/list'),
      modern('server/discover'),
      modern('no/such'),
      modern('tools/call', { name: 'nowhere' }),
      echoCall({ headers: { authorization: undefined } }),
      { ...echoCall(), body: '{' },
    ];
    const ids = new Set<unknown>();
    for (const request of requests) {
      const { headers, json, text } = await server.send(request);
      ids.add(headers['x-request-id']);
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['content-type'], 'application/json');
      assert.equal(headers['content-length'], String(Buffer.byteLength(text)));
      assert.equal(headers['transfer-encoding'], undefined);
      assert.ok('result' in json !== 'error' in json);
    }
    assert.equal(ids.size, requests.length);
  });
});
