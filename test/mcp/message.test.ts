import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dial, sendRaw } from '../http/listening.ts';
import { echoCall, mcpServer, modern, type Sent } from './server.ts';

/** A request whose headers fit `tools/call` of `echo`, with this text as its body. */
const raw = (body: string | Buffer): Sent => ({ ...echoCall(), body });
const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`;
/** A call of `echo` as text, so that a test can write keys twice. */
const echoText = (params: string, rest = ''): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",${params}${META}}${rest}}`;

describe('a body that is no message', () => {
  const cases: [name: string, body: string | Buffer, code: number][] = [
    ['nothing', '', -32700],
    ['white space', ' \r\n', -32700],
    ['a cut object', '{"jsonrpc":"2.0"', -32700],
    ['two objects', '{}{}', -32700],
    ['JavaScript', "{jsonrpc:'2.0'}", -32700],
    ['NaN', '{"jsonrpc":"2.0","id":NaN}', -32700],
    ['a comment', '{}// x', -32700],
    ['Latin-1', Buffer.from('{"method":"é"}', 'latin1'), -32700],
    ['UTF-16', Buffer.from('{}', 'utf16le'), -32700],
    ['open brackets', '['.repeat(9_000), -32700],
    ['null', 'null', -32600],
    ['a number', '1', -32600],
    ['a text', '"tools/list"', -32600],
    ['an empty batch', '[]', -32600],
    ['a batch of one', `[${echoText('')}]`, -32600],
    ['brackets in brackets', '['.repeat(4_500) + ']'.repeat(4_500), -32600],
    ['an empty object', '{}', -32600],
    ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}', -32600],
    ['an error response', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', -32600],
    ['no version of JSON-RPC', '{"id":1,"method":"tools/list"}', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600],
    ['a version that is a number', '{"jsonrpc":2.0,"id":1,"method":"tools/list"}', -32600],
    ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":1}', -32600],
    ['a long method', `{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(129)}"}`, -32600],
    ['params in a list', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32600],
    [
      'params that are null',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}',
      -32600,
    ],
    ['the id null', '{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600],
    ['the id true', '{"jsonrpc":"2.0","id":true,"method":"tools/list"}', -32600],
    ['an id with a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600],
    ['an id beyond integers', '{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}', -32600],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"tools/list"}', -32600],
    ['a long id', `{"jsonrpc":"2.0","id":"${'x'.repeat(257)}","method":"x"}`, -32600],
    [
      'a message that is inherited',
      '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}',
      -32600,
    ],
    ['keys in another case', '{"JSONRPC":"2.0","ID":1,"Method":"tools/list"}', -32600],
  ];
  it('is told so, without an id', async () => {
    await using server = await mcpServer();
    for (const [name, body, code] of cases) {
      const { status, json, headers } = await server.send(raw(body));
      assert.equal(status, 400, name);
      assert.equal(json.error?.code, code, name);
      assert.equal('id' in json, false, `${name}: an unknown id is left out, never null`);
      assert.equal(headers['content-type'], 'application/json');
    }
  });
});

describe('a notification', () => {
  it('is accepted without a word, whatever it says and whoever sends it', async () => {
    await using server = await mcpServer();
    const bodies = [
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wipe"}}',
      '{"jsonrpc":"2.0","method":"no/such"}',
    ];
    for (const body of bodies) {
      const headers = { 'content-type': 'application/json' };
      const answer = await server.send({ headers, body });
      assert.deepEqual([answer.status, answer.text], [202, ''], body);
      assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]{16}$/);
    }
    assert.deepEqual(server.events, []);
  });
});

describe('the id of a request', () => {
  it('comes back as it was', async () => {
    await using server = await mcpServer();
    for (const id of [0, 1, -5, Number.MAX_SAFE_INTEGER, '', '1', 'ünï"code\\', 'x'.repeat(256)]) {
      assert.equal((await server.send(echoCall({ id }))).json.id, id);
      const refused = await server.send(modern('no/such', {}, { id }));
      assert.equal(refused.json.id, id, 'in an error too');
    }
  });
});

describe('hostile keys', () => {
  it('that say something twice count once, in the last place, as in every JSON reader here', async () => {
    await using server = await mcpServer();
    const first = await server.send(raw(echoText('"arguments":{"text":"a","text":"b"},')));
    assert.deepEqual(first.json.result?.['content'], [{ type: 'text', text: 'b' }]);
    // The header says `echo`; a reader that took the first name would see another tool.
    const second = await server.send(raw(echoText('"name":"wipe",')));
    assert.equal(second.json.error?.code, -32020);
  });

  it('in another case are other keys', async () => {
    await using server = await mcpServer();
    const name = await server.send(raw(echoText('"Name":"wipe","NAME":"wipe",')));
    assert.deepEqual(name.json.result?.['content'], [{ type: 'text', text: 'nothing' }]);
    const method = await server.send(raw(echoText('', ',"Method":"no/such","METHOD":"x"')));
    assert.equal(method.status, 200);
    const args = await server.send(raw(echoText('"arguments":{"Text":"a"},')));
    assert.deepEqual(args.json.result?.['content'], [
      { type: 'text', text: 'Invalid parameters: Text: unknown parameter' },
    ]);
  });

  it('reach no prototype', async () => {
    await using server = await mcpServer();
    const proto = '"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}';
    const inParams = await server.send(raw(echoText(`${proto},`, `,${proto}`)));
    assert.equal(inParams.status, 200);
    const inArguments = await server.send(raw(echoText(`"arguments":{${proto}},`)));
    assert.match(JSON.stringify(inArguments.json.result), /__proto__: unknown parameter/);
    const inheritedMeta = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"__proto__":{${META.slice(9, -1)}}}}}`;
    assert.equal((await server.send(raw(inheritedMeta))).json.error?.code, -32602);
    assert.equal(Reflect.get({}, 'isAdmin'), undefined);
  });

  it('are nested as deep as honest ones are, and no deeper, wherever they stand', async () => {
    await using server = await mcpServer({ maxBodyBytes: 4_194_304 });
    const nested = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
    // The message itself is one level.
    const most = await server.send(raw(echoText('', `,"more":${nested(199)}`)));
    assert.equal(most.status, 200);
    const brackets = `"arguments":{"text":"${'[{'.repeat(500)}\\"${'['.repeat(500)}"},`;
    assert.equal((await server.send(raw(echoText(brackets)))).status, 200, 'text is text');
    for (const depth of [200, 5_000, 600_000]) {
      const inMessage = await server.send(raw(echoText('', `,"more":${nested(depth)}`)));
      assert.deepEqual([inMessage.status, inMessage.json.error?.code], [400, -32600], `${depth}`);
      const inArguments = await server.send(
        raw(echoText(`"arguments":{"text":${nested(depth)}},`)),
      );
      assert.deepEqual([inArguments.status, inArguments.json.error?.code], [400, -32600]);
    }
    assert.deepEqual(
      server.events.filter(({ type }) => type === 'server.error'),
      [],
    );
  });
});

describe('the size of a body', () => {
  it('may be the limit to the byte', async () => {
    await using server = await mcpServer({ maxBodyBytes: 1_000 });
    const body = String(echoCall().body);
    assert.equal((await server.send(raw(body.padEnd(1_000)))).status, 200);
    assert.equal((await server.send(raw(body.padEnd(1_001)))).status, 413);
  });

  it('beyond it is told to the sender, whose connection serves the next request', async () => {
    await using server = await mcpServer({ maxBodyBytes: 1_000 });
    const { headers = {}, body = '' } = echoCall();
    const socket = await dial(server.port);
    const chunks: string[] = [];
    const { promise: ended, resolve } = Promise.withResolvers<undefined>();
    socket.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    socket.once('close', () => resolve(undefined));
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    const start = `POST /mcp HTTP/1.1\r\nhost: localhost\r\n${head.join('')}`;
    socket.write(`${start}content-length: 5000000\r\n\r\n${'x'.repeat(5_000_000)}`);
    socket.write(
      `${start}transfer-encoding: chunked\r\n\r\n4c4b40\r\n${'x'.repeat(5_000_000)}\r\n0\r\n\r\n`,
    );
    socket.write(
      `${start}content-length: ${body.length}\r\nconnection: close\r\n\r\n${String(body)}`,
    );
    await ended;
    const statuses = chunks.join('').match(/HTTP\/1\.1 \d{3}/g);
    assert.deepEqual(statuses, ['HTTP/1.1 413', 'HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  it('of 20 MB is refused, and the answer arrives', async () => {
    await using server = await mcpServer();
    const response = await fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: 'x'.repeat(20_000_000),
    });
    assert.equal(response.status, 413);
  });

  it('that was announced and not sent is no fault of the server', async () => {
    await using server = await mcpServer();
    const start = 'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
    const socket = await dial(server.port);
    socket.end(`${start}content-length: 100\r\n\r\n{"jsonrpc"`);
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    assert.deepEqual(server.events, []);
  });
});

describe('the type of a body', () => {
  it('is JSON, in any spelling', async () => {
    await using server = await mcpServer();
    const types: [type: string | undefined, status: number][] = [
      ['application/json', 200],
      ['Application/JSON', 200],
      ['application/json; charset=utf-8', 200],
      ['application/json;x', 200],
      ['text/plain', 415],
      ['application/x-www-form-urlencoded', 415],
      ['application/json+x', 415],
      ['application/jsonx', 415],
      ['text/json', 415],
      ['', 415],
      [undefined, 415],
    ];
    for (const [type, status] of types) {
      const answer = await server.send(echoCall({ headers: { 'content-type': type } }));
      assert.equal(answer.status, status, type);
    }
  });
});

it('a request that is no HTTP at all is refused', async () => {
  await using server = await mcpServer();
  assert.match(await sendRaw(server.port, 'hello\r\n\r\n'), /^HTTP\/1\.1 400 /);
});
