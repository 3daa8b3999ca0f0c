import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  decideAccess,
  grantStatus,
  type AccessDenial,
  type AccessRecord,
} from '#src/grants/grant.ts';
import type { ClientId, GrantId, UserId } from '#src/ids.ts';

const NOW = 1_800_000_000_000;
const CLAIMS = { sub: 'usr_1', client_id: 'cli_1' };
const GOOD: AccessRecord = {
  grantId: 'gr_1' as GrantId,
  userId: 'usr_1' as UserId,
  clientId: 'cli_1' as ClientId,
  userName: 'anna',
  clientName: 'App',
  privileges: '["reader"]',
  roles: '["clerk"]',
  userPrivileges: null,
  userStatus: 'active',
  clientStatus: 'active',
  expiresAt: NOW + 1,
  revokedAt: null,
  lastUsedAt: null,
  isServing: true,
  session: undefined,
  keyStatus: 'active',
  keyRetiresAt: null,
};

describe('whether a verified token may be used', () => {
  const cases: [name: string, change: Partial<AccessRecord>, denial: AccessDenial | undefined][] = [
    ['a live grant', {}, undefined],
    ['one that expires in a millisecond', { expiresAt: NOW + 1 }, undefined],
    ['one that expires now', { expiresAt: NOW }, 'grant_expired'],
    ['one that expired a millisecond ago', { expiresAt: NOW - 1 }, 'grant_expired'],
    ['one that was revoked', { revokedAt: NOW - 1 }, 'grant_revoked'],
    ['one that was revoked at this moment', { revokedAt: NOW }, 'grant_revoked'],
    ['one revoked by a machine whose clock is ahead', { revokedAt: NOW + 9 }, 'grant_revoked'],
    ['one revoked at the epoch', { revokedAt: 0 }, 'grant_revoked'],
    ['that of another person', { userId: 'usr_2' as UserId }, 'grant_mismatch'],
    ['that of another client', { clientId: 'cli_2' as ClientId }, 'grant_mismatch'],
    ['that of a disabled person', { userStatus: 'disabled' }, 'user_disabled'],
    ['that of a blocked client', { clientStatus: 'blocked' }, 'client_blocked'],
    ['a token of a key that the store does not know', { keyStatus: null }, 'key_dropped'],
    ['a token of a dropped key', { keyStatus: 'dropped', keyRetiresAt: NOW - 9 }, 'key_dropped'],
    ['one of a key dropped, wherever it ends', { keyStatus: 'dropped' }, 'key_dropped'],
    [
      'one of a key that retires later',
      { keyStatus: 'retiring', keyRetiresAt: NOW + 1 },
      undefined,
    ],
    ['one of a key that retires now', { keyStatus: 'retiring', keyRetiresAt: NOW }, 'key_dropped'],
  ];
  for (const [name, change, denial] of cases) {
    it(`${denial ?? 'yes'}: ${name}`, () => {
      assert.equal(decideAccess(CLAIMS, { ...GOOD, ...change }, NOW), denial);
    });
  }

  it('grant_unknown: no grant', () => {
    assert.equal(decideAccess(CLAIMS, undefined, NOW), 'grant_unknown');
  });

  it('says yes only when every single thing is in order', () => {
    const time = fc.integer({ min: NOW - 2, max: NOW + 2 });
    const record = fc.record({
      userId: fc.constantFrom('usr_1', 'usr_2'),
      clientId: fc.constantFrom('cli_1', 'cli_2'),
      userStatus: fc.constantFrom('active', 'disabled'),
      clientStatus: fc.constantFrom('active', 'blocked'),
      expiresAt: time,
      revokedAt: fc.option(time),
      keyStatus: fc.constantFrom('active', 'retiring', 'dropped', null),
      keyRetiresAt: fc.option(time),
    });
    fc.assert(
      fc.property(record, (change) => {
        const isInOrder =
          change.userId === CLAIMS.sub &&
          change.clientId === CLAIMS.client_id &&
          change.userStatus === 'active' &&
          change.clientStatus === 'active' &&
          change.expiresAt > NOW &&
          change.revokedAt === null &&
          (change.keyStatus === 'active' || change.keyStatus === 'retiring') &&
          (change.keyRetiresAt ?? NOW + 1) > NOW;
        const denial = decideAccess(CLAIMS, { ...GOOD, ...change } as AccessRecord, NOW);
        assert.equal(denial === undefined, isInOrder);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the status of a grant', () => {
  const cases: [revokedAt: number | null, expiresAt: number, status: string][] = [
    [null, NOW + 1, 'active'],
    [null, NOW, 'expired'],
    [null, NOW - 1, 'expired'],
    [NOW - 5, NOW + 1, 'revoked'],
    [NOW - 5, NOW - 1, 'revoked'],
    [0, NOW + 1, 'revoked'],
  ];
  for (const [revokedAt, expiresAt, status] of cases) {
    it(`is ${status} with revokedAt ${revokedAt} and ${expiresAt - NOW} ms left`, () => {
      assert.equal(grantStatus({ revokedAt, expiresAt }, NOW), status);
    });
  }
});
