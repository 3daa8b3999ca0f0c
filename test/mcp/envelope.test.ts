import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeHeaderValue, eraOf, type Era } from '#src/mcp/envelope.ts';
import { sendRaw } from '../http/listening.ts';
import { echoCall, mcpServer, modern, VERSION, type Sent, type Wishes } from './server.ts';

const PROTOCOL = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** The status and code with which a call is answered. */
async function outcomes(cases: [name: string, request: Sent, outcome: string][]): Promise<void> {
  await using server = await mcpServer();
  for (const [name, request, outcome] of cases) {
    const { status, json } = await server.send(request);
    assert.equal([status, json.error?.code].filter(Boolean).join(' '), outcome, name);
  }
}

describe('the era of a request', () => {
  const meta = { [PROTOCOL]: VERSION };
  const cases: [method: string, params: object, headers: Record<string, string>, era: Era][] = [
    ['tools/call', { _meta: meta }, {}, 'modern'],
    ['tools/call', { _meta: { [PROTOCOL]: 5 } }, {}, 'modern'],
    ['tools/call', { _meta: meta }, { 'mcp-protocol-version': '2025-11-25' }, 'modern'],
    ['tools/call', {}, { 'mcp-protocol-version': VERSION }, 'modern'],
    ['tools/call', {}, { 'mcp-protocol-version': ` ${VERSION} ` }, 'modern'],
    ['tools/call', {}, { 'mcp-protocol-version': '2027-03-01' }, 'modern'],
    ['tools/call', {}, { 'mcp-protocol-version': '2026-07-27' }, 'unknown'],
    ['tools/call', {}, { 'mcp-protocol-version': '2025-11-25' }, 'unknown'],
    ['tools/call', {}, { 'mcp-protocol-version': 'draft' }, 'unknown'],
    ['tools/call', {}, { 'mcp-protocol-version': '' }, 'unknown'],
    ['tools/call', {}, {}, 'bare'],
    ['tools/call', { _meta: { progressToken: 1 } }, {}, 'bare'],
    ['tools/call', { _meta: 'text' }, {}, 'bare'],
    ['ping', {}, {}, 'bare'],
    ['initialize', {}, {}, 'session'],
    ['initialize', { _meta: {} }, {}, 'session'],
    // The header is never a reason to refuse `initialize`.
    ['initialize', {}, { 'mcp-protocol-version': VERSION }, 'session'],
    ['initialize', {}, { 'mcp-protocol-version': 'draft' }, 'session'],
    ['initialize', { _meta: meta }, {}, 'modern'],
    ['tools/call', {}, { 'mcp-session-id': 'x' }, 'session'],
    ['tools/call', {}, { 'mcp-session-id': '' }, 'session'],
    ['tools/call', { _meta: meta }, { 'mcp-session-id': 'x' }, 'session'],
  ];
  for (const [method, params, headers, era] of cases) {
    it(`is ${era}: ${method} ${JSON.stringify(params)} ${JSON.stringify(headers)}`, () => {
      assert.equal(eraOf({ id: 1, method, params: { ...params } }, headers), era);
    });
  }
});

describe('a request of no era', () => {
  it('is told both ways', async () => {
    await using server = await mcpServer();
    const bare = modern(
      'tools/list',
      {},
      {
        message: { params: {} },
        headers: { 'mcp-protocol-version': undefined },
      },
    );
    const { status, json } = await server.send(bare);
    assert.equal(status, 400);
    assert.equal(json.error?.code, -32020);
    assert.match(json.error.message, /MCP-Protocol-Version: 2026-07-28/);
    assert.match(json.error.message, /initialize/);
  });
});

describe('_meta', () => {
  it('names a version and the capabilities of the client', () =>
    outcomes([
      ['as it is', echoCall(), '200'],
      [
        'no client info',
        echoCall({ meta: { 'io.modelcontextprotocol/clientInfo': undefined } }),
        '200',
      ],
      ['more', echoCall({ meta: { 'com.example/trace': { a: 1 } } }), '200'],
      ['no version', echoCall({ meta: { [PROTOCOL]: undefined } }), '400 -32602'],
      ['a version that is a number', echoCall({ meta: { [PROTOCOL]: 20_260_728 } }), '400 -32602'],
      ['a version that is null', echoCall({ meta: { [PROTOCOL]: null } }), '400 -32602'],
      ['no capabilities', echoCall({ meta: { [CAPABILITIES]: undefined } }), '400 -32602'],
      ['capabilities that are null', echoCall({ meta: { [CAPABILITIES]: null } }), '400 -32602'],
      ['capabilities in a list', echoCall({ meta: { [CAPABILITIES]: [] } }), '400 -32602'],
      ['no _meta', echoCall({ message: { params: { name: 'echo' } } }), '400 -32602'],
      [
        '_meta that is a list',
        echoCall({ message: { params: { name: 'echo', _meta: [] } } }),
        '400 -32602',
      ],
      ['no params', echoCall({ message: { params: undefined } }), '400 -32602'],
    ]));
});

describe('headers that repeat the body', () => {
  const named = (name: string, header: string | undefined): Sent =>
    modern('tools/call', { name }, { headers: { 'mcp-name': header } });
  const version = (header: string | undefined): Sent =>
    echoCall({ headers: { 'mcp-protocol-version': header } });
  const method = (header: string | undefined): Sent =>
    echoCall({ headers: { 'mcp-method': header } });

  it('say the same, white space aside', () =>
    outcomes([
      ['the version in spaces', version(`  ${VERSION}\t`), '200'],
      ['no version', version(undefined), '400 -32020'],
      ['an empty version', version(''), '400 -32020'],
      ['an older version', version('2025-11-25'), '400 -32020'],
      ['a later version', version('2027-01-01'), '400 -32020'],
      ['the method in spaces', method(' tools/call '), '200'],
      ['no method', method(undefined), '400 -32020'],
      ['another method', method('tools/list'), '400 -32020'],
      ['the method in capitals', method('TOOLS/CALL'), '400 -32020'],
      ['the name in spaces', named('echo', ' echo '), '200'],
      ['no name', named('echo', undefined), '400 -32020'],
      ['an empty name', named('echo', ''), '400 -32020'],
      ['another name', named('echo', 'wipe'), '400 -32020'],
      ['the name in capitals', named('echo', 'ECHO'), '400 -32020'],
      ['a name without need', modern('tools/list', {}, { headers: { 'mcp-name': 'x' } }), '200'],
      ['no name on either side', modern('tools/call'), '400 -32020'],
      [
        'a name in the header only',
        modern('tools/call', {}, { headers: { 'mcp-name': 'echo' } }),
        '400 -32020',
      ],
      [
        'broken base64 and no name',
        modern('tools/call', {}, { headers: { 'mcp-name': '=?base64?!?=' } }),
        '400 -32020',
      ],
      [
        'a name that is a number',
        modern('tools/call', { name: 5 }, { headers: { 'mcp-name': '5' } }),
        '400 -32020',
      ],
      [
        'a resource by its URI',
        modern('resources/read', { uri: 'a:b' }, { headers: { 'mcp-name': 'a:b' } }),
        '404 -32601',
      ],
      [
        'another resource',
        modern('resources/read', { uri: 'a:b' }, { headers: { 'mcp-name': 'a:c' } }),
        '400 -32020',
      ],
      ['a prompt by its name', modern('prompts/get', { name: 'p' }), '404 -32601'],
      [
        'another prompt',
        modern('prompts/get', { name: 'p' }, { headers: { 'mcp-name': 'q' } }),
        '400 -32020',
      ],
    ]));

  it('are decoded from base64 before they are compared', () =>
    outcomes([
      ['a name', named('echo', base64('echo')), '200'],
      ['another name', named('echo', base64('wipe')), '400 -32020'],
      // No such tool: -32602, but the header was right.
      ['a name beyond ASCII', named('écho', base64('écho')), '200 -32602'],
      ['a name of blanks', named(' echo ', base64(' echo ')), '200 -32602'],
      ['a name with a line end', named('a\nb', base64('a\nb')), '200 -32602'],
      ['blanks that the body has not', named('echo', base64(' echo ')), '400 -32020'],
      ['encoded twice', named('echo', base64(base64('echo'))), '400 -32020'],
      ['a long name', named('x'.repeat(2_000), base64('x'.repeat(2_000))), '200 -32602'],
      ['a name that looks encoded, as it is', named(base64('echo'), base64('echo')), '400 -32020'],
      [
        'a name that looks encoded, encoded',
        named(base64('echo'), base64(base64('echo'))),
        '200 -32602',
      ],
    ]));

  const values: [value: string, decoded: string | undefined][] = [
    ['echo', 'echo'],
    ['', ''],
    [base64('Hello'), 'Hello'],
    [base64(''), ''],
    [base64('日本語 🙂'), '日本語 🙂'],
    ['=?base64?SGVsbG8?=', undefined],
    ['=?base64?SGVs!!!bG8=?=', undefined],
    ['=?base64?SGVsbG8=', '=?base64?SGVsbG8='],
    ['SGVsbG8=', 'SGVsbG8='],
    ['=?BASE64?SGVsbG8=?=', '=?BASE64?SGVsbG8=?='],
    ['=?base64?====?=', undefined],
    ['=?base64?SGVs_-8=?=', undefined],
    ['=?base64?/w==?=', undefined],
  ];
  for (const [value, decoded] of values) {
    it(`read ${JSON.stringify(value)} as ${JSON.stringify(decoded)}`, () => {
      assert.equal(decodeHeaderValue(value), decoded);
    });
  }

  it('are refused when they are there twice', async () => {
    await using server = await mcpServer();
    for (const twice of ['mcp-name', 'mcp-method', 'mcp-protocol-version']) {
      const { headers = {}, body = '' } = echoCall();
      const lines = Object.entries(headers).flatMap(([name, value]) => {
        const line = `${name}: ${String(value)}\r\n`;
        return name === twice ? [line, line] : [line];
      });
      const answer = await sendRaw(
        server.port,
        `POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${String(body)}`,
      );
      assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*-32020/, twice);
    }
  });
});

describe('methods', () => {
  const unknown = [
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/list',
    'prompts/list',
    'completion/complete',
    'tools/List',
    'tools',
    '',
    'constructor',
    '__proto__',
  ];
  it('that the era does not have are not found, also for nobody', async () => {
    await using server = await mcpServer();
    for (const method of unknown) {
      const { status, json } = await server.send(
        modern(method, {}, { headers: { authorization: undefined } }),
      );
      assert.deepEqual([status, json.error?.code], [404, -32601], method);
      assert.equal(json.error?.message, `Method not found: ${method}`);
    }
  });

  it('are told apart by their spelling alone', () => {
    const wishes: Wishes = { headers: { 'mcp-method': 'tools/list' } };
    return outcomes([
      ['another spelling in the body', modern('tools/LIST', {}, wishes), '400 -32020'],
    ]);
  });
});
