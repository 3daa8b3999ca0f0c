import argon2 from 'argon2';

/*
 * Passwords, argon2id at 19 MiB, two passes, one lane (OWASP's minimum). A login for a name that does
 * not exist verifies against a decoy, so that it takes the same time.
 */

const OPTIONS = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** A PHC string with a salt of its own. Takes some 20 ms on a worker thread. */
export async function hashPassword(password: string): Promise<string> {
  return argon2.hash(normalise(password), OPTIONS);
}

/**
 * Whether a password is the one with this hash.
 * @param hash the account's hash; without an account, or one with a password, false just as late.
 */
export async function verifyPassword(
  hash: string | null | undefined,
  password: string,
): Promise<boolean> {
  const matches = await argon2.verify(hash ?? DECOY, normalise(password));
  return matches && typeof hash === 'string';
}

/** Of 32 random bytes that nobody kept, with the same costs as `OPTIONS`. */
export const DECOY =
  '$argon2id$v=19$m=19456,p=1,t=2$NDjS8IfvDAIA1l8nZFm5Hg$xYGgB1Ey7BI74Wk5Rn8G1bKRX6xgTOaqI54ER5WImjo';

/** The same password typed on two keyboards is the same bytes (RFC 8265's normalisation form). */
function normalise(password: string): string {
  return password.normalize('NFC');
}
