import fc from 'fast-check';
import { anyOf, metaOf, request, spoken, STATE, VERSION, write } from './malformed-json.ts';

/* Requests that no honest client sends, as bytes. */

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

const latin1 = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('latin1'));

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
    spoken,
    session,
    mangling,
    version: fc.constantFrom<string | undefined>(VERSION, VERSION, '2025-11-25', '1', undefined),
    accept: fc.constantFrom('*/*', 'application/json', 'text/event-stream', 'x/y', ', ;'),
  })
  .map(({ spoken: said, session: which, mangling: how, version, accept }) => ({
    isWhole: true,
    bytes(place) {
      const lines = [
        'content-type: application/json',
        `accept: ${accept}`,
        `mcp-method: ${said.method}`,
        `mcp-name: =?base64?${Buffer.from(said.tool).toString('base64')}?=`,
        ...(version === undefined ? [] : [`mcp-protocol-version: ${version}`]),
        ...credentialLines(place),
        ...sessionLines(which, place),
      ];
      return post(lines, said.text.replace(STATE, mangle(place.requestState, how)));
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
  fc.constantFrom(
    'POST',
    'POST',
    'POST',
    'POST',
    'GET',
    'PUT',
    'OPTIONS',
    'HEAD',
    'PATCH',
    'TRACE',
    'CONNECT',
  ),
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
