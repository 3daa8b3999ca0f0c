import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Outcome } from './outcome.ts';

/** The scripts of package.json that look at the whole source; each counts as one test. */
export const CHECKS = ['check:types', 'check:lint', 'check:format', 'check:dead'];

/** Runs one script of package.json, as npm would, without npm's half second. */
export async function runCheck(root: string, name: string, signal: AbortSignal): Promise<Outcome> {
  const started = performance.now();
  const { code, output } = await runShell(root, await readScript(root, name), signal);
  const failed = code === 0 ? 0 : 1;
  return {
    name,
    passed: 1 - failed,
    failed,
    skipped: 0,
    failures:
      failed === 0 ? [] : [{ title: name, place: 'package.json', text: `Exit code ${code}` }],
    tests: [],
    output,
    seconds: (performance.now() - started) / 1_000,
  };
}

async function readScript(root: string, name: string): Promise<string> {
  const { scripts }: { scripts: Record<string, string | undefined> } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  );
  const script = scripts[name];
  if (script === undefined) throw new Error(`package.json has no script ${name}`);
  return script;
}

function runShell(
  root: string,
  command: string,
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; output: string }>();
  const path = `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  const child = spawn(command, {
    cwd: root,
    shell: true,
    signal,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  child.once('error', (error) => (output += String(error)));
  child.once('close', (code) => resolve({ code, output }));
  return promise;
}
