import type { IncomingMessage } from 'node:http';
import { AppError } from '#src/errors.ts';

/** Request bodies, bounded while they arrive. Slow ones end by the server's request timeout. */

const FORM_LIMIT = 64 * 1024;
const FORM_FIELDS = 100;

/** What one body may hold without being counted, so that small requests pass while others hold much. */
const UNCOUNTED_BYTES = 4 * 1024;
const BUSY_RETRY_SECONDS = 5;

/**
 * The bytes that bodies may hold at once, all requests together. Whoever makes one decides who shares
 * it: strangers must not be able to use up what known callers need.
 */
export class BodyBudget {
  readonly #limit: number;
  #held = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get heldBytes(): number {
    return this.#held;
  }

  /** What one body holds of it, until it is disposed. */
  share(): BodyShare {
    let held = 0;
    return {
      growTo: (bytes) => {
        const more = Math.max(0, bytes - UNCOUNTED_BYTES) - held;
        if (more <= 0) return true;
        if (this.#held + more > this.#limit) return false;
        held += more;
        this.#held += more;
        return true;
      },
      [Symbol.dispose]: () => {
        this.#held -= held;
        held = 0;
      },
    };
  }
}

export interface BodyShare extends Disposable {
  /** Whether the body may hold this much in all; it then does. */
  growTo(bytes: number): boolean;
}

/** Whether a body is announced to be so small that no budget counts it. */
export function isSmallBody(request: IncomingMessage): boolean {
  return Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= UNCOUNTED_BYTES;
}

/**
 * The whole body. Of one that is too large the rest is read and forgotten, so that its sender gets to
 * read the answer; the server's request timeout bounds that.
 * @throws `body_too_large` as soon as more than `limit` bytes are announced or have arrived,
 * `body_incomplete` when the connection ends before the body does, `too_many_requests` when there is
 * no room left in the budget.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  share?: BodyShare,
): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge(request, limit);
  const gathered = new Gathered(announced > 0 ? announced : limit);
  // Leaving the loop must not destroy the request: whoever answers needs its socket.
  const arriving = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    for await (const chunk of arriving) {
      if (gathered.size + chunk.length > limit) throw tooLarge(request, limit);
      if (share?.growTo(gathered.sizeWith(chunk)) === false) throw tooBusy(request);
      gathered.append(chunk);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('body_incomplete', 'The body did not arrive as a whole', { cause: error });
  }
  return gathered.bytes;
}

/**
 * What has arrived, in one piece. Kept as a list, a body that comes byte by byte would hold some
 * hundred times its length.
 */
class Gathered {
  readonly #most: number;
  #room: Buffer = Buffer.alloc(0);
  #size = 0;

  /** @param most how many bytes can come at all */
  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#size);
  }

  /** How many bytes are held once this chunk is there too. */
  sizeWith(chunk: Buffer): number {
    const needed = this.#size + chunk.length;
    // Most bodies are one chunk, which is kept as it is.
    if (this.#size === 0 || needed <= this.#room.length) return Math.max(needed, this.#room.length);
    return Math.min(this.#most, needed <= UNCOUNTED_BYTES ? UNCOUNTED_BYTES : needed * 2);
  }

  append(chunk: Buffer): void {
    const room = this.sizeWith(chunk);
    if (this.#size === 0) this.#room = chunk;
    else {
      if (room > this.#room.length) {
        const larger = Buffer.allocUnsafe(room);
        this.bytes.copy(larger);
        this.#room = larger;
      }
      chunk.copy(this.#room, this.#size);
    }
    this.#size += chunk.length;
  }
}

/** UTF-8 text, or undefined when it is not UTF-8. */
export function decodeText(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

/**
 * A form.
 * @throws `body_not_form` for another content type or text, `body_too_large` above 64 KiB.
 */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw new AppError('body_not_form', 'The body must be application/x-www-form-urlencoded');
  }
  const text = decodeText(await readBody(request, FORM_LIMIT));
  if (text === undefined) throw new AppError('body_not_form', 'The body is not UTF-8');
  const form = new URLSearchParams(text);
  if (form.size > FORM_FIELDS)
    throw new AppError('body_too_large', `A form has at most ${FORM_FIELDS} fields`);
  return form;
}

/**
 * A JSON object.
 * @throws `body_not_json` for another content type, text, or value; `body_too_large` above the limit.
 */
export async function readJsonObject(
  request: IncomingMessage,
  limit: number,
): Promise<Record<string, unknown>> {
  if (mediaType(request) !== 'application/json') {
    throw new AppError('body_not_json', 'The body must be application/json');
  }
  let value: unknown;
  try {
    value = JSON.parse(decodeText(await readBody(request, limit)) ?? '');
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('body_not_json', 'The body is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('body_not_json', 'The body must be a JSON object');
  }
  return value as Record<string, unknown>;
}

/** The media type in lower case, without parameters. */
export function mediaType(request: IncomingMessage): string | undefined {
  return request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
}

function tooLarge(request: IncomingMessage, limit: number): AppError {
  forgetRest(request);
  return new AppError('body_too_large', `The body is larger than ${limit} bytes`);
}

function tooBusy(request: IncomingMessage): AppError {
  forgetRest(request);
  return new AppError('too_many_requests', 'Too much is being sent at once, try again shortly', {
    detail: { retryAfterSeconds: BUSY_RETRY_SECONDS },
  });
}

function forgetRest(request: IncomingMessage): void {
  // Once what is left of the loop has let go of it; otherwise the next request on this connection waits.
  setImmediate(() => request.resume());
}
