import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, stat, link, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isoTime } from '#src/clock.ts';
import { AppError, messageOf, systemCode } from '#src/errors.ts';
import type { Random } from '#src/ids.ts';

/*
 * The keys on disk: `keys/castellan.json`, readable by its owner alone, never in git and never in
 * the database. It is always replaced as a whole, so that a reader sees the old or the new one.
 */

const secret = z
  .string()
  .refine((value) => Buffer.from(value, 'base64url').length === 32, '32 bytes in base64url');

const fileSchema = z.strictObject({
  version: z.literal(1),
  signing: z
    .array(
      z.strictObject({
        kid: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
        secret,
        status: z.enum(['active', 'retiring']),
        createdAt: z.iso.datetime(),
      }),
    )
    .min(1)
    .max(20),
  audit: secret,
});

export type KeyFile = z.output<typeof fileSchema>;
export type StoredKey = KeyFile['signing'][number];

const FILE = 'castellan.json';
const OPEN_TO_OTHERS = 0o077;

/** Where keys come from. `revision` changes whenever `read` would return something else. */
export interface KeySource {
  revision(): Promise<string>;
  read(): Promise<KeyFile>;
}

/** The keys in CASTELLAN_KEYS: the same JSON as the file, fixed for the life of the process. */
export function environmentKeys(text: string): KeySource {
  return {
    revision: async () => 'environment',
    read: async () => readKeyFile(text, 'CASTELLAN_KEYS'),
  };
}

/** The keys in a project's folder. */
export function fileKeys(folder: string): KeySource {
  const path = join(folder, FILE);
  return {
    async revision() {
      const info = await statKeys(path);
      return `${info.ino}:${info.mtimeMs}:${info.size}`;
    },
    async read() {
      await statKeys(path);
      return readKeyFile(await readFile(path, 'utf8'), path);
    },
  };
}

/** Whether a project's folder holds keys, in whatever state. */
export async function hasKeys(folder: string): Promise<boolean> {
  return exists(join(folder, FILE));
}

/**
 * Makes the keys of a new project unless they are there.
 * @returns whether they are new.
 */
export async function createKeys(
  folder: string,
  now: number,
  random: Random = randomBytes,
): Promise<boolean> {
  const path = join(folder, FILE);
  if (await exists(path)) return false;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file: KeyFile = {
    version: 1,
    signing: [newStoredKey(now, random)],
    audit: random(32).toString('base64url'),
  };
  const draft = await writeDraft(path, file);
  try {
    // A link fails when the file exists: of two processes that start together, one makes the keys.
    await link(draft, path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(draft);
  }
}

export function newStoredKey(now: number, random: Random): StoredKey {
  return {
    kid: `k_${random(9).toString('base64url')}`,
    secret: random(32).toString('base64url'),
    status: 'active',
    createdAt: isoTime(now) ?? '',
  };
}

/** Replaces the keys of a project as a whole. */
export async function writeKeys(folder: string, file: KeyFile): Promise<void> {
  const path = join(folder, FILE);
  await rename(await writeDraft(path, file), path);
}

/** @throws `keys_invalid` saying what is wrong, without showing any of it. */
export function readKeyFile(text: string, where: string): KeyFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(where, 'it is not JSON');
  }
  const result = fileSchema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(
    where,
    result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '),
  );
}

function invalid(where: string, why: string): AppError {
  return new AppError('keys_invalid', `The keys in ${where} cannot be used: ${why}`, {
    hint: 'Restore them from your backup. New keys end every login.',
  });
}

async function writeDraft(path: string, file: KeyFile): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(file, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await chmod(draft, 0o600);
  return draft;
}

async function statKeys(path: string): Promise<{ ino: number; mtimeMs: number; size: number }> {
  let info;
  try {
    info = await stat(path);
  } catch (error) {
    throw new AppError('keys_invalid', `The keys ${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
      hint: 'Start the server once to make them, or restore them from your backup.',
    });
  }
  refuseOpenKeys(path, info.mode);
  return info;
}

/**
 * The rule for every file that holds keys: it is its owner's alone.
 * @param mode as `stat` tells it.
 * @throws `keys_unsafe` when others have any right to the file.
 */
export function refuseOpenKeys(path: string, mode: number): void {
  if (process.platform === 'win32' || (mode & OPEN_TO_OTHERS) === 0) return;
  throw new AppError('keys_unsafe', `Others on this machine can read the keys ${path}`, {
    hint: `chmod 600 ${path}`,
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
