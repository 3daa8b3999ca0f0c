import fc from 'fast-check';

/*
 * Requests that no honest client sends, as bytes. JSON is made as text, not as values: a value has no
 * key twice, no `__proto__` of its own and no half of a surrogate pair.
 */

export type Credential = 'none' | 'bad' | 'good';

/** What only the running server can tell, filled in before a request goes out. */
export interface Place {
  credential: Credential;
  /** Of a session that stands, one for each revision. */
  sessions: readonly string[];
  /** A session that may be ended. */
  spare: string;
  /** Of a question that is open. */
  requestState: string;
  token: string;
}

export interface Malformed {
  /** Whether all that the head announces is sent, so that an answer is due. */
  isWhole: boolean;
  bytes(place: Place): Buffer;
}

/** JSON text, or an object with its fields in order. */
type Node = string | Field[];
type Field = [name: string, node: Node];

const VERSION = '2026-07-28';
const METHODS = [
  'tools/call',
  'tools/list',
  'server/discover',
  'initialize',
  'ping',
  'notifications/cancelled',
  'notifications/initialized',
  'resources/list',
  'logging/setLevel',
  'subscriptions/listen',
];
const TOOLS = ['note', 'steps', 'wipe', 'none', '__proto__', 'constructor'];
/** Stands for what the place tells. */
const STATE = '@state@';

/** One of many, listed in rows. */
const anyOf = (...rows: readonly string[][]): fc.Arbitrary<string> =>
  fc.constantFrom(...rows.flat());
const json = (value: unknown): string => JSON.stringify(value);
const nested = (open: string, close: string) => (depth: number) =>
  `${open.repeat(depth)}1${close.repeat(depth)}`;

const latin1 = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Text that stands where it should not. */
const junk: fc.Arbitrary<Node> = fc.oneof(
  anyOf(
    ['null', 'true', '0', '-0', '1.5', '1e400', '-1e400', '9007199254740993', '[]', '{}', '""'],
    ['"\\ud800"', '"\\udc00x"', '"\\u0000"', '"\\ud83d\\ude00"', '"__proto__"', '[null]'],
    ['{"__proto__":{"isAdmin":true}}', '{"toString":1,"valueOf":1}', '{"then":{}}', 'undefined'],
    ['{"length":1e9}', `"${'x'.repeat(5_000)}"`, '9'.repeat(400)],
  ),
  fc.integer({ min: 1, max: 9_000 }).map(nested('[', ']')),
  fc.integer({ min: 1, max: 9_000 }).map(nested('{"a":', '}')),
  fc.json({ maxDepth: 3 }),
);

const name = fc.oneof(fc.constantFrom(...TOOLS), fc.string({ maxLength: 80 }));

const metaOf = (capabilities: Node): Field => [
  '_meta',
  [
    ['io.modelcontextprotocol/protocolVersion', json(VERSION)],
    ['io.modelcontextprotocol/clientCapabilities', capabilities],
    ['progressToken', '"p"'],
  ],
];

const capabilities = fc.constantFrom<Node>('{}', [['elicitation', '{}']]);
const ids = fc.constantFrom('1', '"a"', '-1', '0');

function request(id: string, method: string, params: Node): Field[] {
  return [
    ['jsonrpc', '"2.0"'],
    ['id', id],
    ['method', json(method)],
    ['params', params],
  ];
}

const answers = fc.constantFrom<Node>(
  [
    [
      'question_1',
      [
        ['action', '"accept"'],
        ['content', [['confirm', 'true']]],
      ],
    ],
  ],
  [['question_1', [['action', '"decline"']]]],
  [['question_1', [['action', '"accept"']]]],
  '{}',
);

/** A message as an honest client could send it, with the method and the tool that it is about. */
const message = fc
  .record({ id: ids, method: fc.constantFrom(...METHODS), tool: name, capabilities, answers })
  .map(({ id, method, tool, capabilities: able, answers: given }) => {
    const call: Field[] = [
      ['name', json(tool)],
      ['arguments', [['text', '"hi"']]],
    ];
    const resumed: Field[] = [
      ['requestState', json(STATE)],
      ['inputResponses', given],
    ];
    const params: Field[] =
      method === 'tools/call' ? (tool === 'wipe' ? [['name', json(tool)], ...resumed] : call) : [];
    if (method === 'initialize')
      params.push(['protocolVersion', '"2025-11-25"'], ['capabilities', able]);
    if (method === 'notifications/cancelled') params.push(['requestId', id]);
    return { method, tool, fields: request(id, method, [...params, metaOf(able)]) };
  });

interface Change {
  /** Which of all fields, counted from the outside in. */
  at: number;
  how: 'drop' | 'replace' | 'twice' | 'rename' | 'wrap' | 'add';
  junk: Node;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(40),
  how: fc.constantFrom('drop', 'replace', 'twice', 'rename', 'wrap', 'add'),
  junk,
});

/** All fields of a message, each with the object that it is in. */
function placesOf(fields: Field[]): { fields: Field[]; index: number }[] {
  const here = fields.map((_field, index) => ({ fields, index }));
  const below = fields.flatMap(([, node]) => (typeof node === 'string' ? [] : placesOf(node)));
  return [...here, ...below];
}

function spoil(fields: Field[], { at, how, junk: other }: Change): void {
  const places = placesOf(fields);
  const place = places[at % places.length];
  const field = place?.fields[place.index];
  if (place === undefined || field === undefined) return;
  const { fields: around, index } = place;
  switch (how) {
    case 'drop':
      around.splice(index, 1);
      return;
    case 'replace':
      field[1] = other;
      return;
    case 'twice':
      around.push([field[0], other]);
      return;
    case 'rename':
      field[0] = '__proto__';
      return;
    case 'wrap':
      field[1] = [[field[0], field[1]]];
      return;
    case 'add':
      around.unshift(['__proto__', other]);
  }
}

function write(node: Node): string {
  if (typeof node === 'string') return node;
  return `{${node.map(([key, value]) => `${json(key)}:${write(value)}`).join(',')}}`;
}

interface Spoken {
  /** What the headers say. */
  method: string;
  tool: string;
  text: string;
}

const spoiled: fc.Arbitrary<Spoken> = fc
  .record({ message, changes: fc.array(change, { maxLength: 3 }) })
  .map(({ message: { method, tool, fields }, changes }) => {
    const copy = structuredClone(fields);
    for (const one of changes) spoil(copy, one);
    return { method, tool, text: write(copy) };
  });

/** What is said to a question of the server's, and to none. */
const response: fc.Arbitrary<Spoken> = fc
  .record({ id: fc.constantFrom('"ask_1"', '1', '""', '"\\u0000"'), junk, isError: fc.boolean() })
  .map(({ id, junk: result, isError }) => ({
    method: 'tools/list',
    tool: '',
    text: `{"jsonrpc":"2.0","id":${id},"${isError ? 'error' : 'result'}":${write(result)}}`,
  }));

const batch: fc.Arbitrary<Spoken> = fc
  .array(fc.oneof(spoiled, response), { maxLength: 5 })
  .map((all) => ({
    method: 'tools/list',
    tool: '',
    text: `[${all.map(({ text }) => text).join(',')}]`,
  }));

const body: fc.Arbitrary<Spoken> = fc.oneof(
  { weight: 6, arbitrary: spoiled },
  { weight: 2, arbitrary: response },
  { weight: 2, arbitrary: batch },
);

type SessionHeader = number | 'none' | 'invented' | 'empty';

const session = fc.oneof(
  fc.nat(3),
  fc.constantFrom<SessionHeader>('none', 'none', 'none', 'invented', 'empty'),
);

function sessionLines(which: SessionHeader, place: Place): string[] {
  if (which === 'none') return [];
  if (which === 'empty') return ['mcp-session-id: '];
  const id = which === 'invented' ? 'made-up' : place.sessions[which];
  return [`mcp-session-id: ${id}`];
}

function credentialLines({ credential, token }: Place): string[] {
  if (credential === 'none') return [];
  const forged = token.replace(/.{4}$/, (end) => (end === 'AAAA' ? 'BBBB' : 'AAAA'));
  return [`authorization: Bearer ${credential === 'good' ? token : forged}`];
}

type Mangling = 'as it is' | 'cut' | 'changed' | 'twice';

const mangling = fc.constantFrom<Mangling>('as it is', 'cut', 'changed', 'twice');

function mangle(state: string, how: Mangling): string {
  switch (how) {
    case 'as it is':
      return state;
    case 'cut':
      return state.slice(0, -1);
    case 'changed':
      return state.replace(/^./, 'x');
    case 'twice':
      return `${state}.${state}`;
  }
}

function post(lines: readonly string[], content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const head = [
    'POST /mcp HTTP/1.1',
    'host: localhost',
    ...lines,
    `content-length: ${bytes.length}`,
    'connection: close',
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

/** Messages of both eras with something wrong in them; some with nothing wrong. */
const messages: fc.Arbitrary<Malformed> = fc
  .record({
    body,
    session,
    mangling,
    version: fc.constantFrom<string | undefined>(VERSION, VERSION, '2025-11-25', '1', undefined),
    accept: fc.constantFrom('*/*', 'application/json', 'text/event-stream', 'x/y', ', ;'),
  })
  .map(({ body: spoken, session: which, mangling: how, version, accept }) => ({
    isWhole: true,
    bytes(place) {
      const lines = [
        'content-type: application/json',
        `accept: ${accept}`,
        `mcp-method: ${spoken.method}`,
        `mcp-name: =?base64?${Buffer.from(spoken.tool).toString('base64')}?=`,
        ...(version === undefined ? [] : [`mcp-protocol-version: ${version}`]),
        ...credentialLines(place),
        ...sessionLines(which, place),
      ];
      return post(lines, spoken.text.replace(STATE, mangle(place.requestState, how)));
    },
  }));

/** Headers that decide where a request ends, or that keep it from ending. */
const FRAMING = /^(content-length|transfer-encoding|expect|upgrade|connection|trailer|te|host)$/i;

const headerName = fc.oneof(
  anyOf(
    ['authorization', 'mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name'],
    ['content-type', 'accept', 'origin', 'host', 'x-forwarded-for', 'x-forwarded-proto'],
    ['forwarded', 'content-length', 'transfer-encoding', 'expect', 'upgrade', 'connection'],
    ['content-encoding', 'cookie', '__proto__', 'constructor', 'te', 'trailer'],
  ),
  fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/),
  latin1(12),
);

const headerValue = fc.oneof(
  anyOf(
    ['', ' ', 'null', '*', '*/*', 'chunked', '100-continue', '0', '-1', '1e3', '99999999999'],
    ['=?base64??=', '=?base64?/w==?=', '=?base64?a?=', 'Bearer', 'Bearer  x y', 'Basic Og=='],
    ['[::1]:1', '127.0.0.1:x', 'http://[', 'application/json; charset="', 'close', 'websocket'],
  ),
  latin1(60),
  fc.string({ unit: 'grapheme-ascii', maxLength: 60 }),
);

const target = fc.oneof(
  anyOf(
    ['/mcp', '/mcp', '/mcp', '/mcp/', '/mcp?x=1', '/mcp#x', '//mcp', '/%6dcp', '/mcp%00', '*'],
    ['/mcp/../mcp', 'http://localhost/mcp', 'http://[/mcp', 'mcp', '/MCP', '/mcp/\\', '/%'],
  ),
  latin1(30),
);

const verb = fc.oneof(
  fc.constantFrom('POST', 'POST', 'GET', 'PUT', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE', 'CONNECT'),
  fc.stringMatching(/^[A-Za-z]{1,10}$/),
);

/** HTTP with wrong headers, targets and methods, and a good message as its body. */
const http: fc.Arbitrary<Malformed> = fc
  .record({
    verb,
    target,
    headers: fc.array(fc.tuple(headerName, headerValue), { maxLength: 6 }),
    session,
    endsSession: fc.boolean(),
    version: fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1'),
  })
  .map(({ session: which, ...rest }) => ({
    isWhole: rest.headers.every(([key]) => /^[\w-]+$/.test(key) && !FRAMING.test(key)),
    bytes(place) {
      const ends = rest.endsSession && rest.verb === 'PUT';
      const content = write(
        request('1', 'tools/call', [['name', '"note"'], ['arguments', '{}'], metaOf('{}')]),
      );
      const head = [
        `${ends ? 'DELETE' : rest.verb} ${rest.target} ${rest.version}`,
        'host: localhost',
        'content-type: application/json',
        `mcp-protocol-version: ${VERSION}`,
        'mcp-method: tools/call',
        'mcp-name: note',
        ...credentialLines(place),
        ...(ends ? [`mcp-session-id: ${place.spare}`] : sessionLines(which, place)),
        ...rest.headers.map(([key, value]) => `${key}: ${value}`),
        `content-length: ${content.length}`,
        'connection: close',
      ];
      return Buffer.from(`${head.join('\r\n')}\r\n\r\n${content}`, 'latin1');
    },
  }));

/** Bytes that are no HTTP, or begin as it and do not go on so. */
const bytes: fc.Arbitrary<Malformed> = fc
  .record({
    start: fc.constantFrom(
      '',
      'POST ',
      'POST /mcp HTTP/1.1\r\n',
      'GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n',
      'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\r\n',
      'POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n',
      'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n',
      '\u0016\u0003\u0001',
    ),
    rest: fc.uint8Array({ maxLength: 300 }),
  })
  .map(({ start, rest }) => ({
    isWhole: false,
    bytes: () => Buffer.concat([Buffer.from(start, 'latin1'), rest]),
  }));

/** What is sent at once, all with the same kind of credential. */
export interface Salvo {
  credential: Credential;
  requests: Malformed[];
}

const salvo = (one: fc.Arbitrary<Malformed>): fc.Arbitrary<Salvo> =>
  fc.record({
    credential: fc.constantFrom<Credential>('none', 'bad', 'good', 'good'),
    requests: fc.array(one, { minLength: 1, maxLength: 10, size: 'max' }),
  });

export const malformedBytes = salvo(bytes);
export const malformedHttp = salvo(http);
export const malformedMessages = salvo(messages);
