import { createHmac, createSecretKey, generateKeyPairSync, sign } from 'node:crypto';
import type { AccessTokenClaims } from '#src/credentials/access-token.ts';
import type { KeyFile, KeySource, StoredKey } from '#src/credentials/key-file.ts';
import type { ClientId, GrantId, UserId } from '#src/ids.ts';

/*
 * Tokens put together by hand, as an attacker or another library would, so that what the verifier
 * refuses does not depend on what the signer can make.
 */

export const ISSUER = 'https://mcp.example.com/mcp';

/** Keys whose content a test can replace, as a rotation replaces the file. */
export interface TestKeys extends KeySource {
  file: KeyFile;
}

export function storedKey(
  kid: string,
  fill: number,
  status: StoredKey['status'] = 'active',
): StoredKey {
  const secret = Buffer.alloc(32, fill).toString('base64url');
  return { kid, secret, status, createdAt: '2026-11-30T12:00:00.000Z' };
}

export function testKeys(...signing: StoredKey[]): TestKeys {
  const audit = Buffer.alloc(32, 255).toString('base64url');
  const keys: TestKeys = {
    file: { version: 1, signing, audit },
    revision: async () => JSON.stringify(keys.file),
    read: async () => keys.file,
  };
  return keys;
}

export function claimsAt(
  nowMs: number,
  change: Partial<AccessTokenClaims> = {},
): AccessTokenClaims {
  const now = Math.floor(nowMs / 1_000);
  return {
    iss: ISSUER,
    aud: ISSUER,
    sub: 'usr_1' as UserId,
    client_id: 'cli_1' as ClientId,
    gid: 'gr_1' as GrantId,
    iat: now,
    exp: now + 900,
    jti: 'j1',
    ...change,
  };
}

/** A compact JWS with any header and payload, by any hash. */
export function forge(
  header: object,
  payload: unknown,
  { secret, hash = 'sha256' }: { secret: string; hash?: string },
): string {
  const input = signingInput(header, payload);
  const key = createSecretKey(Buffer.from(secret, 'base64url'));
  return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`;
}

/** Unsigned: the signature is empty. */
export function forgeUnsigned(header: object, payload: unknown): string {
  return `${signingInput(header, payload)}.`;
}

/** Signed with a key pair of the attacker's. */
export function forgeRsa(header: object, payload: unknown): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const input = signingInput(header, payload);
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
}

function signingInput(header: object, payload: unknown): string {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return [JSON.stringify(header), text]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');
}
