import assert from 'node:assert/strict';
import type { Site } from '../support/person.ts';

/** A client of the session era, message by message. */

export type Body = Record<string, unknown>;

export interface Message extends Body {
  id?: unknown;
  method?: string;
  params?: Body;
  result?: Body;
  error?: { code: number; message: string };
}

export interface Heard {
  status: number;
  headers: Headers;
  text: string;
  /** What the body holds: one message, or those of its events. */
  messages: Message[];
}

export interface Opening {
  version?: string;
  capabilities?: Body;
}

export class SessionClient {
  readonly site: Site;
  /** May be changed, as by a refresh. */
  token: string;
  id = '';
  #nextId = 0;

  constructor(site: Site, token: string) {
    this.site = site;
    this.token = token;
  }

  /** `initialize` and what follows it. */
  async open({ version = '2025-11-25', capabilities = {} }: Opening = {}): Promise<Body> {
    this.id = '';
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: version, capabilities, clientInfo };
    const heard = await this.request('initialize', params);
    assert.equal(heard.status, 200, heard.text);
    this.id = heard.headers.get('mcp-session-id') ?? assert.fail('no session id');
    const noted = await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.deepEqual([noted.status, noted.text], [202, '']);
    return heard.messages[0]?.result ?? {};
  }

  message(method: string, params: Body = {}): Message {
    this.#nextId += 1;
    return { jsonrpc: '2.0', id: this.#nextId, method, params };
  }

  request(method: string, params: Body = {}, headers: Record<string, string> = {}): Promise<Heard> {
    return this.post(this.message(method, params), headers);
  }

  call(name: string, args: Body = {}, meta: Body = {}): Promise<Heard> {
    return this.request('tools/call', { name, arguments: args, _meta: meta });
  }

  async post(body: unknown, headers: Record<string, string> = {}): Promise<Heard> {
    const response = await this.send('POST', { headers, body: JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, messages: read(text) };
  }

  /** A POST whose answer is read message by message. */
  async stream(body: unknown): Promise<Stream> {
    return new Stream(await this.send('POST', { body: JSON.stringify(body) }));
  }

  async send(method: string, init: RequestInit = {}): Promise<Response> {
    return fetch(new URL('/mcp', this.site.url), {
      ...init,
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        accept: 'application/json, text/event-stream',
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...(this.id === '' ? {} : { 'mcp-session-id': this.id }),
        ...(init.headers as Record<string, string>),
      },
    });
  }
}

/** An event stream, one message at a time. */
export class Stream {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = '';

  constructor(response: Response) {
    this.response = response;
    assert.ok(response.body);
    this.#reader = response.body
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
      .getReader();
  }

  /** The next message; undefined when the stream has ended. */
  async next(): Promise<Message | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end < 0) {
        const { value, done } = await this.#reader.read();
        if (done) return undefined;
        this.#text += value;
        continue;
      }
      const [message] = read(this.#text.slice(0, end + 2));
      this.#text = this.#text.slice(end + 2);
      if (message !== undefined) return message;
    }
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel();
  }
}

function read(text: string): Message[] {
  if (!/^(event|data|:|id)/.test(text)) {
    if (text === '') return [];
    return [JSON.parse(text) as Message | Message[]].flat();
  }
  const events = text.split('\n\n').map((event) => /^data: (.*)$/m.exec(event)?.[1]);
  return events.filter((data) => data !== undefined).map((data) => JSON.parse(data) as Message);
}
