import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileAccess, type Access } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';
import { AccessTokenVerifier, signAccessToken } from '#src/credentials/access-token.ts';
import {
  createAuthenticator,
  type Authentication,
  type Authenticator,
} from '#src/credentials/authenticate.ts';
import { KeyRing } from '#src/credentials/key-ring.ts';
import type { Grant } from '#src/grants/grant.ts';
import { findGrant } from '#src/storage/grants.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import type { Store } from '#src/storage/open.ts';
import { registerSigningKey, retireSigningKeys } from '#src/storage/signing-keys.ts';
import { disableUser } from '#src/storage/users.ts';
import type { User } from '#src/users/user.ts';
import { makeClient, makeGrant, makeUser, testDatabase, TestClock } from '../support/stores.ts';
import { claimsAt, ISSUER, storedKey, testKeys } from './forge.ts';

const HOME = '192.0.2.7';

function rolesOf(holds: string[]): Access {
  return compileAccess(
    rolesSchema.parse({
      privileges: [
        { privilege: 'reader' },
        { privilege: 'writer', includes: ['reader'] },
        { privilege: 'admin' },
      ],
      roles: [{ role: 'clerk', privileges: holds }],
    }),
  );
}

interface House {
  store: Store;
  clock: TestClock;
  authenticator: Authenticator;
  user: User;
  grant: Grant;
  token: string;
  setAccess(access: Access): void;
  reason(authorization: string | undefined): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function openHouse(privileges = ['writer']): Promise<House> {
  const database = await testDatabase('sqlite');
  const clock = new TestClock();
  const store = await database.open(clock);
  const ring = await KeyRing.open(testKeys(storedKey('k1', 1)));
  await store.transaction((work) =>
    registerSigningKey(work, 'test', { kid: 'k1', createdAt: work.now }),
  );
  const user = await makeUser(store);
  const grant = await makeGrant(store, { user, clientId: await makeClient(store), privileges });
  const verifier = new AccessTokenVerifier({ ring, clock, issuer: ISSUER, audience: ISSUER });
  let access = rolesOf(['writer', 'admin']);
  const authenticator = createAuthenticator({ store, verifier, access: () => access });
  const claims = { sub: user.id, client_id: grant.clientId, gid: grant.id };
  return {
    store,
    clock,
    authenticator,
    user,
    grant,
    token: await signAccessToken(ring, claimsAt(clock.now(), claims)),
    setAccess: (next) => (access = next),
    async reason(authorization) {
      return describeOutcome(await authenticator.authenticate(authorization, HOME));
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

function describeOutcome(outcome: Authentication): string {
  if (outcome.ok) return 'ok';
  return outcome.credentialSent ? `${outcome.reason}, sent` : outcome.reason;
}

describe('the Authorization header', () => {
  const cases: [header: string | undefined, outcome: string][] = [
    ['Bearer TOKEN', 'ok'],
    ['bearer TOKEN', 'ok'],
    ['BEARER TOKEN', 'ok'],
    ['Bearer   TOKEN  ', 'ok'],
    [undefined, 'no_credential'],
    ['', 'malformed_header'],
    ['Bearer', 'malformed_header'],
    ['Bearer ', 'malformed_header'],
    ['BearerTOKEN', 'malformed_header'],
    ['TOKEN', 'malformed_header'],
    // Another scheme is like no credential: the challenge then says no error (RFC 6750, 3.1).
    ['Basic YW5uYTpzZWNyZXQ=', 'malformed_header'],
    ['DPoP TOKEN', 'malformed_header'],
    ['Bearer TOKEN TOKEN', 'malformed_header, sent'],
    ['Bearer TOKEN, Bearer TOKEN', 'malformed_header, sent'],
    ['Bearer TOKEN,TOKEN', 'malformed_header, sent'],
    ['Bearer\tTOKEN', 'malformed_header'],
    ['Bearer "TOKEN"', 'malformed_header, sent'],
    ['Bearer =', 'malformed_header, sent'],
    ['Bearer tökén', 'malformed_header, sent'],
    ['Bearer TOKEN\n', 'malformed_header, sent'],
    ['Bearer garbage', 'malformed, sent'],
    ['Bearer a.b.c', 'malformed, sent'],
    [`Bearer ${'a'.repeat(9_000)}`, 'malformed, sent'],
  ];
  it('is one bearer token', async () => {
    await using house = await openHouse();
    for (const [header, outcome] of cases) {
      const authorization = header?.replaceAll('TOKEN', house.token);
      assert.equal(await house.reason(authorization), outcome, String(header));
    }
  });

  it('is refused in linear time, whatever it holds', async () => {
    await using house = await openHouse();
    const long = `Bearer ${' '.repeat(30_000)}${'='.repeat(30_000)} ,`;
    const started = performance.now();
    assert.equal(await house.reason(long), 'malformed_header, sent');
    assert.ok(performance.now() - started < 1_000);
  });
});

describe('a caller with a good token', () => {
  it('is who the grant says, with what it amounts to now', async () => {
    await using house = await openHouse();
    const outcome = await house.authenticator.authenticate(`Bearer ${house.token}`, HOME);
    assert.ok(outcome.ok);
    const { effective, attainable, ...rest } = outcome.principal;
    assert.deepEqual(rest, {
      user: { id: house.user.id, name: 'anna', roles: ['clerk'] },
      client: { id: house.grant.clientId, name: 'Test client' },
      grantId: house.grant.id,
      session: undefined,
      granted: ['writer'],
    });
    assert.deepEqual([...effective].toSorted(), ['reader', 'writer']);
    assert.deepEqual([...attainable].toSorted(), ['admin', 'reader', 'writer']);
  });

  it('has never more than the roles give, at the very next request after they changed', async () => {
    await using house = await openHouse(['writer', 'admin']);
    const effective = async (): Promise<string[]> => {
      const outcome = await house.authenticator.authenticate(`Bearer ${house.token}`, HOME);
      return outcome.ok ? [...outcome.principal.effective].toSorted() : [outcome.reason];
    };
    assert.deepEqual(await effective(), ['admin', 'reader', 'writer']);
    house.setAccess(rolesOf(['reader']));
    assert.deepEqual(await effective(), ['reader']);
    house.setAccess(rolesOf([]));
    assert.deepEqual(await effective(), ['no_privileges']);
    house.setAccess(rolesOf(['admin']));
    assert.deepEqual(await effective(), ['admin']);
  });
});

describe('a token counts no more at the very next request', () => {
  const cases: [name: string, outcome: string, end: (house: House) => Promise<unknown> | void][] = [
    [
      'when its grant was revoked',
      'grant_revoked, sent',
      ({ store, grant }) =>
        store.transaction((work) =>
          revokeGrants(work, { actor: 'cli', reason: 'administrator', where: { ids: [grant.id] } }),
        ),
    ],
    [
      'when its person was disabled',
      'grant_revoked, sent',
      ({ store, user }) => store.transaction((work) => disableUser(work, 'cli', user)),
    ],
    [
      'when its client was blocked',
      'client_blocked, sent',
      ({ store }) => store.db.updateTable('clients').set({ status: 'blocked' }).execute(),
    ],
    [
      'when its key was dropped',
      'key_dropped, sent',
      ({ store }) =>
        store.transaction((work) =>
          retireSigningKeys(work, 'cli', { keep: 'k2', retiresAt: null }),
        ),
    ],
    [
      'when its grant is gone',
      'grant_unknown, sent',
      ({ store }) => store.db.deleteFrom('grants').execute(),
    ],
    ['when it expired', 'expired, sent', ({ clock }) => clock.advance(900_000)],
  ];
  for (const [name, outcome, end] of cases) {
    it(name, async () => {
      await using house = await openHouse();
      const before = await house.authenticator.authenticate(`Bearer ${house.token}`, HOME);
      assert.ok(before.ok);
      assert.equal(await before.recheck(), undefined);
      await end(house);
      assert.equal(await house.reason(`Bearer ${house.token}`), outcome);
      // Work under way ends with the grant, not with the token that began it.
      const reason = outcome.replace(', sent', '');
      assert.equal(await before.recheck(), reason === 'expired' ? undefined : reason);
    });
  }

  it('and fails closed when the store does not answer', async () => {
    await using house = await openHouse();
    const before = await house.authenticator.authenticate(`Bearer ${house.token}`, HOME);
    assert.ok(before.ok);
    await house.store[Symbol.asyncDispose]();
    await assert.rejects(house.reason(`Bearer ${house.token}`), { code: 'store_unavailable' });
    await assert.rejects(before.recheck(), { code: 'store_unavailable' });
  });
});

describe('a token that looks genuine', () => {
  it('is signed by us and has not expired; the store is not asked', async () => {
    await using house = await openHouse();
    const { authenticator, token } = house;
    await house.store[Symbol.asyncDispose]();
    const cases: [header: string | undefined, looksGenuine: boolean][] = [
      [`Bearer ${token}`, true],
      [undefined, false],
      ['', false],
      ['Basic YW5uYTpzZWNyZXQ=', false],
      ['Bearer garbage', false],
      [`Bearer ${token.slice(0, -3)}abc`, false],
      [`Bearer ${token}, Bearer ${token}`, false],
    ];
    for (const [header, looksGenuine] of cases)
      assert.equal(await authenticator.looksGenuine(header), looksGenuine, String(header));
    house.clock.advance(900_000);
    assert.equal(await authenticator.looksGenuine(`Bearer ${token}`), false);
  });
});

describe('last use', () => {
  /** Notes are written one after the other, so that this read comes after those under way. */
  const lastUse = async ({ store, grant }: House): Promise<unknown[]> => {
    const read = await findGrant(store.notes, grant.id);
    return [read?.lastUsedAt, read?.lastUsedIp];
  };

  it('is written at the first request, then at most every 30 seconds', async () => {
    await using house = await openHouse();
    const { clock, authenticator } = house;
    const start = clock.now();
    const call = (address: string) => authenticator.authenticate(`Bearer ${house.token}`, address);
    assert.deepEqual(await lastUse(house), [null, null]);
    await call('192.0.2.1');
    assert.deepEqual(await lastUse(house), [start, '192.0.2.1']);
    clock.advance(29_999);
    await call('192.0.2.2');
    assert.deepEqual(await lastUse(house), [start, '192.0.2.1']);
    clock.advance(1);
    await call('192.0.2.3');
    assert.deepEqual(await lastUse(house), [start + 30_000, '192.0.2.3']);
  });

  it('is not written for a request that is refused', async () => {
    await using house = await openHouse();
    house.setAccess(rolesOf([]));
    assert.equal(await house.reason(`Bearer ${house.token}`), 'no_privileges, sent');
    assert.deepEqual(await lastUse(house), [null, null]);
  });

  it('is not written by a process that sees what another one wrote', async () => {
    await using house = await openHouse();
    const { store, clock, grant } = house;
    const at = clock.now();
    await store.db
      .updateTable('grants')
      .set({ last_used_at: at, last_used_ip: '192.0.2.9' })
      .execute();
    clock.advance(29_999);
    assert.equal(await house.reason(`Bearer ${house.token}`), 'ok');
    assert.equal((await findGrant(store.notes, grant.id))?.lastUsedIp, '192.0.2.9');
  });

  it('never fails a request', async () => {
    await using house = await openHouse();
    await house.store.notes.destroy();
    assert.equal(await house.reason(`Bearer ${house.token}`), 'ok');
    assert.equal(await house.reason(`Bearer ${house.token}`), 'ok');
  });
});
