import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { statfs, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPostgres, type Identity } from './postgres-binaries.ts';
import { freePort, temporaryFolder } from './temp.ts';

/** A PostgreSQL server that this process started. */
export interface Cluster {
  /** URL of its maintenance database, with the superuser's password. */
  url: string;
  /** Stops the server and removes its files. */
  stop: () => Promise<void>;
}

/** What the steps of a start hand on. */
interface Plan {
  /** Removed at the end with all that is in it: `data`, `password`, perhaps `programs`. */
  folder: string;
  programs: string;
  identity: Identity;
  port: number;
  password: string;
}

/**
 * The server's guard, a shell between this process and the server. Its descriptor 3 is a pipe from
 * here: when that closes, because we close it or because this process died in whatever way, the guard
 * stops the server and removes the folder. So no test leaves one behind.
 */
const GUARD = `
folder=$1; shift
"$@" </dev/null 3<&- &
server=$!
{ cat >/dev/null; kill -INT "$server"; } <&3 &
watch=$!
wait "$server"; code=$?
kill "$watch" 2>/dev/null
rm -rf "$folder"
exit "$code"
`;

/** Nothing in a test's cluster has to survive a power cut, so nothing waits for a disk. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
};

/** Free bytes that make the memory file system good for a cluster: a database takes 7 MB. */
const ROOMY = 4 * 1024 ** 3;

const run = promisify(execFile);

/** Starts a server on a free port; again when another process took the port in between. */
export async function startCluster(): Promise<Cluster> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(await freePort());
    } catch (error) {
      if (attempt === 3 || !String(error).includes('could not bind')) throw error;
    }
  }
}

async function startOnce(port: number): Promise<Cluster> {
  const folder = await temporaryFolder(await fastestFolder());
  try {
    const identity = await chooseIdentity();
    const programs = await findPostgres(identity, join(folder.path, 'programs'));
    const password = randomBytes(12).toString('hex');
    const plan = { folder: folder.path, programs, identity, port, password };
    await initialise(plan);
    const guard = spawnServer(plan);
    await untilReady(guard);
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      async stop() {
        await stopServer(guard);
        await folder[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

/** A database is created in 20 ms in memory, and in 200 ms on a slow disk. */
async function fastestFolder(): Promise<string> {
  const memory = '/dev/shm';
  const state = await statfs(memory).catch(() => undefined);
  return state !== undefined && state.bavail * state.bsize > ROOMY ? memory : tmpdir();
}

/** PostgreSQL refuses to run as root. */
async function chooseIdentity(): Promise<Identity> {
  if (userInfo().uid !== 0) return {};
  const [uid, gid] = await Promise.all([run('id', ['-u', 'nobody']), run('id', ['-g', 'nobody'])]);
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

async function initialise({ folder, programs, identity, password }: Plan): Promise<void> {
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  // All of it, or the guard could not remove it.
  if (identity.uid !== undefined) {
    await run('chown', ['-R', `${identity.uid}:${identity.gid}`, folder]);
  }
  const options = [
    `--pgdata=${join(folder, 'data')}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-sync',
    '--no-instructions',
  ];
  await run(join(programs, 'initdb'), options, { ...identity, cwd: folder });
}

function spawnServer({ folder, programs, identity, port }: Plan): ChildProcess {
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = [join(programs, 'postgres'), '-D', join(folder, 'data'), '-p', String(port)];
  return spawn('/bin/sh', ['-c', GUARD, 'guard', folder, ...server, ...settings], {
    ...identity,
    cwd: '/',
    // A session of its own: Ctrl-C reaches this process, which then stops the server in order.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
}

async function untilReady(guard: ChildProcess): Promise<void> {
  let log = '';
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  guard.once('error', reject);
  guard.once('exit', () => reject(new Error(`PostgreSQL did not start:\n${log}`)));
  guard.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    log = (log + chunk).slice(-8_000);
    if (log.includes('ready to accept connections')) resolve(undefined);
  });
  await promise;
  // This process may end while the server runs; the guard sees it.
  guard.unref();
  for (const stream of guard.stdio) unreference(stream);
}

async function stopServer(guard: ChildProcess): Promise<void> {
  if (guard.exitCode !== null || guard.signalCode !== null) return;
  guard.ref();
  const exited = once(guard, 'exit');
  guard.stdio[3]?.destroy();
  await exited;
}

/** The pipes of a child are sockets, which their type does not say. */
function unreference(stream: unknown): void {
  const socket = stream as { unref?: () => void } | null | undefined;
  socket?.unref?.();
}
