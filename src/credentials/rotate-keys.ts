import { DAY, SECOND } from '#src/clock.ts';
import { AppError } from '#src/errors.ts';
import {
  listSigningKeys,
  lockKeys,
  registerSigningKey,
  retireSigningKeys,
} from '#src/storage/signing-keys.ts';
import type { Store, Work } from '#src/storage/open.ts';
import { newStoredKey, writeKeys, type KeyFile, type KeySource } from './key-file.ts';

/*
 * Key rotation. Without hurry the old key verifies until its last token has expired. At once, it is
 * dropped: the store says so in the transaction that this command waits for, and every process asks
 * the store at every request.
 */

export interface RotateOptions {
  folder: string;
  source: KeySource;
  store: Store;
  actor: string;
  /** Life of an access token: how long the old key is still needed. */
  accessTokenTtlSeconds: number;
  now: boolean;
}

export interface Rotated {
  kid: string;
  retired: string[];
}

/** Keys that retired this long ago leave the file; cookies that they signed have expired by then. */
const KEPT_AFTER_RETIREMENT_MS = DAY;

/**
 * Makes a new signing key and retires the others. Rotations take turns under a lock in the store. Killed
 * between the file and the commit, the file names a key that the store learns of from a server or from
 * the next rotation. Killed there with `now`, it names no other, and only a rotation goes on from that.
 */
export async function rotateKeys(options: RotateOptions): Promise<Rotated> {
  const { store, folder, source } = options;
  let before: KeyFile | undefined;
  try {
    return await store.transaction(async (work) => {
      await lockKeys(work);
      const file = await source.read();
      const fresh = newStoredKey(work.now, work.random);
      const kept = options.now ? [] : await stillNeeded(work, file);
      await registerSigningKey(work, options.actor, { kid: fresh.kid, createdAt: work.now });
      // One that a killed rotation left: it retires with the others.
      for (const { kid, createdAt } of kept)
        await registerSigningKey(work, options.actor, { kid, createdAt: Date.parse(createdAt) });
      const retired = await retireSigningKeys(work, options.actor, {
        keep: fresh.kid,
        retiresAt: options.now ? null : work.now + options.accessTokenTtlSeconds * SECOND,
      });
      before = file;
      await writeKeys(folder, { ...file, signing: [fresh, ...kept] });
      return { kid: fresh.kid, retired };
    });
  } catch (error) {
    // The store did not take it, so the file must not name it either.
    if (before !== undefined) await writeKeys(folder, before);
    throw error;
  }
}

async function stillNeeded(work: Work, file: KeyFile): Promise<KeyFile['signing']> {
  const states = new Map((await listSigningKeys(work.db)).map((state) => [state.kid, state]));
  const limit = work.now - KEPT_AFTER_RETIREMENT_MS;
  const needed = file.signing.filter((key) => {
    const state = states.get(key.kid);
    return state?.status !== 'dropped' && (state?.retiresAt ?? Number.POSITIVE_INFINITY) > limit;
  });
  if (needed.length > 15) {
    throw new AppError('conflict', 'Too many rotations in a short time', {
      hint: 'Wait a day, or drop the old keys with --now.',
    });
  }
  return needed.map((key) => ({ ...key, status: 'retiring' as const }));
}
