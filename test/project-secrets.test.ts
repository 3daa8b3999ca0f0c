import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadProject } from '#src/project.ts';
import { openProject } from '#src/project-secrets.ts';
import { listSigningKeys } from '#src/storage/signing-keys.ts';
import { TestClock } from './support/stores.ts';
import { temporaryFolder } from './support/temp.ts';

it('the keys of a new project are as old as the store says', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'castellan.config.json'), '{}');
  const clock = new TestClock();
  await using opened = await openProject(await loadProject(folder.path), { actor: 'test', clock });
  const created = [clock.now()];
  assert.deepEqual(
    opened.keys.all().map((key) => key.createdAt),
    created,
  );
  const known = await listSigningKeys(opened.store.db);
  assert.deepEqual(
    known.map((key) => key.createdAt),
    created,
  );
});
