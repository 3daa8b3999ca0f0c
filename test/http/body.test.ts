import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError, type ErrorCode } from '#src/errors.ts';
import { BodyBudget, decodeText, readBody, readForm, readJsonObject } from '#src/http/body.ts';
import type { IncomingMessage } from 'node:http';
import { dial, listening, type Listening } from './listening.ts';

const LIMIT = 1_000;

type Reader = (request: IncomingMessage) => Promise<unknown>;
type Heard = { value: unknown } | { code: ErrorCode; hasSocket?: boolean };

/** A server that reads every body in one way and answers what came of it, 200 or 413. */
async function reading(read: Reader): Promise<Listening & { heard: Promise<Heard> }> {
  const { promise: heard, resolve } = Promise.withResolvers<Heard>();
  const server = await listening((request, response) => {
    read(request).then(
      (value) => {
        resolve({ value });
        response.end('read');
      },
      (error: unknown) => {
        assert.ok(error instanceof AppError);
        resolve({ code: error.code, hasSocket: Boolean(request.socket) });
        response.writeHead(413).end('refused');
      },
    );
  });
  return Object.assign(server, { heard });
}

/** Whoever answers a refusal still needs the socket, which Node takes from a request that it destroys. */
function assertHeard(actual: Heard, expected: Heard): void {
  assert.deepEqual(actual, 'code' in expected ? { ...expected, hasSocket: true } : expected);
}

/** Posts a body in one piece, or in several without a length. */
async function post(url: string, body: string | Uint8Array[], type?: string): Promise<Response> {
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  if (typeof body === 'string') return fetch(url, { method: 'POST', headers, body });
  const stream = ReadableStream.from(body);
  return fetch(url, { method: 'POST', headers, body: stream, duplex: 'half' });
}

const bytes = (...texts: string[]): Uint8Array[] =>
  texts.map((one) => new TextEncoder().encode(one));

describe('a body', () => {
  const readAll: Reader = async (request) => (await readBody(request, LIMIT)).toString();
  const good: [name: string, body: string | Uint8Array[], text: string][] = [
    ['in one piece', 'hello', 'hello'],
    ['in pieces, without a length', bytes('he', 'l', 'lo'), 'hello'],
    ['that is empty', '', ''],
    ['as large as is allowed', 'x'.repeat(LIMIT), 'x'.repeat(LIMIT)],
    ['as large as is allowed, in pieces', bytes('x'.repeat(999), 'x'), 'x'.repeat(LIMIT)],
  ];
  for (const [name, body, text] of good) {
    it(`is read ${name}`, async () => {
      await using server = await reading(readAll);
      assert.equal((await post(server.url, body)).status, 200);
      assert.deepEqual(await server.heard, { value: text });
    });
  }

  const tooLarge: [name: string, body: string | Uint8Array[]][] = [
    ['one byte too large', 'x'.repeat(LIMIT + 1)],
    ['one byte too large, in pieces', bytes('x'.repeat(LIMIT), 'x')],
    ['of many bytes in few characters', 'é'.repeat(501)],
    ['of 20 MB', 'x'.repeat(20_000_000)],
    ['of 20 MB, in pieces', Array.from({ length: 200 }, () => new Uint8Array(100_000))],
  ];
  for (const [name, body] of tooLarge) {
    it(`is refused ${name}, and its sender reads the answer`, async () => {
      await using server = await reading(readAll);
      const response = await post(server.url, body);
      assert.equal(response.status, 413);
      assert.equal(await response.text(), 'refused');
      assertHeard(await server.heard, { code: 'body_too_large' });
    });
  }

  it('that announces too much is refused before any of it arrives', async () => {
    await using server = await reading(readAll);
    const socket = await dial(server.port);
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n');
    assertHeard(await server.heard, { code: 'body_too_large' });
    socket.destroy();
  });

  it('that ends too early is incomplete', async () => {
    await using server = await reading(readAll);
    const socket = await dial(server.port);
    socket.end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhell');
    assertHeard(await server.heard, { code: 'body_incomplete' });
  });
});

describe('a budget', () => {
  it('counts what a body holds beyond 4 KiB until its share is given back', () => {
    const budget = new BodyBudget(10_000);
    const one = budget.share();
    const other = budget.share();
    assert.ok(one.growTo(4_096));
    assert.equal(budget.heldBytes, 0);
    assert.ok(one.growTo(10_096));
    assert.ok(one.growTo(5_000), 'it never shrinks');
    assert.equal(budget.heldBytes, 6_000);
    assert.equal(other.growTo(8_097), false);
    assert.ok(other.growTo(8_096));
    assert.equal(budget.heldBytes, 10_000);
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    assert.equal(budget.heldBytes, 4_000);
    other[Symbol.dispose]();
    assert.equal(budget.heldBytes, 0);
  });

  it('without room refuses a body, and its sender reads the answer', async () => {
    const budget = new BodyBudget(10_000);
    await using server = await reading((request) => readBody(request, 50_000, budget.share()));
    const response = await post(server.url, 'x'.repeat(50_000));
    assert.equal(await response.text(), 'refused');
    assertHeard(await server.heard, { code: 'too_many_requests' });
  });

  it('has room for a body that comes byte by byte', async () => {
    const budget = new BodyBudget(40_000);
    await using server = await reading(async (request) => {
      const body = await readBody(request, 20_000, budget.share());
      return [body.toString(), budget.heldBytes <= 20_000];
    });
    const letters = Array.from({ length: 20_000 }, (_, at) => String.fromCodePoint(97 + (at % 26)));
    const chunks = letters.map((letter) => `1\r\n${letter}\r\n`).join('');
    const socket = await dial(server.port);
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    );
    assertHeard(await server.heard, { value: [letters.join(''), true] });
    socket.destroy();
  });
});

describe('text', () => {
  const cases: [name: string, bytes: number[], text: string | undefined][] = [
    ['ASCII', [0x68, 0x69], 'hi'],
    ['UTF-8', [0xc3, 0xa9], 'é'],
    ['nothing', [], ''],
    ['UTF-8 after its mark', [0xef, 0xbb, 0xbf, 0x68], 'h'],
    ['Latin-1', [0xe9], undefined],
    ['a cut sequence', [0x68, 0xc3], undefined],
    ['an overlong slash', [0xc0, 0xaf], undefined],
    ['a surrogate', [0xed, 0xa0, 0x80], undefined],
  ];
  for (const [name, list, text] of cases) {
    it(`is ${text === undefined ? 'refused' : 'read'}: ${name}`, () => {
      assert.equal(decodeText(Buffer.from(list)), text);
    });
  }
});

describe('a JSON object', () => {
  const readObject: Reader = (request) => readJsonObject(request, LIMIT);
  const JSON_TYPE = 'application/json';
  const cases: [
    name: string,
    type: string | undefined,
    body: string | Uint8Array[],
    heard: Heard,
  ][] = [
    ['as it is', JSON_TYPE, '{"a":1}', { value: { a: 1 } }],
    ['with a charset', 'Application/JSON ; charset=utf-8', '{}', { value: {} }],
    ['of another type', 'text/plain', '{}', { code: 'body_not_json' }],
    ['of a type that begins alike', 'application/json-seq', '{}', { code: 'body_not_json' }],
    ['of no type', undefined, bytes('{}'), { code: 'body_not_json' }],
    ['that is a list', JSON_TYPE, '[]', { code: 'body_not_json' }],
    ['that is null', JSON_TYPE, 'null', { code: 'body_not_json' }],
    ['that is text', JSON_TYPE, '"a"', { code: 'body_not_json' }],
    ['that is cut', JSON_TYPE, '{"a":', { code: 'body_not_json' }],
    ['that is empty', JSON_TYPE, '', { code: 'body_not_json' }],
    ['that is not UTF-8', JSON_TYPE, [Uint8Array.of(0x22, 0xe9, 0x22)], { code: 'body_not_json' }],
    ['that is too large', JSON_TYPE, `{"a":"${'x'.repeat(LIMIT)}"}`, { code: 'body_too_large' }],
  ];
  for (const [name, type, body, heard] of cases) {
    it(`${'value' in heard ? 'is read' : heard.code}: ${name}`, async () => {
      await using server = await reading(readObject);
      await post(server.url, body, type);
      assertHeard(await server.heard, heard);
    });
  }
});

describe('a form', () => {
  const readFields: Reader = async (request) => [...(await readForm(request))];
  const FORM = 'application/x-www-form-urlencoded';
  const many = (count: number): string => Array.from({ length: count }, () => 'a=1').join('&');
  const cases: [name: string, type: string, body: string | Uint8Array[], heard: Heard][] = [
    [
      'as it is',
      FORM,
      'a=1&b=%C3%A9+x&a=2',
      {
        value: [
          ['a', '1'],
          ['b', 'é x'],
          ['a', '2'],
        ],
      },
    ],
    ['that is empty', FORM, '', { value: [] }],
    ['of another type', 'multipart/form-data', 'a=1', { code: 'body_not_form' }],
    ['that is not UTF-8', FORM, [Uint8Array.of(0x61, 0x3d, 0xe9)], { code: 'body_not_form' }],
    ['of 64 KiB and a byte', FORM, 'x'.repeat(65_537), { code: 'body_too_large' }],
    ['of 101 fields', FORM, many(101), { code: 'body_too_large' }],
  ];
  for (const [name, type, body, heard] of cases) {
    it(`${'value' in heard ? 'is read' : heard.code}: ${name}`, async () => {
      await using server = await reading(readFields);
      await post(server.url, body, type);
      assertHeard(await server.heard, heard);
    });
  }
});
