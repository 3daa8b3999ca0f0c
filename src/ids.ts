import { randomBytes, hash } from 'node:crypto';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type UserId = Branded<'UserId'>;
export type ClientId = Branded<'ClientId'>;
export type GrantId = Branded<'GrantId'>;
export type AccessSessionId = Branded<'AccessSessionId'>;

/** Where randomness comes from: `size` unpredictable bytes. */
export type Random = (size: number) => Buffer;

export const systemRandom: Random = randomBytes;

/** A new identifier: a prefix that says what it names and 120 random bits, safe in a shell and a URL. */
export function newId(prefix: 'usr' | 'cli' | 'gr' | 'acs' | 'chain', random: Random): string {
  return `${prefix}_${random(15).toString('hex')}`;
}

/** A bearer secret of 256 bits, base64url. */
export function newSecret(random: Random): string {
  return random(32).toString('base64url');
}

/** What the store keeps of a random secret: it cannot be turned back. Not for passwords. */
export function digest(secret: string): string {
  return hash('sha256', secret, 'base64url');
}
