import type { Command } from 'commander';
import { isoTime } from '#src/clock.ts';
import { AppError } from '#src/errors.ts';
import type { Project } from '#src/project.ts';
import { listSigningKeys, type SigningKeyState } from '#src/storage/signing-keys.ts';
import { countLiveAccessTokens } from '#src/storage/tokens.ts';
import { ACTOR, addCommand, addGroup, commonOptions, open, readProject } from './command.ts';
import { printResult } from './output.ts';
import { counted, minute, table } from './table.ts';

/** `castellan keys`: the signing keys. Secrets are never printed. */

export function addKeys(program: Command): void {
  const keys = addGroup(program, 'keys', 'See and rotate the keys that sign access tokens.');
  addCommand(keys, {
    usage: 'list',
    about: 'List the keys that tokens are signed or verified with.',
    examples: ['castellan keys list', 'castellan keys list --json'],
  }).action(list);
  addCommand(keys, {
    usage: 'rotate',
    about:
      'Sign with a new key from now on. The old one verifies until its last token has expired; ' +
      'with --now it is dropped at once, and every access token with it. Servers need no restart.',
    examples: ['castellan keys rotate', 'castellan keys rotate --now'],
  })
    .option('--now', 'drop the old keys at once: after a theft, or after restoring a backup', false)
    .action(rotate);
}

async function list(_options: object, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { store } = opened;
  const now = store.clock.now();
  const keys = (await listSigningKeys(store.db)).filter((key) => stillCounts(key, now));
  printResult(commonOptions(command), keys.map(keyJson), () =>
    table(
      ['KEY', 'STATUS', 'CREATED (UTC)', 'RETIRES (UTC)'],
      keys.map((key) => [key.kid, key.status, minute(key.createdAt), minute(key.retiresAt)]),
    ),
  );
}

async function rotate(options: { now: boolean }, command: Command): Promise<void> {
  const project = await readProject(command);
  if (project.environment.keys !== undefined) throw fixedKeys(project);
  // Where the keys are lost, dropping them is the way to begin anew.
  await using opened = await open(project, { newKeys: options.now });
  const { store } = opened;
  const { rotateKeys } = await import('#src/credentials/rotate-keys.ts');
  const { fileKeys } = await import('#src/credentials/key-file.ts');
  const tokens = options.now ? await countLiveAccessTokens(store.db, store.clock.now()) : 0;
  const { kid, retired } = await rotateKeys({
    folder: project.keysFolder,
    source: fileKeys(project.keysFolder),
    store,
    actor: ACTOR,
    accessTokenTtlSeconds: project.config.oauth.accessTokenTtlSeconds,
    now: options.now,
  });
  const states = await listSigningKeys(store.db);
  const retiresAt = states.find((key) => key.kid === retired[0])?.retiresAt ?? null;
  const value = { kid, retired, now: options.now, retiresAt: isoTime(retiresAt), tokens };
  printResult(commonOptions(command), value, () =>
    rotationText({ kid, retired, retiresAt, tokens, ...options }),
  );
}

interface Rotation {
  kid: string;
  retired: readonly string[];
  retiresAt: number | null;
  tokens: number;
  now: boolean;
}

function rotationText({ kid, retired, retiresAt, tokens, now }: Rotation): string {
  const fresh = `${kid} signs from now on.`;
  if (retired.length === 0) return fresh;
  const old = retired.join(', ');
  return now
    ? `${fresh}\n${old} dropped; ${counted(tokens, 'access token')} died with it. Clients refresh by themselves.`
    : `${fresh}\n${old} verifies until ${minute(retiresAt)} UTC.`;
}

function stillCounts(key: SigningKeyState, now: number): boolean {
  return key.status !== 'dropped' && (key.retiresAt === null || key.retiresAt > now);
}

function keyJson(key: SigningKeyState): object {
  return {
    kid: key.kid,
    status: key.status,
    createdAt: isoTime(key.createdAt),
    retiresAt: isoTime(key.retiresAt),
  };
}

function fixedKeys(project: Project): AppError {
  const wait = project.config.oauth.accessTokenTtlSeconds;
  return new AppError(
    'conflict',
    'The keys come from CASTELLAN_KEYS, which this command cannot change',
    {
      hint:
        'In its "signing" list, put a new active key first, set the old one to "retiring" and restart every\n' +
        `  server. After ${wait} seconds, or at once in a hurry, take the old one out and restart again. A secret:\n` +
        `  node -p "crypto.randomBytes(32).toString('base64url')"`,
    },
  );
}
