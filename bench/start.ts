import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BenchResult } from './result.ts';

/*
 * How long a start takes and what an idle server holds: from the spawn of `castellan serve` to the first
 * 200 of its home page, and the resident memory a moment later. The first start makes keys and state.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MAIN = join(ROOT, 'bin', 'castellan.js');
const BOOKSHOP = join(ROOT, 'examples', 'bookshop');
const ROUNDS = 7;
const LONGEST_START_MS = 30_000;
const POLL_MS = 5;
const IDLE_MS = 2_000;

export async function benchStart(): Promise<BenchResult> {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-bench-'));
  try {
    await cp(BOOKSHOP, folder, {
      recursive: true,
      filter: (source) => !/(\/\.castellan|\/keys|bookshop\.db.*)$/.test(source),
    });
    const first = await measure(folder);
    const rounds = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure(folder));
    return {
      name: 'start',
      node: process.version,
      cpus: availableParallelism(),
      rounds: ROUNDS,
      results: {
        'first start of a project, ms': first.milliseconds,
        'start to first 200, ms': median(rounds.map((round) => round.milliseconds)),
        'idle memory, MB': median(rounds.map((round) => round.megabytes)),
      },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Measured {
  milliseconds: number;
  megabytes: number;
}

async function measure(folder: string): Promise<Measured> {
  const port = await freePort();
  const startedAt = performance.now();
  const server = spawn(
    process.execPath,
    [MAIN, 'serve', '--project', folder, '--port', String(port)],
    {
      stdio: 'ignore',
    },
  );
  try {
    await firstSuccess(`http://127.0.0.1:${port}/`, server);
    const milliseconds = Math.round(performance.now() - startedAt);
    await setTimeout(IDLE_MS);
    return { milliseconds, megabytes: residentMegabytes(server.pid ?? 0) };
  } finally {
    if (server.exitCode === null) {
      const exited = Promise.withResolvers<void>();
      server.once('exit', () => exited.resolve());
      server.kill('SIGTERM');
      await exited.promise;
    }
  }
}

async function firstSuccess(url: string, server: ChildProcess): Promise<void> {
  const deadline = performance.now() + LONGEST_START_MS;
  while (performance.now() < deadline) {
    if (server.exitCode !== null) throw new Error(`The server ended with ${server.exitCode}`);
    const status = await fetch(url).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    await setTimeout(POLL_MS);
  }
  throw new Error('The server did not start');
}

function residentMegabytes(pid: number): number {
  const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return Math.round(Number(stdout.trim()) / 1024);
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  const listening = Promise.withResolvers<void>();
  probe.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
