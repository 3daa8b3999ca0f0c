import type { ServerResponse } from 'node:http';
import type { RequestIdValue } from './message.ts';
import type { RpcFailure } from './rpc-error.ts';

/*
 * The one answer to one request: JSON, unless something has to be said before the answer is there;
 * then it turns into an event stream that ends with it.
 */

const KEEP_ALIVE_MS = 20_000;
const JSON_TYPE = 'application/json';

export class Reply {
  readonly #response: ServerResponse;
  /** Headers that every answer to this request carries. */
  readonly #common: Record<string, string>;
  #id: RequestIdValue | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #drained: Promise<void> | undefined;

  constructor(response: ServerResponse, common: Record<string, string>) {
    this.#response = response;
    this.#common = common;
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

  /** An answer without a body. */
  empty(status: number, headers: Record<string, string> = {}): void {
    // 204 has no length at all (RFC 9110, section 8.6).
    const length = status === 204 ? {} : { 'content-length': '0' };
    this.#response.writeHead(status, { ...this.#common, ...headers, ...length }).end();
  }

  /** Sends a notification before the answer, as a server-sent event. */
  async notify(method: string, params: Record<string, unknown>): Promise<void> {
    if (this.#isOver) return;
    if (!this.#response.headersSent) this.#openStream();
    // A stream never piles up in memory while its reader is slow.
    if (!this.#response.write(frame(JSON.stringify({ jsonrpc: '2.0', method, params }))))
      await this.drained();
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

  #openStream(): void {
    this.#response.writeHead(200, {
      ...this.#common,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    this.#response.flushHeaders();
    this.#keepAlive = setInterval(() => this.#response.write(': still working\n\n'), KEEP_ALIVE_MS);
    this.#response.once('close', () => clearInterval(this.#keepAlive));
  }

  #finish(
    status: number,
    message: Record<string, unknown>,
    headers: Record<string, string> = {},
  ): void {
    clearInterval(this.#keepAlive);
    if (this.#isOver) return;
    const text = JSON.stringify(message);
    if (this.#response.headersSent) {
      this.#response.end(frame(text));
      return;
    }
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

function frame(data: string): string {
  return `event: message\ndata: ${data}\n\n`;
}
