import { createKeys, environmentKeys, fileKeys, hasKeys } from '#src/credentials/key-file.ts';
import { KeyRing } from '#src/credentials/key-ring.ts';
import type { Clock } from './clock.ts';
import { AppError } from './errors.ts';
import type { Project } from './project.ts';
import { listSigningKeys, lockKeys, registerSigningKey } from '#src/storage/signing-keys.ts';
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
  /** Instead of the store's own time, for tests. */
  clock?: Clock | undefined;
  /** Begin with new keys although the store was written with others: they are lost. */
  newKeys?: boolean | undefined;
  /** Let the store know keys that it has not seen: a server's business. Who only looks changes nothing. */
  register?: boolean | undefined;
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
    clock: options.clock,
  });
  try {
    if (options.newKeys !== true) await requireOwnKeys(project, store, keys);
    const areNew = keys === undefined;
    keys ??= await makeKeys(project, store);
    if (areNew || options.register === true) await registerKeys(store, keys, options.actor);
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
 * A store that was written with other keys belongs to a project whose keys are elsewhere: another
 * machine's, or in a backup. These ones would end its logins and break its audit log.
 */
async function requireOwnKeys(
  project: Project,
  store: Store,
  keys: KeyRing | undefined,
): Promise<void> {
  const isOwn = (known: readonly { kid: string }[]): boolean =>
    known.length === 0 || known.some(({ kid }) => keys?.find(kid) !== undefined);
  if (isOwn(await listSigningKeys(store.db))) return;
  // A rotation writes the file before it commits: this waits for it, and looks again.
  const known = await store.transaction(async (work) => {
    await lockKeys(work);
    return listSigningKeys(work.db);
  });
  if (isOwn(known)) return;
  const lost = 'Are they lost? castellan keys rotate --now';
  throw project.environment.keys === undefined
    ? new AppError(
        'keys_invalid',
        `The state store was written with keys that are not in ${project.keysFolder}`,
        { hint: `Copy keys/castellan.json from the machine or backup that has it. ${lost}` },
      )
    : new AppError(
        'keys_invalid',
        'The state store was written with keys that are not in CASTELLAN_KEYS',
        { hint: "Set it to the keys of this project: another one's may have been left in it." },
      );
}

async function makeKeys(project: Project, store: Store): Promise<KeyRing> {
  await createKeys(project.keysFolder, store.clock.now(), store.random);
  return KeyRing.open(fileKeys(project.keysFolder));
}

function requireKeys(keys: KeyRing | undefined): KeyRing {
  if (keys === undefined)
    throw new AppError('internal', 'an audit row was written before there were keys');
  return keys;
}
