import { realpathSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { SECOND } from './clock.ts';
import { AppError } from './errors.ts';

/*
 * How the modules of a project folder are found.
 * A project needs no node_modules: `castellan` and `zod` resolve to this installation.
 * A module imported with `?castellan=<version>` hands the version on to the project files that it
 * imports, so that a reload sees changes below the tool file too.
 */

const PROVIDED = new Map([
  ['castellan', new URL('./index.ts', import.meta.url).href],
  ['zod', import.meta.resolve('zod')],
]);
const VERSION = 'castellan';
const IMPORT_MS = 10 * SECOND;

/** Makes `import` inside the folder find `castellan` and `zod`. Safe to call more than once. */
export function provideImports(folder: string): void {
  // Node knows modules by their real paths, whatever links led to them.
  const root = pathToFileURL(`${realpathSync(folder)}/`).href;
  registerHooks({
    resolve(specifier, context, next) {
      const parent = context.parentURL;
      if (parent === undefined || !parent.startsWith(root)) return next(specifier, context);
      const provided = PROVIDED.get(specifier);
      if (provided !== undefined) return { url: provided, shortCircuit: true };
      const resolved = next(specifier, context);
      const version = new URL(parent).searchParams.get(VERSION);
      if (version === null || !resolved.url.startsWith(root)) return resolved;
      if (resolved.url.includes('/node_modules/')) return resolved;
      return { ...resolved, url: withVersion(resolved.url, version) };
    },
  });
}

/**
 * Imports a file of the project, anew for every version.
 *
 * @throws `expired` when it has not finished after `withinMs`, 10 s unless a test says otherwise;
 * and whatever the file throws.
 */
export async function importFresh(
  file: string,
  version: string,
  withinMs: number = IMPORT_MS,
): Promise<unknown> {
  const url = withVersion(pathToFileURL(file).href, version);
  const late = Promise.withResolvers<never>();
  // It also keeps the process from ending quietly when nothing else is waited for.
  const timer = setTimeout(() => late.reject(unfinished(withinMs)), withinMs);
  try {
    const loaded: unknown = await Promise.race([import(url), late.promise]);
    return defaultExport(loaded);
  } finally {
    clearTimeout(timer);
  }
}

function unfinished(withinMs: number): AppError {
  const message = `it has not finished loading after ${withinMs / SECOND} s: an await at its top level still waits`;
  return new AppError('expired', message);
}

function withVersion(url: string, version: string): string {
  const versioned = new URL(url);
  versioned.searchParams.set(VERSION, version);
  return versioned.href;
}

function defaultExport(module: unknown): unknown {
  return typeof module === 'object' && module !== null && 'default' in module
    ? module.default
    : undefined;
}
