import { compactVerify, decodeProtectedHeader, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { toSeconds, type Clock } from '#src/clock.ts';
import { digest, type ClientId, type GrantId, type UserId } from '#src/ids.ts';
import type { KeyRing, SigningKey } from './key-ring.ts';

/*
 * Access tokens: JWTs (RFC 9068's `at+jwt`), HS256, naming the grant and nothing that it permits.
 * A good signature only says which grant to ask the store about.
 */

export interface AccessTokenClaims {
  iss: string;
  aud: string;
  sub: UserId;
  client_id: ClientId;
  gid: GrantId;
  iat: number;
  /** Ours have none. */
  nbf?: number;
  exp: number;
  jti: string;
}

/** A token whose signature, issuer, audience and times are right. Whether it counts, the store says. */
export interface VerifiedToken {
  claims: AccessTokenClaims;
  kid: string;
}

export type TokenProblem =
  | 'malformed'
  | 'unknown_key'
  | 'bad_signature'
  | 'wrong_claims'
  | 'expired'
  | 'not_yet';

const TOKEN_TYPE = 'at+jwt';
const ALGORITHM = 'HS256';
/** How far another machine's clock may be ahead, in seconds. There is none for `exp`. */
const LEEWAY_SECONDS = 30;
const MAX_TOKEN_LENGTH = 4_096;
const CACHED_SIGNATURES = 20_000;

/** Signs a token with the key that is active now. */
export async function signAccessToken(ring: KeyRing, claims: AccessTokenClaims): Promise<string> {
  const { kid, key } = await ring.active();
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: ALGORITHM, typ: TOKEN_TYPE, kid })
    .sign(key);
}

/** Verifies tokens. Good signatures are remembered by a hash of the token; nothing else is. */
export class AccessTokenVerifier {
  readonly #ring: KeyRing;
  readonly #clock: Clock;
  readonly #issuer: string;
  readonly #audience: string;
  readonly #verified = new LRUCache<string, VerifiedToken>({ max: CACHED_SIGNATURES });

  constructor(options: { ring: KeyRing; clock: Clock; issuer: string; audience: string }) {
    this.#ring = options.ring;
    this.#clock = options.clock;
    this.#issuer = options.issuer;
    this.#audience = options.audience;
    // A key that was dropped must not live on in remembered signatures.
    options.ring.onChange(() => this.#verified.clear());
  }

  async verify(token: string): Promise<VerifiedToken | TokenProblem> {
    if (token.length > MAX_TOKEN_LENGTH) return 'malformed';
    const cacheKey = digest(token);
    const known = this.#verified.get(cacheKey);
    if (known !== undefined) return this.#timeProblem(known.claims) ?? known;
    const checked = await this.#check(token);
    if (typeof checked === 'string') return checked;
    const problem = this.#timeProblem(checked.claims);
    if (problem !== undefined) return problem;
    this.#verified.set(cacheKey, checked);
    return checked;
  }

  async #check(token: string): Promise<VerifiedToken | TokenProblem> {
    let header;
    try {
      header = decodeProtectedHeader(token);
    } catch {
      return 'malformed';
    }
    if (header.alg !== ALGORITHM || header.typ !== TOKEN_TYPE || header.kid === undefined)
      return 'malformed';
    const signing = await this.#findKey(header.kid);
    if (signing === undefined) return 'unknown_key';
    let payload;
    try {
      ({ payload } = await compactVerify(token, signing.key, { algorithms: [ALGORITHM] }));
    } catch {
      return 'bad_signature';
    }
    const claims = readClaims(payload);
    if (claims === undefined || claims.iss !== this.#issuer || claims.aud !== this.#audience)
      return 'wrong_claims';
    return { claims, kid: signing.kid };
  }

  /** Another process may have rotated the keys since they were read. */
  async #findKey(kid: string): Promise<SigningKey | undefined> {
    const known = this.#ring.find(kid);
    if (known !== undefined) return known;
    await this.#ring.refresh();
    return this.#ring.find(kid);
  }

  #timeProblem(claims: AccessTokenClaims): TokenProblem | undefined {
    const now = toSeconds(this.#clock.now());
    if (claims.exp <= now) return 'expired';
    return Math.max(claims.iat, claims.nbf ?? 0) > now + LEEWAY_SECONDS ? 'not_yet' : undefined;
  }
}

function readClaims(payload: Uint8Array): AccessTokenClaims | undefined {
  let claims: Partial<AccessTokenClaims>;
  try {
    claims = JSON.parse(new TextDecoder().decode(payload)) as Partial<AccessTokenClaims>;
  } catch {
    return undefined;
  }
  if (typeof claims !== 'object' || claims === null) return undefined;
  const texts = [claims.iss, claims.aud, claims.sub, claims.client_id, claims.gid, claims.jti];
  const times = [claims.iat, claims.exp, claims.nbf ?? 0];
  const complete = texts.every((text) => typeof text === 'string') && times.every(Number.isInteger);
  return complete ? (claims as AccessTokenClaims) : undefined;
}
