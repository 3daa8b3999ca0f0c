import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MINUTE } from '#src/clock.ts';
import { AppError, messageOf } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import { decideGrant } from '#src/grants/grant.ts';
import { digest, newSecret, type GrantId } from '#src/ids.ts';
import { findBinary, insertBinary } from '#src/storage/binaries.ts';
import type { Store } from '#src/storage/open.ts';
import { toolError } from '#src/tools/define.ts';
import type { Binary } from '#src/tools/result.ts';

/*
 * `/mcp/binary/:token`: bytes that a tool returned, as an address to fetch them from. The address is a
 * secret of its own; it counts ten minutes and never longer than the grant. The bytes are encrypted
 * under that secret, which is not in the store.
 */

export const BINARY_PATH = '/mcp/binary/';
const LIFETIME_MS = 10 * MINUTE;
const LARGEST = 16 * 1024 * 1024;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const MIME_TYPE = /^[a-z0-9][a-z0-9.+-]{0,63}\/[a-z0-9][a-z0-9.+-]{0,63}$/;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface BinaryParts {
  store: Store;
  origin: string;
  emit: Emit;
}

/** Keeps a tool's bytes for its caller. @returns where they are. */
export async function publishBinary(
  { store, origin }: BinaryParts,
  grantId: GrantId,
  { bytes, mimeType }: Binary,
): Promise<string> {
  if (bytes.length > LARGEST)
    throw toolError(`The result is larger than ${LARGEST / 1024 / 1024} MiB`);
  const token = newSecret(store.random);
  const iv = store.random(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(token), iv);
  const sealed = Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  await insertBinary(store.db, {
    digest: digest(token),
    grantId,
    mimeType: MIME_TYPE.test(mimeType) ? mimeType : 'application/octet-stream',
    sealed,
    expiresAt: store.clock.now() + LIFETIME_MS,
  });
  return `${origin}${BINARY_PATH}${token}`;
}

/** Answers a request below `BINARY_PATH`. Whatever does not count is not there. */
export function createBinaryHandler(
  parts: BinaryParts,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    try {
      await answer(parts, request, response);
    } catch (error) {
      parts.emit({ type: 'server.error', where: 'binary', message: messageOf(error) });
      const isAway = error instanceof AppError && error.code === 'store_unavailable';
      const headers = isAway ? { 'retry-after': '5' } : {};
      response.writeHead(isAway ? 503 : 500, { ...headers, 'content-length': '0' }).end();
    }
  };
}

async function answer(
  { store }: BinaryParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD', 'content-length': '0' }).end();
    return;
  }
  const token = (request.url ?? '').slice(BINARY_PATH.length);
  const now = store.clock.now();
  const binary = TOKEN.test(token) ? await findBinary(store.db, digest(token), now) : undefined;
  const record = binary && (await store.readAccess(binary.grantId, ''));
  if (binary === undefined || record === undefined || decideGrant(record, now) !== undefined) {
    response.writeHead(404, { 'content-length': '0', 'cache-control': 'no-store' }).end();
    return;
  }
  const bytes = unseal(token, binary.sealed);
  response.writeHead(200, {
    'content-type': binary.mimeType,
    'content-length': bytes.length,
    'content-disposition': 'attachment',
    'cache-control': 'no-store',
    // Whatever a tool made, it runs in no page of ours.
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

function keyOf(token: string): Buffer {
  return Buffer.from(hkdfSync('sha256', token, '', 'castellan binary', 32));
}

function unseal(token: string, sealed: Buffer): Buffer {
  const tag = sealed.subarray(-TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, keyOf(token), sealed.subarray(0, IV_BYTES));
  decipher.setAuthTag(tag);
  const body = sealed.subarray(IV_BYTES, -TAG_BYTES);
  return Buffer.concat([decipher.update(body), decipher.final()]);
}
