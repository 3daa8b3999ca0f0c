import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mcpServer, modern, VERSION, type Sent, type Wishes } from './server.ts';

/** A request as a person types it: no `_meta`, and none of the headers that repeat the body. */
function bare(method: string, params: object = {}, { headers, ...wishes }: Wishes = {}): Sent {
  return modern(method, params, {
    ...wishes,
    headers: {
      'mcp-protocol-version': undefined,
      'mcp-method': undefined,
      'mcp-name': undefined,
      ...headers,
    },
    message: { params, ...wishes.message },
  });
}
const call = (headers: Sent['headers'] = {}): Sent =>
  bare('tools/call', { name: 'echo' }, { headers });

describe('bare requests, where they are accepted', () => {
  const cases: [name: string, request: Sent, outcome: string][] = [
    ['a call', call(), '200'],
    ['a list', bare('tools/list'), '200'],
    ['no params at all', bare('tools/list', {}, { message: { params: undefined } }), '200'],
    ['discovery', bare('server/discover', {}, { headers: { authorization: undefined } }), '200'],
    ['a ping', bare('ping'), '200'],
    ['a ping with all that a request has', modern('ping'), '200'],
    ['a _meta without a version', bare('tools/list', { _meta: { progressToken: 1 } }), '200'],
    ['the version in the header', call({ 'mcp-protocol-version': VERSION }), '200'],
    ['headers that fit', call({ 'mcp-method': 'tools/call', 'mcp-name': 'echo' }), '200'],
    ['a name in base64 that fits', call({ 'mcp-name': '=?base64?ZWNobw==?=' }), '200'],
    ['a method that does not fit', call({ 'mcp-method': 'tools/list' }), '400 -32020'],
    ['a name that does not fit', call({ 'mcp-name': 'wipe' }), '400 -32020'],
    ['a later version', call({ 'mcp-protocol-version': '2027-01-01' }), '400 -32022'],
    ['an older version', call({ 'mcp-protocol-version': '2025-11-25' }), '400 -32020'],
    ['an unknown method', bare('resources/list'), '404 -32601'],
    ['a call without a name', bare('tools/call'), '200 -32602'],
    ['a name that is a number', bare('tools/call', { name: 5 }), '200 -32602'],
    ['no credential', call({ authorization: undefined }), '401 -32001'],
    [
      'a ping without a credential',
      bare('ping', {}, { headers: { authorization: undefined } }),
      '401 -32001',
    ],
    ['a whole request', modern('tools/list'), '200'],
    [
      'a version without its header',
      modern('tools/list', {}, { headers: { 'mcp-protocol-version': undefined } }),
      '400 -32020',
    ],
  ];
  it('are served, and what they say in headers counts', async () => {
    await using server = await mcpServer({ acceptBareRequests: true });
    for (const [name, request, outcome] of cases) {
      const { status, json } = await server.send(request);
      assert.equal([status, json.error?.code].filter(Boolean).join(' '), outcome, name);
    }
  });

  it('are answered like any other', async () => {
    await using server = await mcpServer({ acceptBareRequests: true });
    const { json } = await server.send(bare('ping'));
    assert.deepEqual(json, {
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'complete',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'Test house', version: '1.2.3' } },
      },
    });
  });
});

describe('bare requests, where they are not', () => {
  it('are refused, whatever they ask', async () => {
    await using server = await mcpServer();
    for (const request of [call(), bare('tools/list'), bare('server/discover'), bare('ping')]) {
      const { status, json } = await server.send(request);
      assert.deepEqual([status, json.error?.code], [400, -32020]);
    }
    const modernHeader = await server.send(call({ 'mcp-protocol-version': VERSION }));
    assert.deepEqual([modernHeader.status, modernHeader.json.error?.code], [400, -32602]);
  });
});
