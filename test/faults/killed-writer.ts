import { writeSync } from 'node:fs';
import { revokeGrants } from '#src/storage/revoke.ts';
import { openStore } from '#src/storage/open.ts';
import { makeClient, makeGrant, makeUser } from '../support/stores.ts';

/** Makes and revokes grants until it is killed; says each on stdout when it is committed. */

const STDOUT = 1;
/** Stops by itself when nobody kills it. */
const MOST = 2_000;

const [url = '', key = '', round = ''] = process.argv.slice(2);
await using store = await openStore({ url, auditKey: Buffer.from(key, 'hex') });
const user = await makeUser(store, `writer-${round}`);
const clientId = await makeClient(store, `cli_${round}`);
for (let count = 0; count < MOST; count += 1) {
  const grant = await makeGrant(store, { user, clientId });
  writeSync(STDOUT, `created ${grant.id}\n`);
  await store.transaction((work) =>
    revokeGrants(work, { actor: 'writer', reason: 'administrator', where: { ids: [grant.id] } }),
  );
  writeSync(STDOUT, `revoked ${grant.id}\n`);
}
