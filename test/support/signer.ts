import { generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { toSeconds } from '#src/clock.ts';

/** A client that proves itself by signing (RFC 7523): its key, and its assertions. */

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export interface Signer {
  kid: string;
  alg: string;
  privateKey: KeyObject;
  publicJwk: Record<string, unknown>;
}

export function makeSigner(kid: string, alg: 'RS256' | 'ES256' | 'EdDSA' = 'ES256'): Signer {
  const pair =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519');
  return {
    kid,
    alg,
    privateKey: pair.privateKey,
    publicJwk: { ...pair.publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' },
  };
}

export interface AssertionChanges {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
}

/** A client assertion as it should be, but for the changes. */
export async function assertionOf(
  { kid, alg, privateKey }: Signer,
  about: { clientId: string; audience: string },
  changes: AssertionChanges = {},
): Promise<string> {
  const now = toSeconds(Date.now());
  const claims = {
    iss: about.clientId,
    sub: about.clientId,
    aud: about.audience,
    jti: randomUUID(),
    iat: now,
    exp: now + 300,
    ...changes.claims,
  };
  return new SignJWT(claims).setProtectedHeader({ alg, kid, ...changes.header }).sign(privateKey);
}
