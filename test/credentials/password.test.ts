import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DECOY, hashPassword, verifyPassword } from '#src/credentials/password.ts';

const PASSWORD = 'correct horse battery staple';
const COSTS = /^\$argon2id\$v=19\$m=19456,(t=2,p=1|p=1,t=2)\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;

describe('a password', () => {
  it('is kept as argon2id with a salt of its own', async () => {
    const [one, other] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)]);
    assert.match(one, COSTS);
    assert.notEqual(one, other);
    assert.ok(await verifyPassword(one, PASSWORD));
    assert.ok(await verifyPassword(other, PASSWORD));
  });

  it('is the same on every keyboard, and only that', async () => {
    const hash = await hashPassword('na\u00efve caf\u00e9 12');
    assert.ok(await verifyPassword(hash, 'nai\u0308ve cafe\u0301 12'), 'decomposed');
    const others = ['naive cafe 12', 'NA\u00cfVE CAF\u00c9 12', ' na\u00efve caf\u00e9 12', ''];
    for (const other of others) assert.equal(await verifyPassword(hash, other), false, other);
  });

  it('is not cut at any length, and may hold a NUL', async () => {
    const long = 'x'.repeat(1_023);
    const hash = await hashPassword(`${long}a\0b`);
    assert.ok(await verifyPassword(hash, `${long}a\0b`));
    assert.equal(await verifyPassword(hash, `${long}a\0c`), false);
    assert.equal(await verifyPassword(hash, `${long}a`), false);
  });

  it('of nobody is checked against a decoy of the same cost', async () => {
    assert.match(DECOY, COSTS);
    for (const guess of [PASSWORD, '', DECOY]) {
      assert.equal(await verifyPassword(undefined, guess), false);
    }
  });
});
