import { access, readFile } from 'node:fs/promises';
import { basename, isAbsolute, join, resolve } from 'node:path';
import type { z } from 'zod';
import { configSchema, readEnvironment, type Config, type Environment } from './config.ts';
import { AppError, importProblem } from './errors.ts';
import type { CertificateFiles } from '#src/http/certificate.ts';
import { importFresh, provideImports } from './project-imports.ts';

/** A project folder, read and checked. Paths are absolute. */
export interface Project {
  folder: string;
  config: Config;
  environment: Environment;
  /** The name that people read. */
  name: string;
  /** `sqlite:/absolute/path` or `postgres://...`; the second holds a password, never log it. */
  stateUrl: string;
  keysFolder: string;
  /** Of `listen.tls`. */
  certificateFiles: CertificateFiles | undefined;
  toolsFolder: string;
  rolesFile: string;
}

/** What the command line may override. */
export interface Overrides {
  host?: string | undefined;
  port?: number | undefined;
}

const CONFIG_FILES = ['castellan.config.ts', 'castellan.config.json'];

/**
 * Reads a project folder's configuration.
 *
 * @throws `config_invalid` when there is no configuration file, when it cannot be loaded, or when a
 * field is unknown or wrong; the message names the field.
 */
export async function loadProject(folder: string, overrides: Overrides = {}): Promise<Project> {
  const root = resolve(folder);
  const file = await findConfigFile(root);
  provideImports(root);
  const config = parseConfig(await readConfigFile(file), file);
  if (overrides.host !== undefined) config.listen.host = overrides.host;
  if (overrides.port !== undefined) config.listen.port = overrides.port;
  const environment = readEnvironment();
  return {
    folder: root,
    config,
    environment,
    name: config.server.name ?? basename(root),
    stateUrl: absoluteState(root, environment.databaseUrl ?? config.state),
    keysFolder: join(root, 'keys'),
    certificateFiles: absoluteFiles(root, config.listen.tls),
    toolsFolder: join(root, 'tools'),
    rolesFile: join(root, 'roles.json'),
  };
}

/**
 * Checks a configuration and fills in its defaults.
 *
 * @throws `config_invalid` naming every field that is unknown or wrong.
 */
export function parseConfig(value: unknown, file: string): Config {
  const result = configSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(describeIssue);
  throw new AppError('config_invalid', `${file}\n  ${problems.join('\n  ')}`, {
    detail: { problems },
    hint: 'Correct the fields named above and start again.',
  });
}

/** One line for one zod issue, beginning with the path of the field. */
function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${[...issue.path, key].join('.')}: unknown field`).join('\n  ');
  }
  const path = issue.path.join('.');
  return `${path === '' ? '(whole file)' : path}: ${issue.message}`;
}

async function findConfigFile(root: string): Promise<string> {
  const found: string[] = [];
  for (const name of CONFIG_FILES) {
    await access(join(root, name)).then(
      () => found.push(name),
      () => {},
    );
  }
  const [name, other] = found;
  if (name === undefined) {
    throw new AppError('config_invalid', `No castellan.config.ts or .json in ${root}`, {
      hint: 'Name a project with --project DIR, or make one with: castellan init DIR',
    });
  }
  if (other !== undefined) {
    throw new AppError('config_invalid', `${root} has both ${name} and ${other}`, {
      hint: 'Keep one of them: what the other one says would not count.',
    });
  }
  return join(root, name);
}

async function readConfigFile(file: string): Promise<unknown> {
  let exported: unknown;
  try {
    if (file.endsWith('.json')) return JSON.parse(await readFile(file, 'utf8')) as unknown;
    exported = await importFresh(file, 'config');
  } catch (error) {
    throw new AppError('config_invalid', `${file} cannot be loaded: ${importProblem(error)}`, {
      cause: error,
    });
  }
  if (exported !== undefined) return exported;
  // Started on defaults alone, it would serve something else than what the file says.
  throw new AppError('config_invalid', `${file}: it has no default export`, {
    hint: 'Write: export default defineConfig({...})',
  });
}

function absoluteState(root: string, state: string): string {
  if (!state.startsWith('sqlite:')) return state;
  const path = state.slice('sqlite:'.length);
  return `sqlite:${isAbsolute(path) ? path : join(root, path)}`;
}

function absoluteFiles(
  root: string,
  files: CertificateFiles | undefined,
): CertificateFiles | undefined {
  if (files === undefined) return undefined;
  return { certFile: resolve(root, files.certFile), keyFile: resolve(root, files.keyFile) };
}
