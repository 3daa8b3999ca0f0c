import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { compileAccess } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';
import { createApp, type RequestHandler } from '#src/app.ts';
import type { ConfigInput } from '#src/config.ts';
import { createKeys, fileKeys } from '#src/credentials/key-file.ts';
import { KeyRing } from '#src/credentials/key-ring.ts';
import type { Clock } from '#src/clock.ts';
import type { Event } from '#src/events.ts';
import { listen, type Listener } from '#src/http/server.ts';
import { systemRandom } from '#src/ids.ts';
import type { FetchPorts } from '#src/oauth/pinned-fetch.ts';
import { parseConfig } from '#src/project.ts';
import { openStore, type Store } from '#src/storage/open.ts';
import { registerSigningKey } from '#src/storage/signing-keys.ts';
import { addUser, findUserByName } from '#src/storage/users.ts';
import type { Tool } from '#src/tools/define.ts';
import { compileTool, toolSet, type ToolSet } from '#src/tools/tool-set.ts';
import type { User } from '#src/users/user.ts';
import { createTestClock } from './clock.ts';
import {
  hashOnce,
  TEST_PASSWORD,
  TEST_PEOPLE,
  TEST_ROLES,
  TEST_TOOLS,
  type RolesInput,
} from './project.ts';
import { borrowDatabase } from './test-database.ts';
import { temporaryFolder } from './temp.ts';

/** The whole server over real HTTP on 127.0.0.1, with a state store and keys of its own. */

export type Dialect = 'sqlite' | 'postgres';

/** Both state stores, for suites that hold on either. */
export const DIALECTS: readonly Dialect[] = ['sqlite', 'postgres'];

/** Headers of a proxy that passes on what this address sent over TLS; for `trustedProxies: ['127.0.0.1']`. */
export function forwardedFrom(address: string): Record<string, string> {
  return { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' };
}

export interface TestAppOptions {
  dialect: Dialect;
  config?: ConfigInput;
  roles?: RolesInput;
  tools?: readonly Tool[];
  /** The store's time; a `createTestClock()` that nobody advances unless told. */
  clock?: Clock;
  /** How metadata documents are fetched; see documents.ts. */
  fetchPorts?: FetchPorts;
  /** The state store of another app, which stays that one's to remove. */
  state?: string;
  /** The keys of another app. */
  keysFolder?: string;
  port?: number;
}

export interface AuditRow {
  actor: string;
  action: string;
  subject: string | null;
  clientId: string | null;
  grantId: string | null;
  outcome: string;
  detail: Record<string, unknown>;
}

export interface TestApp extends AsyncDisposable {
  /** Where it listens: `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** What it calls itself: `publicUrl`, or the same as `url`. */
  readonly origin: string;
  readonly port: number;
  /** Another after `restart()`. */
  readonly store: Store;
  readonly keys: KeyRing;
  readonly state: string;
  readonly keysFolder: string;
  /** Everything that was told, since the start and over restarts. */
  readonly events: Event[];
  addUser(name: string, options?: { roles?: readonly string[]; password?: string }): Promise<User>;
  findUser(name: string): Promise<User>;
  /** The audit rows, oldest first; of one action, when it is named. */
  audit(action?: string): Promise<AuditRow[]>;
  /** As a reload does while a project is developed. */
  replaceTools(tools: readonly Tool[]): void;
  /** Closes everything and starts again on the same port and state. */
  restart(): Promise<void>;
}

/** Starts a server; the people of project.ts live in it. Leaving its scope removes what it made. */
export async function startTestApp(options: TestAppOptions): Promise<TestApp> {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryFolder());
  const state = options.state ?? (await makeState(options.dialect, folder.path, cleanup));
  const keysFolder = options.keysFolder ?? join(folder.path, 'keys');
  await createKeys(keysFolder, Date.now(), systemRandom);
  const setup: Setup = {
    ...options,
    clock: options.clock ?? createTestClock(),
    state,
    keysFolder,
    events: [],
    toolSet: compileTools(options.tools ?? TEST_TOOLS),
  };
  let running = await start(setup, options.port ?? 0);
  const owned = cleanup.move();
  const app: TestApp = {
    url: running.url,
    origin: running.origin,
    port: running.listener.port,
    state,
    keysFolder,
    events: setup.events,
    get store() {
      return running.store;
    },
    get keys() {
      return running.keys;
    },
    addUser: (name, user = {}) => createAccount(running.store, name, user),
    findUser: (name) => requireUser(running.store, name),
    audit: (action) => readAudit(running.store, action),
    replaceTools(tools) {
      setup.toolSet = compileTools(tools);
    },
    async restart() {
      await stop(running);
      running = await start(setup, app.port);
    },
    async [Symbol.asyncDispose]() {
      await stop(running);
      await owned.disposeAsync();
    },
  };
  if (options.state === undefined) {
    for (const [name, roles] of Object.entries(TEST_PEOPLE)) await app.addUser(name, { roles });
  }
  return app;
}

interface Setup extends TestAppOptions {
  clock: Clock;
  state: string;
  keysFolder: string;
  events: Event[];
  toolSet: ToolSet;
}

interface Running {
  url: string;
  origin: string;
  listener: Listener;
  store: Store;
  keys: KeyRing;
}

async function makeState(
  dialect: Dialect,
  folder: string,
  cleanup: AsyncDisposableStack,
): Promise<string> {
  if (dialect === 'sqlite') return `sqlite:${join(folder, 'state.db')}`;
  const database = cleanup.use(await borrowDatabase());
  return database.url;
}

async function start(setup: Setup, port: number): Promise<Running> {
  const keys = await KeyRing.open(fileKeys(setup.keysFolder));
  const emit = (event: Event): void => void setup.events.push(event);
  const store = await openStore({
    url: setup.state,
    auditKey: keys.auditKey,
    clock: setup.clock,
    onError: (message) => emit({ type: 'server.error', where: 'store', message }),
  });
  await store.transaction(async (work) => {
    for (const key of keys.all()) await registerSigningKey(work, 'test', key);
  });
  let handler: RequestHandler = unavailable;
  const listener = await listen((request, response) => handler(request, response), {
    host: '127.0.0.1',
    port,
  });
  const url = `http://127.0.0.1:${listener.port}`;
  const config = parseConfig(
    { ...setup.config, listen: { host: '127.0.0.1', port: listener.port } },
    'test',
  );
  const origin = config.publicUrl ?? url;
  const access = compileAccess(rolesSchema.parse(setup.roles ?? TEST_ROLES));
  handler = createApp({
    config,
    name: config.server.name ?? 'Test House',
    origin,
    keys,
    store,
    tools: () => setup.toolSet,
    access: () => access,
    emit,
    isDeveloping: false,
    ...(setup.fetchPorts === undefined ? {} : { fetchPorts: setup.fetchPorts }),
  });
  return { url, origin, listener, store, keys };
}

async function stop({ listener, store }: Running): Promise<void> {
  await listener.drain(1_000);
  await store[Symbol.asyncDispose]();
}

function compileTools(tools: readonly Tool[]): ToolSet {
  const compiled = tools.map((one) => {
    const result = compileTool(one);
    if ('problem' in result) throw new Error(`${one.name}: ${result.problem}`);
    return result.compiled;
  });
  return toolSet(compiled, false);
}

async function createAccount(
  store: Store,
  name: string,
  {
    roles = ['readers'],
    password = TEST_PASSWORD,
  }: { roles?: readonly string[]; password?: string },
): Promise<User> {
  const passwordHash = await hashOnce(password);
  return store.transaction((work) =>
    addUser(work, 'test', { name, passwordHash, roles: [...roles] }),
  );
}

async function requireUser(store: Store, name: string): Promise<User> {
  const user = await findUserByName(store.db, name);
  if (user === undefined) throw new Error(`There is no user ${name}`);
  return user;
}

async function readAudit({ db }: Store, action: string | undefined): Promise<AuditRow[]> {
  const rows = await db.selectFrom('audit').selectAll().orderBy('seq').execute();
  return rows
    .filter((row) => action === undefined || row.action === action)
    .map((row) => ({
      actor: row.actor,
      action: row.action,
      subject: row.subject,
      clientId: row.client_id,
      grantId: row.grant_id,
      outcome: row.outcome,
      detail: JSON.parse(row.detail) as Record<string, unknown>,
    }));
}

function unavailable(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(503).end();
}
