import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Runs the official conformance suite and reads its results. */

/** The package has no entry point, only its program. */
const PROGRAM = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const TIMEOUT_MS = 120_000;

export interface Check {
  scenario: string;
  id: string;
  status: string;
  message: string;
}

export interface SuiteRun {
  checks: Check[];
  output: string;
}

/**
 * Runs the suite; its results go to a folder of the caller's.
 * @param onOutput told what it has printed so far, for suites that wait for a person.
 */
export async function runSuite(
  args: string[],
  folder: string,
  onOutput: (output: string) => void = () => {},
): Promise<SuiteRun> {
  const child = spawn(process.execPath, [PROGRAM, ...args, '--output-dir', folder], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  let output = '';
  const take = (text: string): void => {
    output += text;
    onOutput(output);
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  const ended = Promise.withResolvers<void>();
  child.once('close', () => ended.resolve());
  await ended.promise;
  return { checks: await readChecks(folder), output };
}

async function readChecks(folder: string): Promise<Check[]> {
  const checks: Check[] = [];
  for (const name of (await readdir(folder)).toSorted()) {
    // `server-<scenario>-<time>`
    const scenario = name
      .replace(/^(server|authorization)-/, '')
      .replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    const files = (await readdir(join(folder, name))).filter((file) => file.endsWith('.json'));
    for (const file of files) {
      const found: unknown = JSON.parse(await readFile(join(folder, name, file), 'utf8'));
      if (!Array.isArray(found)) continue;
      for (const one of found as { id: string; status: string; errorMessage?: string }[]) {
        checks.push({ scenario, id: one.id, status: one.status, message: one.errorMessage ?? '' });
      }
    }
  }
  return checks;
}
