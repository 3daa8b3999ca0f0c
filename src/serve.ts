import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename } from 'node:path';
import { createPeerReader } from '#src/http/caller.ts';
import { listen } from '#src/http/server.ts';
import { ServerCertificate } from '#src/http/server-certificate.ts';
import { createLog } from '#src/observe/log.ts';
import type { FetchPorts } from '#src/oauth/pinned-fetch.ts';
import { deleteExpired } from '#src/storage/clean.ts';
import { reapIdleClients } from '#src/storage/clients.ts';
import type { Store } from '#src/storage/open.ts';
import { watchProject } from '#src/tools/watch.ts';
import { createApp, type RequestHandler } from './app.ts';
import { DAY, MINUTE, SECOND, systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { AppError, messageOf } from './errors.ts';
import { createEvents, type Emit } from './events.ts';
import type { Project } from './project.ts';
import { openProject, registerKeys, type OpenProject } from './project-secrets.ts';
import { openWorkshop, type Workshop } from './project-workshop.ts';

/** A project, served: opens what it needs, listens, and closes everything in order. */

export interface ServeOptions {
  /** Load tools and roles again when their files change. */
  watch?: boolean | undefined;
  /** Told everything that happens, instead of the log. */
  emit?: Emit | undefined;
  /** How the outside world is reached; the real one unless a test says otherwise. */
  fetchPorts?: FetchPorts | undefined;
  /** How often the files of `listen.tls` are looked at; 5 s unless told. */
  certificateEveryMs?: number | undefined;
}

export interface RunningServer {
  /** The public origin. */
  url: string;
  /** Resolves when the server has closed; rejects like `close` does. */
  closed: Promise<void>;
  /**
   * Stops listening, lets running requests finish, closes the store.
   * @throws `internal` when an exception that nobody caught ended it, or came meanwhile.
   */
  close(): Promise<void>;
}

const DRAIN_MS = 10_000;
const CERTIFICATE_EVERY_MS = 5 * SECOND;
const CLEAN_EVERY_MS = MINUTE;
const CLEANED_AT_ONCE = 500;
const MOST_PASSES = 200;
const REAPED_AT_ONCE = 50;

/**
 * Starts a project's server.
 * @throws `roles_invalid`, `keys_unsafe`, `keys_invalid`, `store_unavailable`, `state_too_new`,
 * `port_in_use`, `config_invalid`.
 */
export async function startServer(
  project: Project,
  options: ServeOptions = {},
): Promise<RunningServer> {
  const { config } = project;
  const emit = createEmit(project, options);
  const workshop = await openWorkshop(project, emit);
  // Closed in the reverse order: the housekeeping, the socket, the store, the guard.
  await using opening = new AsyncDisposableStack();
  const fault = new AbortController();
  opening.defer(guardProcess(emit, fault));
  const certificate = await openCertificate(project, emit);
  const open = opening.use(
    await openProject(project, {
      actor: 'server',
      register: true,
      onError: (message) => emit({ type: 'server.error', where: 'store', message }),
    }),
  );
  let handler: RequestHandler = unavailable;
  const listener = await listen((request, response) => handler(request, response), config.listen, {
    peerOf: createPeerReader(config.trustedProxies),
    certificate,
  });
  const closing = new AbortController();
  opening.defer(() => {
    closing.abort();
    return listener.drain(DRAIN_MS);
  });
  const url = config.publicUrl ?? localOrigin(config.listen, listener.port);
  handler = createApp({
    config,
    name: project.name,
    origin: url,
    keys: open.keys,
    store: open.store,
    tools: workshop.tools,
    access: workshop.access,
    emit,
    isDeveloping: options.watch === true,
    fetchPorts: options.fetchPorts,
    closing: closing.signal,
  });
  opening.defer(keepHouse(open, emit));
  const certificateEveryMs = options.certificateEveryMs ?? CERTIFICATE_EVERY_MS;
  if (certificate !== undefined) opening.defer(certificate.watch(certificateEveryMs));
  if (options.watch) opening.defer(watchForChanges(project, workshop, emit));
  fault.signal.throwIfAborted();
  emit({ type: 'server.listening', url });
  return { url, ...running(opening.move(), fault.signal, emit) };
}

function createEmit(project: Project, options: ServeOptions): Emit {
  const events = createEvents();
  const log = { level: project.environment.logLevel, isTerminal: process.stderr.isTTY };
  events.subscribe(options.emit ?? createLog(log));
  return events.emit;
}

async function openCertificate(
  { certificateFiles: files }: Project,
  emit: Emit,
): Promise<ServerCertificate | undefined> {
  // Clients judge its dates by the time of day, so this is not the store's time.
  if (files !== undefined) return ServerCertificate.open({ files, emit, clock: systemClock });
  return undefined;
}

function running(
  resources: AsyncDisposableStack,
  fault: AbortSignal,
  emit: Emit,
): Omit<RunningServer, 'url'> {
  const closed = Promise.withResolvers<void>();
  // Whoever does not wait for it has `close`.
  closed.promise.catch(() => {});
  let closing: Promise<void> | undefined;
  const shutDown = async (): Promise<void> => {
    emit({ type: 'server.draining' });
    await resources.disposeAsync();
    fault.throwIfAborted();
  };
  const close = (): Promise<void> => {
    if (closing === undefined) {
      closing = shutDown();
      closing.then(closed.resolve, closed.reject);
    }
    return closing;
  };
  fault.addEventListener('abort', () => {
    // In a state that nobody knows, not even closing may be relied on to end.
    const timer = setTimeout(() => process.exit(1), 2 * DRAIN_MS);
    close().then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
  });
  return { closed: closed.promise, close };
}

/** What goes on beside requests: keys that change, rows that expire. @returns what ends it. */
function keepHouse({ project, keys, store }: OpenProject, emit: Emit): () => void {
  keys.onChange(() => {
    emit({ type: 'keys.reloaded', kids: keys.all().map((key) => key.kid) });
    // A rotation that was killed may have left a key that the store does not know.
    registerKeys(store, keys, 'server').catch((error: unknown) => {
      emit({ type: 'server.error', where: 'keys', message: messageOf(error) });
    });
  });
  return cleanRegularly(store, project.config.oauth.idleClientDays * DAY, emit);
}

/** @returns what ends it. */
function watchForChanges(project: Project, workshop: Workshop, emit: Emit): () => void {
  return watchProject({
    folder: project.folder,
    tools: basename(project.toolsFolder),
    roles: basename(project.rolesFile),
    changed: () => void workshop.reload(),
    failed: (message) => emit({ type: 'server.error', where: 'watch', message }),
  });
}

/** What has expired, and registered clients that nobody has used for long. */
async function clean(store: Store, idleClientMs: number): Promise<void> {
  const now = store.clock.now();
  // Until little is left, but not for ever: others want the store too.
  for (let pass = 0; pass < MOST_PASSES; pass += 1) {
    if ((await deleteExpired(store.db, now, CLEANED_AT_ONCE)) < CLEANED_AT_ONCE) break;
  }
  const before = now - idleClientMs;
  await store.transaction((work) =>
    reapIdleClients(work, { before, unusedBefore: before, limit: REAPED_AT_ONCE }),
  );
}

/** @returns what ends it. */
function cleanRegularly(store: Store, idleClientMs: number, emit: Emit): () => void {
  let isCleaning = false;
  const pass = async (): Promise<void> => {
    // A store that is slow must not be given more and more to do.
    if (isCleaning) return;
    isCleaning = true;
    try {
      await clean(store, idleClientMs);
    } catch (error) {
      emit({ type: 'server.error', where: 'cleaning', message: messageOf(error) });
    } finally {
      isCleaning = false;
    }
  };
  const timer = setInterval(() => void pass(), CLEAN_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * A promise that a tool forgot must not end everybody's server; it is logged instead. After an exception
 * that nobody caught, whatever it interrupted was left half done: `fault` is aborted, so that the server
 * closes and whoever supervises it starts a new one.
 */
function guardProcess(emit: Emit, fault: AbortController): () => void {
  const report = (where: string, error: unknown): void => {
    const stack = error instanceof Error ? error.stack : undefined;
    emit({ type: 'server.error', where, message: messageOf(error), stack });
  };
  const rejected = (error: unknown): void => report('unhandled rejection', error);
  const thrown = (error: unknown): void => {
    report('uncaught exception', error);
    fault.abort(
      new AppError('internal', `An exception that nobody caught: ${messageOf(error)}`, {
        hint: 'The log has its stack. In a tool, what a timer or an event calls must catch what it throws.',
      }),
    );
  };
  process.on('unhandledRejection', rejected);
  process.on('uncaughtException', thrown);
  return () => {
    process.off('unhandledRejection', rejected);
    process.off('uncaughtException', thrown);
  };
}

/** Where people on this machine find a server without a public URL. */
function localOrigin({ host, tls }: Config['listen'], port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const scheme = tls === undefined ? 'http' : 'https';
  // As URLs write it: the usual port is left out.
  return new URL(`${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`)
    .origin;
}

/** For the moment between listening and being ready. */
function unavailable(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(503, { 'retry-after': '1', 'content-length': '0' }).end();
}
