import { createKeys, environmentKeys, fileKeys, hasKeys } from '#src/credentials/key-file.ts';
import { KeyRing } from '#src/credentials/key-ring.ts';
import { AppError } from './errors.ts';
import { systemRandom } from './ids.ts';
import type { Project } from './project.ts';
import { listSigningKeys, registerSigningKey } from '#src/storage/signing-keys.ts';
import { openStore, type Store } from '#src/storage/open.ts';

/** A project's keys and state store, opened as the server and every command do it. */

export interface OpenProject {
  project: Project;
  keys: KeyRing;
  store: Store;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface OpenOptions {
  /** Who is named in audit rows. */
  actor: string;
  onError?: ((message: string) => void) | undefined;
  /** Begin with new keys although the store was written with others: they are lost. */
  newKeys?: boolean | undefined;
}

/**
 * Opens the keys, made when the project is new, and the state store, brought to this version.
 * @throws `keys_unsafe`, `keys_invalid`, `store_unavailable`, `state_too_new`.
 */
export async function openProject(project: Project, options: OpenOptions): Promise<OpenProject> {
  // Keys that are there are read first: when they cannot be used, the store is not even opened.
  let keys = await existingKeys(project);
  const store = await openStore({
    url: project.stateUrl,
    auditKey: () => requireKeys(keys).auditKey,
    onError: options.onError,
  });
  try {
    keys ??= await makeKeys(project, store, options.newKeys === true);
    await registerKeys(store, keys, options.actor);
    return { project, keys, store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

/** The store must know a key before a token that it signed counts. */
export async function registerKeys(store: Store, keys: KeyRing, actor: string): Promise<void> {
  const known = new Set((await listSigningKeys(store.db)).map((state) => state.kid));
  const added = keys.all().filter((key) => !known.has(key.kid));
  if (added.length === 0) return;
  await store.transaction(async (work) => {
    for (const key of added) await registerSigningKey(work, actor, key);
  });
}

async function existingKeys(project: Project): Promise<KeyRing | undefined> {
  const { environment, keysFolder } = project;
  if (environment.keys !== undefined) return KeyRing.open(environmentKeys(environment.keys));
  return (await hasKeys(keysFolder)) ? KeyRing.open(fileKeys(keysFolder)) : undefined;
}

/**
 * Keys for a new project. A store that was written with other keys belongs to a project whose keys are
 * elsewhere: another machine's, or in a backup. New ones would end its logins and break its audit log.
 */
async function makeKeys(project: Project, store: Store, newKeys: boolean): Promise<KeyRing> {
  const known = newKeys ? [] : await listSigningKeys(store.db);
  if (known.length > 0) {
    throw new AppError(
      'keys_invalid',
      `The state store was written with keys that are not in ${project.keysFolder}`,
      {
        hint: 'Copy keys/castellan.json from the machine or backup that has it. Are they lost? castellan keys rotate --now',
      },
    );
  }
  await createKeys(project.keysFolder, Date.now(), systemRandom);
  return KeyRing.open(fileKeys(project.keysFolder));
}

function requireKeys(keys: KeyRing | undefined): KeyRing {
  if (keys === undefined)
    throw new AppError('internal', 'an audit row was written before there were keys');
  return keys;
}
