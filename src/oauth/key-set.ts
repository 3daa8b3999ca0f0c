/*
 * JSON Web Key Sets of clients (RFC 7517), as they are registered or fetched. Public keys only, and of
 * each key only what it takes to verify a signature.
 */

export type PublicKey = Record<string, string>;

export interface KeySet {
  keys: PublicKey[];
}

const MAX_KEYS = 20;
const MAX_MEMBER = 4_096;
/** The members of each kind of key that make up the key itself. */
const KINDS: Record<string, readonly string[]> = {
  RSA: ['n', 'e'],
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x'],
};
const LABELS = ['kid', 'alg', 'use'];
/** Members of private and symmetric keys: whoever publishes one has lost it. */
const SECRETS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k'];

/** The public keys of a set; keys of other kinds are left out. A text says what is wrong with it. */
export function readKeySet(value: unknown): KeySet | string {
  const given = isObject(value) ? value['keys'] : undefined;
  if (!Array.isArray(given) || given.length > MAX_KEYS) {
    return `must be a JSON Web Key Set of at most ${MAX_KEYS} keys`;
  }
  const keys: PublicKey[] = [];
  for (const key of given as unknown[]) {
    if (!isObject(key)) return 'must hold JSON Web Keys';
    if (SECRETS.some((member) => member in key)) return 'must not hold secret keys';
    const publicKey = readPublicKey(key);
    if (publicKey !== undefined) keys.push(publicKey);
  }
  return { keys };
}

function readPublicKey(key: Record<string, unknown>): PublicKey | undefined {
  const kind = key['kty'];
  const members = typeof kind === 'string' && Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (typeof kind !== 'string' || members === undefined) return undefined;
  if (key['use'] !== undefined && key['use'] !== 'sig') return undefined;
  const kept: PublicKey = { kty: kind };
  for (const member of members) {
    const value = key[member];
    if (typeof value !== 'string' || value === '' || value.length > MAX_MEMBER) return undefined;
    kept[member] = value;
  }
  for (const label of LABELS) {
    const value = key[label];
    if (typeof value === 'string' && value !== '' && value.length <= MAX_MEMBER)
      kept[label] = value;
  }
  return kept;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
