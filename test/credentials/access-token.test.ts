import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AccessTokenVerifier,
  signAccessToken,
  type AccessTokenClaims,
  type TokenProblem,
} from '#src/credentials/access-token.ts';
import { KeyRing } from '#src/credentials/key-ring.ts';
import { TestClock } from '../support/stores.ts';
import { claimsAt, forge, forgeRsa, forgeUnsigned, ISSUER, storedKey, testKeys } from './forge.ts';

const K1 = storedKey('k1', 1);
const K2 = storedKey('k2', 2, 'retiring');
const HEADER = { alg: 'HS256', typ: 'at+jwt', kid: 'k1' };

async function setUp() {
  const keys = testKeys(K1, K2);
  const ring = await KeyRing.open(keys);
  const clock = new TestClock();
  const verifier = new AccessTokenVerifier({ ring, clock, issuer: ISSUER, audience: ISSUER });
  /** What the verifier says: the kid of a good token, or the problem. */
  const verdict = async (token: string): Promise<string> => {
    const verified = await verifier.verify(token);
    return typeof verified === 'string' ? verified : `signed by ${verified.kid}`;
  };
  const claims = (change?: Partial<AccessTokenClaims>) => claimsAt(clock.now(), change);
  return { keys, ring, clock, verifier, verdict, claims };
}

describe('a good access token', () => {
  it('says what was signed', async () => {
    const { ring, verifier, claims } = await setUp();
    const token = await signAccessToken(ring, claims());
    assert.deepEqual(await verifier.verify(token), { claims: claims(), kid: 'k1' });
    // The second time it is remembered, and says the same.
    assert.deepEqual(await verifier.verify(token), { claims: claims(), kid: 'k1' });
  });

  it('may be signed by an older key', async () => {
    const { verdict, claims } = await setUp();
    assert.equal(await verdict(forge({ ...HEADER, kid: 'k2' }, claims(), K2)), 'signed by k2');
  });

  it('is good until the second in which it expires, without leeway', async () => {
    const { clock, verdict, claims } = await setUp();
    const token = forge(HEADER, claims(), K1);
    clock.advance(899_999);
    assert.equal(await verdict(token), 'signed by k1');
    clock.advance(1);
    assert.equal(await verdict(token), 'expired', 'though its signature is remembered');
    assert.equal(await verdict(forge(HEADER, claims({ exp: claims().iat }), K1)), 'expired');
  });
});

describe('clocks that differ', () => {
  const cases: [
    name: string,
    change: (now: number) => Partial<AccessTokenClaims>,
    verdict: string,
  ][] = [
    ['30 s ahead', (now) => ({ iat: now + 30 }), 'signed by k1'],
    ['31 s ahead', (now) => ({ iat: now + 31 }), 'not_yet'],
    ['nbf 30 s ahead', (now) => ({ nbf: now + 30 }), 'signed by k1'],
    ['nbf 31 s ahead', (now) => ({ nbf: now + 31 }), 'not_yet'],
    ['an hour behind', (now) => ({ iat: now - 3_600 }), 'signed by k1'],
    ['expired by a second', (now) => ({ exp: now - 1 }), 'expired'],
    ['expiring now', (now) => ({ exp: now }), 'expired'],
    ['a second left', (now) => ({ exp: now + 1 }), 'signed by k1'],
  ];
  for (const [name, change, expected] of cases) {
    it(`${name}: ${expected}`, async () => {
      const { verdict, claims } = await setUp();
      assert.equal(await verdict(forge(HEADER, claims(change(claims().iat)), K1)), expected);
    });
  }

  it('a token from the future is refused again, and good when its time has come', async () => {
    const { clock, verdict, claims } = await setUp();
    const token = forge(HEADER, claims({ iat: claims().iat + 40, exp: claims().exp + 40 }), K1);
    assert.equal(await verdict(token), 'not_yet');
    assert.equal(await verdict(token), 'not_yet');
    clock.advance(10_000);
    assert.equal(await verdict(token), 'signed by k1');
  });
});

describe('a token that was not made for us', () => {
  const other = 'https://other.example/mcp';
  const wrong: [name: string, change: object][] = [
    ['another issuer', { iss: other }],
    ['our issuer with a slash', { iss: `${ISSUER}/` }],
    ['another audience', { aud: other }],
    ['our audience in a list', { aud: [ISSUER] }],
    ['no audience', { aud: undefined }],
    ['no subject', { sub: undefined }],
    ['no grant', { gid: undefined }],
    ['a grant that is no text', { gid: { $ne: null } }],
    ['no client', { client_id: undefined }],
    ['no jti', { jti: undefined }],
    ['no expiry', { exp: undefined }],
    ['an expiry in text', { exp: '9999999999' }],
    ['an expiry with a fraction', { exp: 9_999_999_999.5 }],
    ['no issue time', { iat: undefined }],
    ['an nbf in text', { nbf: '1' }],
  ];
  for (const [name, change] of wrong) {
    it(`wrong_claims: ${name}`, async () => {
      const { verdict, claims } = await setUp();
      assert.equal(await verdict(forge(HEADER, { ...claims(), ...change }, K1)), 'wrong_claims');
    });
  }

  const payloads: [name: string, payload: string][] = [
    ['a list', '[]'],
    ['null', 'null'],
    ['text', '"usr_1"'],
    ['no JSON', '{"iss":'],
  ];
  for (const [name, payload] of payloads) {
    it(`wrong_claims: a payload that is ${name}`, async () => {
      const { verdict } = await setUp();
      assert.equal(await verdict(forge(HEADER, payload, K1)), 'wrong_claims');
    });
  }
});

describe('a forged token', () => {
  type Forge = (claims: AccessTokenClaims) => string;
  const cases: [name: string, problem: TokenProblem, forge: Forge][] = [
    ['none as its algorithm', 'malformed', (c) => forgeUnsigned({ ...HEADER, alg: 'none' }, c)],
    ['None as its algorithm', 'malformed', (c) => forgeUnsigned({ ...HEADER, alg: 'None' }, c)],
    ['no algorithm', 'malformed', (c) => forge({ typ: 'at+jwt', kid: 'k1' }, c, K1)],
    ['no signature', 'bad_signature', (c) => forgeUnsigned(HEADER, c)],
    [
      'HS512, with the right key',
      'malformed',
      (c) => forge({ ...HEADER, alg: 'HS512' }, c, { ...K1, hash: 'sha512' }),
    ],
    ['RS256', 'malformed', (c) => forgeRsa({ ...HEADER, alg: 'RS256' }, c)],
    ['RSA called HS256', 'bad_signature', (c) => forgeRsa(HEADER, c)],
    ['SHA-512 called HS256', 'bad_signature', (c) => forge(HEADER, c, { ...K1, hash: 'sha512' })],
    ['the type of an ID token', 'malformed', (c) => forge({ ...HEADER, typ: 'JWT' }, c, K1)],
    ['no type', 'malformed', (c) => forge({ alg: 'HS256', kid: 'k1' }, c, K1)],
    ['no kid', 'malformed', (c) => forge({ alg: 'HS256', typ: 'at+jwt' }, c, K1)],
    ['a kid that nobody has', 'unknown_key', (c) => forge({ ...HEADER, kid: 'k9' }, c, K1)],
    ['a kid that is a path', 'unknown_key', (c) => forge({ ...HEADER, kid: '../../etc' }, c, K1)],
    ['__proto__ as its kid', 'unknown_key', (c) => forge({ ...HEADER, kid: '__proto__' }, c, K1)],
    ['a number as its kid', 'unknown_key', (c) => forge({ ...HEADER, kid: 1 }, c, K1)],
    ['the kid of another key', 'bad_signature', (c) => forge({ ...HEADER, kid: 'k2' }, c, K1)],
    ['a key of its own', 'bad_signature', (c) => forge(HEADER, c, storedKey('k1', 9))],
    [
      'a key of its own in the header',
      'bad_signature',
      (c) => {
        const mine = storedKey('k1', 9);
        return forge({ ...HEADER, jwk: { kty: 'oct', k: mine.secret } }, c, mine);
      },
    ],
    [
      'an extension that nobody knows',
      'bad_signature',
      (c) => forge({ ...HEADER, crit: ['exp'] }, c, K1),
    ],
    [
      'the payload of another token',
      'bad_signature',
      (c) => {
        const [header, , signature] = forge(HEADER, c, K1).split('.');
        const [, payload] = forge(HEADER, { ...c, gid: 'gr_2' }, K1).split('.');
        return [header, payload, signature].join('.');
      },
    ],
    ['a cut signature', 'bad_signature', (c) => forge(HEADER, c, K1).slice(0, -6)],
    ['two parts', 'malformed', (c) => forge(HEADER, c, K1).split('.').slice(0, 2).join('.')],
    ['five parts', 'bad_signature', (c) => `${forge(HEADER, c, K1)}.a.b`],
    [
      'more than 4,096 characters',
      'malformed',
      (c) => forge(HEADER, { ...c, x: 'a'.repeat(9_000) }, K1),
    ],
  ];
  for (const [name, problem, make] of cases) {
    it(`${problem}: ${name}`, async () => {
      const { verdict, claims } = await setUp();
      const token = make(claims());
      assert.equal(await verdict(token), problem);
      assert.equal(await verdict(token), problem, 'refusals are not remembered as anything else');
    });
  }

  for (const garbage of ['', '.', '..', 'garbage', 'a.b.c', '\0', 'e30.e30.', '🙂.🙂.🙂']) {
    it(`malformed: ${JSON.stringify(garbage)}`, async () => {
      const { verdict } = await setUp();
      assert.equal(await verdict(garbage), 'malformed');
    });
  }
});

describe('a token of a key that changes', () => {
  it('counts no more once its key has left the ring, though its signature was remembered', async () => {
    const { keys, ring, verdict, claims } = await setUp();
    const token = forge({ ...HEADER, kid: 'k2' }, claims(), K2);
    assert.equal(await verdict(token), 'signed by k2');
    keys.file = { ...keys.file, signing: [K1] };
    await ring.refresh();
    assert.equal(await verdict(token), 'unknown_key');
  });

  it('counts at once when another process has rotated the keys', async () => {
    const { keys, verdict, claims } = await setUp();
    const fresh = storedKey('k3', 3);
    keys.file = { ...keys.file, signing: [fresh, { ...K1, status: 'retiring' }] };
    assert.equal(await verdict(forge({ ...HEADER, kid: 'k3' }, claims(), fresh)), 'signed by k3');
  });

  it('is signed with the key that is active now', async () => {
    const { keys, ring, verdict, claims } = await setUp();
    assert.equal(await verdict(await signAccessToken(ring, claims())), 'signed by k1');
    const fresh = storedKey('k3', 3);
    keys.file = { ...keys.file, signing: [fresh, { ...K1, status: 'retiring' }] };
    assert.equal(await verdict(await signAccessToken(ring, claims())), 'signed by k3');
  });

  it('names the grant and nothing that it permits', async () => {
    const { ring, claims } = await setUp();
    const [, payload = ''] = (await signAccessToken(ring, claims())).split('.');
    assert.deepEqual(Object.keys(JSON.parse(Buffer.from(payload, 'base64url').toString())), [
      'iss',
      'aud',
      'sub',
      'client_id',
      'gid',
      'iat',
      'exp',
      'jti',
    ]);
  });
});
