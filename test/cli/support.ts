import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ConfigInput } from '#src/config.ts';
import type { Grant } from '#src/grants/grant.ts';
import type { ClientId } from '#src/ids.ts';
import { loadProject } from '#src/project.ts';
import { openProject, type OpenProject } from '#src/project-secrets.ts';
import { insertClient } from '#src/storage/clients.ts';
import { createGrant } from '#src/storage/grants.ts';
import type { Store } from '#src/storage/open.ts';
import { insertToken } from '#src/storage/tokens.ts';
import { addUser } from '#src/storage/users.ts';
import { borrowDatabase } from '../support/test-database.ts';
import { temporaryFolder } from '../support/temp.ts';

/*
 * The castellan command in a process of its own, on projects in temporary folders. What a test finds
 * in the store is written through the store's own functions.
 */

const PROGRAM = fileURLToPath(new URL('../../bin/castellan.js', import.meta.url));

export const ENGINES = ['sqlite', 'postgres'] as const;
export type Engine = (typeof ENGINES)[number];

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  /** What is piped in; nothing by default. */
  input?: string | Buffer;
  env?: Record<string, string>;
  cwd?: string;
}

/** Runs one command to its end. */
export async function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const child = startCli(args, options);
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  const [stdout, stderr, [code]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** Starts a command that goes on. */
export function startCli(
  args: readonly string[],
  options: CliOptions = {},
): ChildProcessByStdio<Writable, Readable, Readable> {
  return spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...ownEnvironment(), ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
}

/** The command line for other programs to run. */
export function cliCommand(args: readonly string[]): string {
  return [process.execPath, PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
}

/** A developer's settings must not reach the command. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(CASTELLAN_|NO_COLOR$|FORCE_COLOR$|NODE_TEST_CONTEXT$|NODE_OPTIONS$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export interface TestProject extends AsyncDisposable {
  folder: string;
  /** Runs a command on the project. */
  cli(args: readonly string[], options?: CliOptions): Promise<CliResult>;
  /** Runs a command with `--json`, expects it to succeed, and returns what it printed. */
  json<T>(args: readonly string[], options?: CliOptions): Promise<T>;
  /** Its store and keys, until the project goes. */
  open(): Promise<OpenProject>;
}

export interface ProjectOptions {
  engine?: Engine;
  config?: ConfigInput & Record<string, unknown>;
  /** More files, or others than the usual ones, by their path. */
  files?: Record<string, string>;
}

/** A project with the roles below; its store is made by the first who opens it. */
export async function makeProject(options: ProjectOptions = {}): Promise<TestProject> {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryFolder()).path;
  const state =
    options.engine === 'postgres' ? { state: cleanup.use(await borrowDatabase()).url } : {};
  const isConfigured = options.files?.['castellan.config.ts'] !== undefined;
  const files = {
    ...(isConfigured
      ? {}
      : { 'castellan.config.json': JSON.stringify({ ...state, ...options.config }) }),
    'roles.json': JSON.stringify(ROLES),
    ...options.files,
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const owned = cleanup.move();
  const run: TestProject['cli'] = (args, more) => cli([...args, '--project', folder], more);
  return {
    folder,
    cli: run,
    async json<T>(args: readonly string[], more?: CliOptions) {
      const result = await run([...args, '--json'], more);
      if (result.code !== 0) throw new Error(`castellan ${args.join(' ')}: ${result.stderr}`);
      return JSON.parse(result.stdout) as T;
    },
    open: async () => owned.use(await openProject(await loadProject(folder), { actor: 'test' })),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export const ROLES = {
  privileges: [
    { privilege: 'reader', title: 'Read', description: 'Looks things up.' },
    { privilege: 'writer', includes: ['reader'], title: 'Write', description: 'Changes things.' },
  ],
  roles: [
    { role: 'clerk', privileges: ['reader'] },
    { role: 'manager', privileges: ['writer'] },
  ],
};

/** A password that is long enough. */
export const PASSWORD = 'correct horse battery staple';

export const HOUR_MS = 3_600_000;

/** What strangers may call their client: colours, a cleared screen, a reversed line, a second line. */
export const EVIL_NAME = 'Evil\u001b[2J\u001b[31m\u202egnp.exe\nana  active\u009b1m';

/** Clients `cli_good` and `cli_evil`, the users ana and ben, and what they allowed. */
export interface Seed {
  store: Store;
  /** ana at cli_good, with two live tokens, a used and an expired one. */
  anaGood: Grant;
  /** ana at cli_evil, with one live token. */
  anaEvil: Grant;
  /** ben at cli_good, without tokens. */
  benGood: Grant;
  /** ben at cli_evil, expired. */
  benExpired: Grant;
}

export async function seed(project: TestProject): Promise<Seed> {
  const { store } = await project.open();
  await addClient(store, 'cli_good', 'Good client');
  await addClient(store, 'cli_evil', EVIL_NAME);
  const grants = await store.transaction(async (work) => {
    const ana = await addUser(work, 'test', {
      name: 'ana',
      passwordHash: 'none',
      roles: ['clerk'],
    });
    const ben = await addUser(work, 'test', { name: 'ben', passwordHash: 'none', roles: [] });
    const grant = (user: typeof ana, client: string, expiresAt: number): Promise<Grant> =>
      createGrant(work, {
        userId: user.id,
        userName: user.name,
        clientId: client as ClientId,
        clientName: client === 'cli_evil' ? EVIL_NAME : 'Good client',
        redirectUri: 'https://app.example/callback',
        redirectHost: 'app.example',
        privileges: ['reader'],
        offered: ['reader', 'writer'],
        expiresAt,
      });
    return {
      anaGood: await grant(ana, 'cli_good', work.now + HOUR_MS),
      anaEvil: await grant(ana, 'cli_evil', work.now + HOUR_MS),
      benGood: await grant(ben, 'cli_good', work.now + HOUR_MS),
      benExpired: await grant(ben, 'cli_evil', work.now - 1),
    };
  });
  await addTokens(store, grants.anaGood, [
    { digest: 'access', kind: 'access' },
    { digest: 'refresh', kind: 'refresh' },
    { digest: 'expired', kind: 'access', expiresIn: -1 },
    { digest: 'used', kind: 'refresh', used: true },
  ]);
  await addTokens(store, grants.anaEvil, [{ digest: 'evil', kind: 'refresh' }]);
  return { store, ...grants };
}

async function addClient(store: Store, id: string, name: string): Promise<void> {
  const client = {
    id: id as ClientId,
    kind: 'registered' as const,
    name,
    metadata: {},
    secretDigest: null,
  };
  await store.transaction((work) => insertClient(work, client));
}

interface TokenWish {
  digest: string;
  kind: 'access' | 'refresh';
  expiresIn?: number;
  used?: boolean;
}

async function addTokens(store: Store, grant: Grant, wishes: readonly TokenWish[]): Promise<void> {
  const now = store.clock.now();
  for (const { digest, kind, expiresIn = HOUR_MS, used } of wishes) {
    const owner = { grantId: grant.id, clientId: grant.clientId };
    await insertToken(store.db, now, { digest, kind, ...owner, expiresAt: now + expiresIn });
    if (used !== true) continue;
    await store.db
      .updateTable('tokens')
      .set({ used_at: now })
      .where('digest', '=', digest)
      .execute();
  }
}

/** Every audit row that the command line wrote, as `action subject`. */
export async function cliAudit(store: Store): Promise<string[]> {
  const rows = await store.db
    .selectFrom('audit')
    .select(['action', 'subject'])
    .where('actor', '=', 'cli')
    .orderBy('seq')
    .execute();
  return rows.map((row) => `${row.action} ${row.subject}`);
}
