import type { IncomingMessage } from 'node:http';
import { AppError } from '#src/errors.ts';

/** Request bodies, bounded while they arrive. Slow ones end by the server's request timeout. */

const FORM_LIMIT = 64 * 1024;
const FORM_FIELDS = 100;

/**
 * The whole body. Of one that is too large the rest is read and forgotten, so that its sender gets to
 * read the answer; the server's request timeout bounds that.
 * @throws `body_too_large` as soon as more than `limit` bytes are announced or have arrived,
 * `body_incomplete` when the connection ends before the body does.
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge(request, limit);
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop must not destroy the request: whoever answers needs its socket.
  const arriving = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    for await (const chunk of arriving) {
      size += chunk.length;
      if (size > limit) throw tooLarge(request, limit);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('body_incomplete', 'The body did not arrive as a whole', { cause: error });
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size);
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
  // Once what is left of the loop has let go of it; otherwise the next request on this connection waits.
  setImmediate(() => request.resume());
  return new AppError('body_too_large', `The body is larger than ${limit} bytes`);
}
