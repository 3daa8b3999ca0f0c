import { z } from 'zod';
import { DAY, SECOND } from './clock.ts';
import { AppError } from './errors.ts';

/*
 * The configuration: one strict schema. A field that is not here refuses to start.
 * Secrets are not here: they come from the environment (`readEnvironment`) or the keys folder.
 * Loading a project's file is `project.ts`.
 */

const count = (description: string) => z.int().min(1).describe(description);
const seconds = (description: string) =>
  z
    .int()
    .min(1)
    .max((3650 * DAY) / SECOND)
    .describe(description);

const scheme = z
  .string()
  .regex(/^[a-z][a-z0-9+.-]*$/, 'a URI scheme, in lower case and without a colon');
const cidr = z
  .string()
  .regex(/^[0-9a-fA-F:.]+(\/\d{1,3})?$/, 'an IP address, or a range such as 10.0.0.0/8');
const publicUrl = z
  .url({ protocol: /^https?$/ })
  .refine(
    (value) => new URL(value).origin === value.replace(/\/$/, ''),
    'an origin such as https://mcp.example.com, without a path',
  )
  .transform((value) => new URL(value).origin);

const tls = z.strictObject({
  certFile: z
    .string()
    .min(1)
    .describe('PEM file of the certificate, followed by the rest of its chain.'),
  keyFile: z
    .string()
    .min(1)
    .describe('PEM file of its private key, not encrypted and readable by its owner alone.'),
});

const listen = z.strictObject({
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  port: z.int().min(0).max(65535).default(8420).describe('Port to listen on; 0 takes a free one.'),
  tls: tls
    .optional()
    .describe('Serve HTTPS, and nothing else, with this certificate; plain HTTP by default.'),
});

const server = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(60)
    .optional()
    .describe("Name that people read on every page; the folder's name by default."),
  version: z.string().min(1).max(60).default('0.0.0').describe('Version told to MCP clients.'),
  instructions: z
    .string()
    .max(10_000)
    .default('')
    .describe('What an assistant should know before it calls a tool.'),
});

const metadataDocuments = z.strictObject({
  pinned: z
    .record(z.string().min(1), z.record(z.string(), z.unknown()))
    .default({})
    .describe('Metadata documents by client id, used as they stand here and never fetched.'),
  allow: z
    .array(z.string().min(1))
    .default([])
    .describe('When not empty, only these client ids may be documents.'),
  block: z.array(z.string().min(1)).default([]).describe('Client ids whose documents are refused.'),
});

const oauth = z.strictObject({
  enabled: z.boolean().default(true).describe('Off: the OAuth endpoints answer 404.'),
  issuer: z
    .enum(['mcp', 'origin'])
    .default('mcp')
    .describe('The issuer: the MCP URL, or its origin.'),
  accessTokenTtlSeconds: seconds('Life of an access token.').default(900),
  refreshTokenTtlSeconds: seconds('Life of a refresh token after its issue.').default(2_592_000),
  grantTtlSeconds: seconds('Life of a grant after the login.').default(7_776_000),
  codeTtlSeconds: seconds('Life of an authorization code.').max(600).default(60),
  refreshRetrySeconds: z
    .int()
    .min(0)
    .max(300)
    .default(10)
    .describe('How long a used refresh token gives the same successor again; 0 is strict.'),
  dynamicRegistration: z
    .boolean()
    .default(true)
    .describe('Whether clients may register themselves (RFC 7591).'),
  registrationsPerAddressPerHour: count('New registrations an hour from one address.').default(10),
  maxDynamicClients: count('Registered clients in all.').default(1000),
  idleClientDays: count('Days after which an unused registration is removed.').default(30),
  privateUseSchemes: z
    .array(scheme)
    .default(['cursor', 'vscode', 'vscode-insiders', 'claude', 'windsurf', 'zed'])
    .describe('Private-use URI schemes that redirect URIs may have (RFC 8252).'),
  metadataDocuments: metadataDocuments.prefault({}),
});

/** One attempt to log in, as a project's own login gets it. */
export interface LoginAttempt {
  /** As it was typed, at most 256 characters. */
  name: string;
  /** Never empty, at most 1,024 characters. */
  password: string;
  clientId: string;
  /** Aborted when the answer would come too late. */
  signal: AbortSignal;
}

/** Whom a project's own login let in. */
export interface LoginSubject {
  /**
   * What the person is called here, the same at every login: 1 to 64 letters, digits and . _ @ + -,
   * beginning with a letter or digit.
   */
  subject: string;
  /** Privileges of roles.json that the person holds, in place of roles. */
  privileges: readonly string[];
}

/**
 * A project's own login, in place of the built-in accounts. Whoever may not come in gets undefined,
 * whatever the reason; a thrown error says that nobody can tell now.
 */
export type LoginHook = (attempt: LoginAttempt) => Promise<LoginSubject | undefined>;

const loginHook = z.custom<LoginHook>(
  (value) => typeof value === 'function',
  'a function, which only castellan.config.ts can hold',
);

const login = z.strictObject({
  hook: loginHook
    .optional()
    .describe('Decides about user name and password in place of the built-in accounts.'),
  failuresPerAddress: count('Failed logins from one address within the window.').default(10),
  failuresPerUser: count('Failed logins for one user name within the window.').default(20),
  windowSeconds: seconds('The window, and how long the refusal lasts.').default(900),
});

/** A new access session, as a project's hook gets it. */
export interface OpeningSession {
  user: { id: string; name: string; roles: readonly string[] };
  client: { id: string; name: string };
  /** From where the first request came. */
  address: string;
  /** What tools find in `ctx.session.storage`. */
  storage: { set(key: string, value: unknown): Promise<void> };
}

/** Runs once for a new access session, before its first request is served. */
export type SessionHook = (session: OpeningSession) => Promise<void> | void;

const sessionHook = z.custom<SessionHook>(
  (value) => typeof value === 'function',
  'a function, which only castellan.config.ts can hold',
);

const quotas = z.strictObject({
  requestsPerMinutePerSession: count(
    'Requests a minute in one access session; past it 429. Any number unless set.',
  ).optional(),
});

const mcp = z.strictObject({
  onSession: sessionHook
    .optional()
    .describe('Runs once for a new access session, before its first request is served.'),
  maxSessions: count(
    'Access sessions at once; past it a new one gets 503. Any number unless set.',
  ).optional(),
  accessSessionIdleSeconds: seconds('After how long without use an access session ends.').default(
    3_600,
  ),
  enabled: z.boolean().default(true).describe('Off: /mcp answers 404.'),
  allowedOrigins: z
    .array(z.string().min(1))
    .optional()
    .describe('Values of Origin that may call /mcp; its own origin by default.'),
  allowedHosts: z
    .array(z.string().min(1))
    .optional()
    .describe('Values of Host that are served, host or host:port; its own by default.'),
  protocolSessionIdleSeconds: seconds(
    'After how long without use a session of the older MCP revisions ends.',
  ).default(300),
  acceptBareRequests: z
    .boolean()
    .default(false)
    .describe('Serve requests without _meta, and ping.'),
  maxBodyBytes: count('Largest request body, in bytes.').default(4 * 1024 * 1024),
});

const fields = z.strictObject({
  publicUrl: publicUrl
    .optional()
    .describe('The origin under which people and clients reach this server.'),
  listen: listen.prefault({}),
  state: z
    .string()
    .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, 'sqlite:PATH or postgres://...')
    .default('sqlite:.castellan/state.db')
    .describe('The state store.'),
  server: server.prefault({}),
  trustedProxies: z
    .array(cidr)
    .default([])
    .describe('Addresses whose X-Forwarded-* headers are believed.'),
  allowInsecureHttp: z
    .boolean()
    .default(false)
    .describe('Serve /mcp over plain HTTP to other machines. Never applies to OAuth.'),
  oauth: oauth.prefault({}),
  login: login.prefault({}),
  mcp: mcp.prefault({}),
  quotas: quotas.prefault({}),
});

/** What `castellan.config.ts` may say. */
export const configSchema = fields.refine(
  (config) => config.listen.tls === undefined || !config.publicUrl?.startsWith('http:'),
  {
    path: ['publicUrl'],
    message: 'with listen.tls it is an https URL: nothing is served over plain HTTP',
  },
);

/** The configuration as a project writes it. */
export type ConfigInput = z.input<typeof configSchema>;
/** The configuration with every default filled in. */
export type Config = z.output<typeof configSchema>;

/** Types a project's configuration; returns it unchanged. */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What the environment may say. Nothing else in the project reads it. */
export interface Environment {
  databaseUrl: string | undefined;
  keys: string | undefined;
  logLevel: LogLevel;
}

/**
 * Reads the environment, once, at the process's edge.
 * @throws `config_invalid` when the log level is none.
 */
export function readEnvironment(env: NodeJS.ProcessEnv = process.env): Environment {
  const logLevel = readLogLevel(env);
  if (logLevel === undefined) {
    throw new AppError(
      'config_invalid',
      `CASTELLAN_LOG_LEVEL is "${env['CASTELLAN_LOG_LEVEL']}", which is no level`,
      { hint: `The levels are ${LOG_LEVELS.join(', ')}.` },
    );
  }
  return {
    databaseUrl: env['CASTELLAN_DATABASE_URL'] || undefined,
    keys: env['CASTELLAN_KEYS'] || undefined,
    logLevel,
  };
}

/** The level of the log, `info` when nothing is said; undefined when what is said is none. */
export function readLogLevel(env: NodeJS.ProcessEnv = process.env): LogLevel | undefined {
  const said = env['CASTELLAN_LOG_LEVEL'] || 'info';
  return LOG_LEVELS.find((level) => level === said);
}
