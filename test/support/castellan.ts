import { spawn, type ChildProcess } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Event } from '#src/events.ts';
import type { FetchPorts } from '#src/oauth/pinned-fetch.ts';
import { loadProject } from '#src/project.ts';
import { startServer } from '#src/serve.ts';

/** The program as its users run it: a server in a process of its own, commands beside it. */

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const MAIN = join(ROOT, 'bin', 'castellan.js');
const BOOKSHOP = join(ROOT, 'examples', 'bookshop');
const LEFT_BEHIND = /(^|\/)(\.castellan|keys|bookshop\.db.*)$/;
const START_TIMEOUT_MS = 20_000;

export interface ProjectPlace {
  folder: string;
  /** A PostgreSQL URL; SQLite in the folder without one. */
  databaseUrl?: string | undefined;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface ServerProcess extends AsyncDisposable {
  url: string;
  /** Everything that it wrote: its log is on stderr. */
  output(): string;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** Copies the demo project, without what running it has made. */
export async function copyBookshop(folder: string): Promise<void> {
  await cp(BOOKSHOP, folder, { recursive: true, filter: (source) => !LEFT_BEHIND.test(source) });
}

/** Runs one command to its end. */
export async function runCastellan(
  place: ProjectPlace,
  args: string[],
  input = '',
): Promise<CommandResult> {
  const child = start(place, [...args, '--project', place.folder]);
  child.stdin?.end(input);
  const [stdout, stderr, code] = await Promise.all([
    collect(child.stdout),
    collect(child.stderr),
    exit(child),
  ]);
  return { code, stdout, stderr };
}

/** Starts a server and waits until it serves. */
export async function serveProject(
  place: ProjectPlace,
  port: number,
  logLevel = 'trace',
): Promise<ServerProcess> {
  const args = ['serve', '--json', '--project', place.folder, '--port', String(port)];
  const child = start(place, args, { CASTELLAN_LOG_LEVEL: logLevel });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = exit(child);
  const url = await firstLine(child, () => output);
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const stop = async (): Promise<number | null> => {
    child.kill('SIGTERM');
    return exited;
  };
  return {
    url,
    output: () => output,
    stop,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await stop();
    },
  };
}

/**
 * The same server within this process, where a test can say how the outside world is reached. It is
 * opened anew from the folder and closed for good, as a process would.
 */
export async function serveHere(
  place: ProjectPlace,
  port: number,
  fetchPorts: FetchPorts,
): Promise<ServerProcess> {
  const project = await loadProject(place.folder, { port });
  const events: Event[] = [];
  const server = await startServer(
    place.databaseUrl === undefined ? project : { ...project, stateUrl: place.databaseUrl },
    { fetchPorts, emit: (event) => events.push(event) },
  );
  const stop = async (): Promise<number> => {
    await server.close();
    return 0;
  };
  return {
    url: server.url,
    output: () => JSON.stringify(events),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

function start(
  place: ProjectPlace,
  args: string[],
  environment: Record<string, string> = {},
): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], {
    env: {
      ...process.env,
      ...environment,
      ...(place.databaseUrl === undefined ? {} : { CASTELLAN_DATABASE_URL: place.databaseUrl }),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

async function firstLine(child: ChildProcess, output: () => string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(
    () => reject(new Error(`The server did not start: ${output()}`)),
    START_TIMEOUT_MS,
  );
  child.once('exit', (code) => reject(new Error(`The server ended with ${code}: ${output()}`)));
  if (child.stdout === null) throw new Error('The server has no output');
  let text = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    text += line;
    try {
      resolve((JSON.parse(text) as { url: string }).url);
    } catch {
      // The document goes on in the next line.
    }
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

async function collect(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = '';
  if (stream === null) return text;
  stream.setEncoding('utf8');
  for await (const chunk of stream) text += String(chunk);
  return text;
}

async function exit(child: ChildProcess): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once('close', (code) => resolve(code));
  return promise;
}
