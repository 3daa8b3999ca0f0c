/*
 * Requests of both eras, good, bad and odd, as data. Each is sent to our endpoint and to the official
 * SDK's handlers; differences.ts says where they answer differently and why.
 */

export interface Probe {
  name: string;
  verb: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
  /** The revision of the session that it is sent in; each probe has one of its own. */
  session: string | undefined;
  /** What the client of that session can do. */
  capabilities: object;
  /** Whether something is said before the answer, so that the SDK must not answer with JSON. */
  streams: boolean;
  /** The answer is a stream that nobody ends. */
  staysOpen: boolean;
}

const MODERN = '2026-07-28';
export const SESSION_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const PREFIX = 'io.modelcontextprotocol/';
const VERSION = `${PREFIX}protocolVersion`;
const CAPABILITIES = `${PREFIX}clientCapabilities`;
const INFO = `${PREFIX}clientInfo`;
const META = {
  [VERSION]: MODERN,
  [CAPABILITIES]: {},
  [INFO]: { name: 'probe', version: '1' },
};
const BOTH = 'application/json, text/event-stream';

type Fields = Record<string, unknown>;

interface Wishes {
  params?: Fields;
  verb?: string;
  /** Laid over the headers; undefined takes one out. */
  headers?: Record<string, string | undefined>;
  /** Laid over `_meta`. */
  meta?: Fields;
  /** Laid over the message. */
  message?: Fields;
  /** In place of the message; undefined is no body. */
  body?: string | Buffer | undefined;
  staysOpen?: boolean;
  streams?: boolean;
  capabilities?: object;
}

const given = (headers: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

function modern(name: string, method: string, wishes: Wishes = {}): Probe {
  const { params = {} } = wishes;
  const meta = { ...META, ...wishes.meta };
  const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } };
  const target = params['name'] ?? params['uri'];
  return {
    name: `modern: ${name}`,
    verb: wishes.verb ?? 'POST',
    headers: given({
      'content-type': 'application/json',
      accept: BOTH,
      'mcp-protocol-version': MODERN,
      'mcp-method': method,
      'mcp-name': typeof target === 'string' ? target : undefined,
      ...wishes.headers,
    }),
    body: 'body' in wishes ? wishes.body : JSON.stringify({ ...message, ...wishes.message }),
    session: undefined,
    capabilities: {},
    streams: false,
    staysOpen: wishes.staysOpen ?? false,
  };
}

const call = (name: string, [tool, args]: [unknown, unknown], wishes: Wishes = {}): Probe =>
  modern(name, 'tools/call', { ...wishes, params: { name: tool, arguments: args } });
const echo = (name: string, wishes: Wishes = {}): Probe =>
  call(name, ['echo', { text: 'hi' }], wishes);
const list = (name: string, wishes: Wishes = {}): Probe => modern(name, 'tools/list', wishes);
const without = (name: string, header: string, value?: string): Probe =>
  echo(name, { headers: { [header]: value } });

/** One probe for each value. */
const each = <Value>(
  values: Record<string, Value>,
  probe: (name: string, value: Value) => Probe,
): Probe[] => Object.entries(values).map(([name, value]) => probe(name, value));

const rows = (...all: string[][]): string[] => all.flat();
const ELICITS = { meta: { [CAPABILITIES]: { elicitation: {} } } };
const DEEP = `${'['.repeat(3_000)}1${']'.repeat(3_000)}`;
const request = (rest: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/list"${rest}}`;

/** Bodies that are no good request, whatever the era. */
const BODIES: Record<string, string | Buffer> = {
  'an empty body': '',
  'white space': ' \r\n',
  'a cut object': '{"jsonrpc":"2.0"',
  'two objects': '{}{}',
  NaN: '{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}',
  'no UTF-8': Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\u00e9"}', 'latin1'),
  null: 'null',
  'a number': '1',
  'a text': '"tools/list"',
  'an empty object': '{}',
  'an empty batch': '[]',
  'a response': '{"jsonrpc":"2.0","id":1,"result":{}}',
  'an error response': '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}',
  'no jsonrpc': '{"id":1,"method":"tools/list"}',
  'jsonrpc 1.0': '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
  'jsonrpc as a number': '{"jsonrpc":2.0,"id":1,"method":"tools/list"}',
  'no method': '{"jsonrpc":"2.0","id":1}',
  'a method that is a number': '{"jsonrpc":"2.0","id":1,"method":1}',
  'an empty method': '{"jsonrpc":"2.0","id":1,"method":""}',
  'params in a list': request(',"params":[]'),
  'params that are null': request(',"params":null'),
  'params that are a text': request(',"params":"x"'),
  'no params': request(''),
  'the id null': '{"jsonrpc":"2.0","id":null,"method":"tools/list"}',
  'the id true': '{"jsonrpc":"2.0","id":true,"method":"tools/list"}',
  'the id an object': '{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
  'the id a fraction': '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}',
  'the id beyond integers': '{"jsonrpc":"2.0","id":1e300,"method":"tools/list"}',
  'deep params': request(`,"params":{"x":${DEEP}}`),
};

const MODERN_PROBES: Probe[] = [
  modern('discover', 'server/discover'),
  list('list'),
  ...each({ empty: '', unknown: '!!', number: 5, null: null }, (name, cursor) =>
    modern(`list with cursor ${name}`, 'tools/list', { params: { cursor } }),
  ),
  echo('call'),
  ...each({ text: 'a', empty: '', zero: 0, negative: -1, large: 2 ** 53 - 1 }, (name, id) =>
    echo(`an id that is ${name}`, { message: { id } }),
  ),
  call('call with an output schema', ['add', { a: 1, b: 2 }]),
  call('a tool that refuses', ['refuse', {}]),
  call('progress that nobody asked for', ['steps', {}]),
  call('progress', ['steps', {}], { meta: { progressToken: 'p' } }),
  call('progress with a number', ['steps', {}], { meta: { progressToken: 7 } }),
  call('progress with a token that is none', ['steps', {}], { meta: { progressToken: {} } }),
  call('a question to who cannot ask', ['wipe', {}]),
  call('a question', ['wipe', {}], ELICITS),
  ...each({ forms: { form: {} }, links: { url: {} } }, (name, elicitation) =>
    call(`a question to who shows ${name}`, ['wipe', {}], {
      meta: { [CAPABILITIES]: { elicitation } },
    }),
  ),
  ...each({ text: 'forged', empty: '', number: 1, null: null, object: {} }, (name, requestState) =>
    modern(`a state that is ${name}`, 'tools/call', {
      ...ELICITS,
      params: { name: 'wipe', requestState },
    }),
  ),
  ...each({ list: [], text: 'x', null: null }, (name, inputResponses) =>
    modern(`responses that are ${name}`, 'tools/call', {
      ...ELICITS,
      params: { name: 'wipe', inputResponses },
    }),
  ),
  ...each(
    { missing: undefined, null: null, list: [], text: 'x', empty: {}, wrong: { text: 1 } },
    (name, args) => call(`arguments ${name}`, ['echo', args]),
  ),
  call('arguments too many', ['echo', { text: 'hi', more: 1 }]),
  call('arguments of a tool without any', ['refuse', { more: 1 }]),
  call('an unknown tool', ['no_such', {}]),
  call('an unknown tool by a name of objects', ['constructor', {}]),
  ...each({ missing: undefined, number: 5, null: null, object: {} }, (name, tool) =>
    call(`the name of a tool ${name}`, [tool, {}], { headers: { 'mcp-name': 'echo' } }),
  ),
  ...each(
    {
      [VERSION]: 'version',
      [CAPABILITIES]: 'capabilities',
      [INFO]: 'client',
    },
    (field, name) => list(`no ${name} in _meta`, { meta: { [field]: undefined } }),
  ),
  ...each({ null: null, number: 1, list: [], object: {} }, (name, value) =>
    list(`a version in _meta that is ${name}`, { meta: { [VERSION]: value } }),
  ),
  ...each({ null: null, number: 1, list: [], text: 'x' }, (name, value) =>
    list(`capabilities in _meta that are ${name}`, { meta: { [CAPABILITIES]: value } }),
  ),
  ...each({ null: null, text: 'x', empty: {} }, (name, value) =>
    list(`a client in _meta that is ${name}`, { meta: { [INFO]: value } }),
  ),
  ...each({ missing: {}, null: { _meta: null }, list: { _meta: [] } }, (name, params) =>
    list(`a _meta that is ${name}`, { message: { params } }),
  ),
  list('_meta with more', { meta: { 'com.example/x': { y: 1 } } }),
  without('no version in the header', 'mcp-protocol-version'),
  without('another version in the header', 'mcp-protocol-version', '2025-11-25'),
  without('no Mcp-Method', 'mcp-method'),
  without('another Mcp-Method', 'mcp-method', 'tools/list'),
  without('Mcp-Method in capitals', 'mcp-method', 'TOOLS/CALL'),
  without('no Mcp-Name', 'mcp-name'),
  without('another Mcp-Name', 'mcp-name', 'wipe'),
  without('an empty Mcp-Name', 'mcp-name', ''),
  without('Mcp-Name in capitals', 'mcp-name', 'ECHO'),
  without('Mcp-Name in base64', 'mcp-name', '=?base64?ZWNobw==?='),
  without('Mcp-Name in base64 of another', 'mcp-name', '=?base64?d2lwZQ==?='),
  without('Mcp-Name in broken base64', 'mcp-name', '=?base64?ZWNobw?='),
  list('Mcp-Name where none belongs', { headers: { 'mcp-name': 'echo' } }),
  ...each({ later: '2027-01-01', older: '2025-11-25', garbage: 'x', empty: '' }, (name, version) =>
    list(`a version that is ${name}`, {
      meta: { [VERSION]: version },
      headers: { 'mcp-protocol-version': version },
    }),
  ),
  ...rows(
    ['ping', 'initialize', 'logging/setLevel', 'resources/list', 'resources/templates/list'],
    ['prompts/list', 'completion/complete', 'tasks/get', 'no/such', '__proto__', 'rpc.discover'],
    ['notifications/initialized', 'roots/list', 'sampling/createMessage'],
  ).map((method) => modern(`the method ${method}`, method)),
  modern('subscriptions/listen', 'subscriptions/listen', {
    params: { notifications: {} },
    staysOpen: true,
  }),
  modern('resources/read', 'resources/read', { params: { uri: 'test://x' } }),
  modern('prompts/get', 'prompts/get', { params: { name: 'x' } }),
  ...rows(
    ['application/json; charset=utf-8', 'Application/JSON', 'text/plain', 'application/json+x'],
    ['application/x-www-form-urlencoded', 'text/json', 'multipart/form-data; boundary=x'],
  ).map((type) => without(`a body of ${type}`, 'content-type', type)),
  ...['application/json', 'text/event-stream', '*/*', 'text/html', 'application/*'].map((accept) =>
    without(`who accepts ${accept}`, 'accept', accept),
  ),
  ...['GET', 'DELETE', 'PUT', 'PATCH', 'HEAD', 'OPTIONS'].map((verb) =>
    list(`the verb ${verb}`, { verb, body: undefined }),
  ),
  ...each(BODIES, (name, body) => list(`a body: ${name}`, { body })),
  list('a batch of one', { body: `[${request(`,"params":{"_meta":${JSON.stringify(META)}}`)}]` }),
  ...['notifications/cancelled', 'notifications/initialized', 'notifications/no_such'].map(
    (method) => modern(`the notification ${method}`, method, { message: { id: undefined } }),
  ),
  modern('a call without an id', 'tools/call', {
    params: { name: 'echo' },
    message: { id: undefined },
  }),
  list('a request of no era', {
    headers: { 'mcp-protocol-version': undefined },
    body: request(''),
  }),
];

function inSession(
  name: string,
  revision: string,
  wishes: Wishes & { body: Wishes['body'] },
): Probe {
  const { verb = 'POST', headers = {}, body, streams = false, staysOpen = false } = wishes;
  return {
    name: `${revision}: ${name}`,
    verb,
    headers: given({
      'content-type': body === undefined ? undefined : 'application/json',
      accept: BOTH,
      ...headers,
    }),
    body,
    session: 'mcp-session-id' in headers ? undefined : revision,
    capabilities: wishes.capabilities ?? {},
    streams,
    staysOpen,
  };
}

function sessionProbes(revision: string): Probe[] {
  const probe = (name: string, body: Wishes['body'], wishes: Wishes = {}): Probe =>
    inSession(name, revision, { ...wishes, body });
  const ask = (name: string, method: string, wishes: Wishes = {}): Probe => {
    const { params = {} } = wishes;
    return probe(name, JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }), wishes);
  };
  const tool = (name: string, args: object, wishes: Wishes = {}): Probe =>
    ask(`call of ${name} ${JSON.stringify(args)}`, 'tools/call', {
      ...wishes,
      params: { name, arguments: args, ...wishes.params },
    });
  const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  const noted = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  const client = { name: 'probe', version: '1' };
  const opening = { protocolVersion: revision, capabilities: {}, clientInfo: client };
  const withId = (id: string | undefined): Wishes => ({ headers: { 'mcp-session-id': id } });
  return [
    ...['ping', 'tools/list', 'resources/list', 'prompts/list', 'no/such'].map((method) =>
      ask(method, method),
    ),
    tool('echo', { text: 'hi' }),
    tool('echo', { text: 1 }),
    tool('add', { a: 1, b: 2 }),
    tool('refuse', {}),
    tool('no_such', {}),
    tool('steps', {}, { streams: true, params: { _meta: { progressToken: 'p' } } }),
    tool('wipe', {}, { streams: true, capabilities: { elicitation: {} } }),
    ask('initialize again', 'initialize', { params: opening }),
    probe('a batch', `[${ping},${noted}]`),
    probe('a batch of notifications', `[${noted},${noted}]`),
    probe('a notification', noted),
    probe('its own version in the header', ping, {
      headers: { 'mcp-protocol-version': revision },
    }),
    probe('an unknown version in the header', ping, {
      headers: { 'mcp-protocol-version': '1999-01-01' },
    }),
    probe('an unknown session', ping, withId('made-up')),
    probe('no session', ping, withId(undefined)),
    probe('GET', undefined, {
      verb: 'GET',
      headers: { accept: 'text/event-stream' },
      staysOpen: true,
    }),
    probe('GET of an unknown session', undefined, { verb: 'GET', ...withId('made-up') }),
    probe('DELETE', undefined, { verb: 'DELETE' }),
    probe('DELETE of an unknown session', undefined, { verb: 'DELETE', ...withId('made-up') }),
    ask('initialize', 'initialize', { params: opening, ...withId(undefined) }),
  ];
}

/** What does not depend on the revision. */
function sessionOddities(revision: string): Probe[] {
  const probe = (name: string, wishes: Wishes & { body: Wishes['body'] }): Probe =>
    inSession(name, revision, wishes);
  const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  const none = { 'mcp-session-id': undefined };
  const open = (name: string, params: unknown): Probe =>
    probe(`initialize with ${name}`, {
      headers: none,
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'initialize', params }),
    });
  const client = { name: 'probe', version: '1' };
  return [
    ...each(BODIES, (name, body) => probe(`a body: ${name}`, { body })),
    ...['application/json', 'text/event-stream', '*/*', 'text/html'].map((accept) =>
      probe(`who accepts ${accept}`, { body: ping, headers: { accept } }),
    ),
    ...['application/json', '*/*'].map((accept) =>
      probe(`GET of who accepts ${accept}`, {
        verb: 'GET',
        body: undefined,
        headers: { accept },
        staysOpen: true,
      }),
    ),
    ...['text/plain', 'application/json; charset=utf-8'].map((type) =>
      probe(`a body of ${type}`, { body: ping, headers: { 'content-type': type } }),
    ),
    ...['PUT', 'PATCH'].map((verb) => probe(`the verb ${verb}`, { verb, body: ping })),
    ...['GET', 'DELETE'].map((verb) =>
      probe(`${verb} without a session`, { verb, body: undefined, headers: none }),
    ),
    open('an unknown version', {
      protocolVersion: '1999-01-01',
      capabilities: {},
      clientInfo: client,
    }),
    open('a later version', { protocolVersion: MODERN, capabilities: {}, clientInfo: client }),
    open('no version', { capabilities: {}, clientInfo: client }),
    open('no capabilities', { protocolVersion: revision, clientInfo: client }),
    open('no client', { protocolVersion: revision, capabilities: {} }),
    open('no params', undefined),
  ];
}

export const PROBES: readonly Probe[] = [
  ...MODERN_PROBES,
  ...SESSION_REVISIONS.flatMap(sessionProbes),
  ...sessionOddities('2025-11-25'),
];
