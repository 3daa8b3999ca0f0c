import type { ServerResponse } from 'node:http';
import type { RequestIdValue } from './message.ts';
import type { RpcFailure } from './rpc-error.ts';

/*
 * The one answer to one request: JSON, unless something has to be said before the answer is there, or
 * the client takes nothing else; then it is an event stream that ends with it.
 */

/** Which of the two forms of an answer the client takes. */
export interface Accepted {
  json: boolean;
  stream: boolean;
}

const KEEP_ALIVE_MS = 20_000;
const JSON_TYPE = 'application/json';

export class Reply {
  readonly #response: ServerResponse;
  /** Headers that every answer to this request carries. */
  readonly #common: Record<string, string>;
  readonly #accepted: Accepted;
  #id: RequestIdValue | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #drained: Promise<void> | undefined;

  constructor(
    response: ServerResponse,
    { common, accepted }: { common: Record<string, string>; accepted: Accepted },
  ) {
    this.#response = response;
    this.#common = common;
    this.#accepted = accepted;
    // A connection that breaks while something is written must not end the process.
    response.on('error', () => {});
  }

  /** Whether anything can be said before the answer. */
  get mayStream(): boolean {
    return this.#accepted.stream && !this.#isOver;
  }

  /** One more header of the answer; only before it has begun. */
  header(name: string, value: string): void {
    this.#common[name] = value;
  }

  /** From here on answers carry the request's id. */
  answers(id: RequestIdValue): void {
    this.#id = id;
  }

  result(result: Record<string, unknown>): void {
    this.#finish(200, { jsonrpc: '2.0', id: this.#id, result });
  }

  failure(failure: RpcFailure): void {
    const { status, code, message, data, headers } = failure;
    const error = data === undefined ? { code, message } : { code, message, data };
    // An unknown id is left out; JSON.stringify does that with undefined.
    this.#finish(status, { jsonrpc: '2.0', id: this.#id, error }, headers);
  }

  /** The answers to a batch, in one. */
  batch(messages: readonly Record<string, unknown>[]): void {
    if (this.#isOver) return;
    if (this.#isStream(200)) {
      const [last, ...before] = messages.toReversed();
      for (const message of before.toReversed()) this.#response.write(frame(message));
      if (last !== undefined) this.#end(frame(last));
      return;
    }
    this.#finish(200, messages);
  }

  /** Ends without an answer, because the client said that it wants none. */
  drop(): void {
    if (this.#isOver) return;
    if (this.#response.headersSent) this.#end();
    else this.empty(202);
  }

  /** Keeps a stream of its own open, which only `notify` writes to and only the client ends. */
  openOnly(): void {
    this.#openStream();
    this.#response.write(': here\n\n');
  }

  /** Ends a stream that was opened with `openOnly`. */
  close(): void {
    if (!this.#isOver) this.#end();
  }

  /** Waits for the client to leave, this long at most. */
  async closedWithin(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    timer.unref();
    this.#response.once('close', resolve);
    await promise;
    clearTimeout(timer);
    this.#response.off('close', resolve);
  }

  /** An answer without a body. */
  empty(status: number, headers: Record<string, string> = {}): void {
    // 204 has no length at all (RFC 9110, section 8.6).
    const length = status === 204 ? {} : { 'content-length': '0' };
    this.#response.writeHead(status, { ...this.#common, ...headers, ...length }).end();
  }

  /** Sends a notification before the answer, as a server-sent event. */
  notify(method: string, params: Record<string, unknown>): Promise<void> {
    return this.#say({ jsonrpc: '2.0', method, params });
  }

  /** Sends a request of ours before the answer; its response comes with another request. */
  ask(id: string, method: string, params: Record<string, unknown>): Promise<void> {
    return this.#say({ jsonrpc: '2.0', id, method, params });
  }

  async #say(message: Record<string, unknown>): Promise<void> {
    if (!this.mayStream) return;
    if (!this.#response.headersSent) this.#openStream();
    // A stream never piles up in memory while its reader is slow.
    if (!this.#response.write(frame(message))) await this.drained();
  }

  /** The reader is slower than what is sent. */
  get isCongested(): boolean {
    return this.#response.writableNeedDrain;
  }

  /** Resolves when the reader has caught up or gone. */
  drained(): Promise<void> {
    if (this.#isOver || !this.isCongested) return Promise.resolve();
    this.#drained ??= this.#untilDrained();
    return this.#drained;
  }

  async #untilDrained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#response.once('drain', resolve).once('close', resolve);
    await promise;
    this.#response.off('drain', resolve).off('close', resolve);
    this.#drained = undefined;
  }

  get #isOver(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  /** The end of a stream. Its `close` may come much later: nothing may be written until then. */
  #end(text?: string): void {
    clearInterval(this.#keepAlive);
    this.#response.end(text);
  }

  #openStream(): void {
    this.#response.writeHead(200, {
      ...this.#common,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    this.#response.flushHeaders();
    this.#keepAlive = setInterval(() => {
      if (!this.#isOver) this.#response.write(': still working\n\n');
    }, KEEP_ALIVE_MS);
    this.#response.once('close', () => clearInterval(this.#keepAlive));
  }

  /** Whether this answer goes out as an event; what has another status than 200 is always JSON. */
  #isStream(status: number): boolean {
    if (this.#response.headersSent) return true;
    if (status !== 200 || this.#accepted.json || !this.mayStream) return false;
    this.#openStream();
    return true;
  }

  #finish(
    status: number,
    message: Record<string, unknown> | readonly Record<string, unknown>[],
    headers: Record<string, string> = {},
  ): void {
    clearInterval(this.#keepAlive);
    if (this.#isOver) return;
    if (this.#isStream(status)) {
      this.#end(frame(message));
      return;
    }
    const text = JSON.stringify(message);
    this.#response.writeHead(status, {
      ...this.#common,
      ...headers,
      'content-type': JSON_TYPE,
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
    });
    this.#response.end(text);
  }
}

function frame(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

/** What an Accept header takes; without one, or with none of the two, anything. */
export function acceptedForms(accept: string | undefined): Accepted {
  const ranges = (accept ?? '*/*').split(',').map((range) => range.split(';', 1)[0]?.trim());
  const takes = (...types: string[]): boolean =>
    ranges.some((range) => types.includes(range?.toLowerCase() ?? ''));
  const json = takes('application/json', 'application/*', '*/*');
  const stream = takes('text/event-stream', 'text/*', '*/*');
  return json || stream ? { json, stream } : { json: true, stream: true };
}
