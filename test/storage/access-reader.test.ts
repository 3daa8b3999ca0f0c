import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { revokeGrants } from '#src/storage/revoke.ts';
import { registerSigningKey, retireSigningKeys } from '#src/storage/signing-keys.ts';
import type { Store } from '#src/storage/open.ts';
import { disableUser } from '#src/storage/users.ts';
import { makeClient, makeGrant, makeUser, STORE_KINDS, testDatabase } from '../support/stores.ts';

async function addKey(store: Store, kid: string): Promise<void> {
  await store.transaction((work) => registerSigningKey(work, 'test', { kid, createdAt: work.now }));
}

for (const kind of STORE_KINDS) {
  describe(`the check of every request on ${kind}`, () => {
    it('returns all that the decision needs in one read', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      const user = await makeUser(store);
      const clientId = await makeClient(store);
      const grant = await makeGrant(store, { user, clientId, privileges: ['reader', 'writer'] });
      await addKey(store, 'k1');
      const record = await store.readAccess(grant.id, 'k1');
      assert.deepEqual(record, {
        grantId: grant.id,
        userId: user.id,
        clientId,
        userName: 'anna',
        clientName: 'Test client',
        privileges: '["reader","writer"]',
        roles: '["clerk"]',
        userPrivileges: null,
        userStatus: 'active',
        clientStatus: 'active',
        expiresAt: grant.expiresAt,
        revokedAt: null,
        lastUsedAt: null,
        isServing: true,
        session: undefined,
        keyStatus: 'active',
        keyRetiresAt: null,
      });
    });

    it('knows neither grants nor keys that are not there', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      assert.equal(await store.readAccess('gr_none', 'k1'), undefined);
      const grant = await makeGrant(store, {
        user: await makeUser(store),
        clientId: await makeClient(store),
      });
      assert.equal((await store.readAccess(grant.id, 'k_none'))?.keyStatus, null);
    });

    it('answers many at once, each with its own grant and key', async () => {
      await using database = await testDatabase(kind);
      const store = await database.open();
      const user = await makeUser(store);
      const clientId = await makeClient(store);
      const grants = await Promise.all([1, 2, 3].map(() => makeGrant(store, { user, clientId })));
      await addKey(store, 'k1');
      await addKey(store, 'k2');
      const asked = grants.flatMap((grant) =>
        ['k1', 'k2', 'k3'].map((kid) => ({ id: grant.id, kid })),
      );
      const records = await Promise.all(
        asked.map(async ({ id, kid }) => store.readAccess(id, kid)),
      );
      records.forEach((record, index) => {
        assert.equal(record?.grantId, asked[index]?.id);
        assert.equal(record?.keyStatus, asked[index]?.kid === 'k3' ? null : 'active');
      });
    });

    it('sees what another process has committed at the very next read', async () => {
      await using database = await testDatabase(kind);
      const server = await database.open();
      const command = await database.open();
      const user = await makeUser(server);
      const grant = await makeGrant(server, { user, clientId: await makeClient(server) });
      await addKey(server, 'k1');
      await addKey(server, 'k2');
      assert.equal((await server.readAccess(grant.id, 'k1'))?.revokedAt, null);
      await command.transaction((work) =>
        retireSigningKeys(work, 'cli', { keep: 'k2', retiresAt: null }),
      );
      assert.equal((await server.readAccess(grant.id, 'k1'))?.keyStatus, 'dropped');
      await command.transaction((work) => disableUser(work, 'cli', user));
      const after = await server.readAccess(grant.id, 'k2');
      assert.equal(after?.userStatus, 'disabled');
      assert.notEqual(after?.revokedAt, null);
    });

    it('sees a revocation while a transaction of its own process is open', async () => {
      await using database = await testDatabase(kind);
      const server = await database.open();
      const command = await database.open();
      const grant = await makeGrant(server, {
        user: await makeUser(server),
        clientId: await makeClient(server),
      });
      await command.transaction((work) =>
        revokeGrants(work, { actor: 'cli', reason: 'administrator', where: { ids: [grant.id] } }),
      );
      await server.transaction(async () => {
        assert.notEqual((await server.readAccess(grant.id, 'k1'))?.revokedAt, null);
      });
    });
  });
}
