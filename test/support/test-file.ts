import { once } from 'node:events';
import { resolve } from 'node:path';
import { run } from 'node:test';
import type { Outcome } from './outcome.ts';
import { Tally } from './tally.ts';

export interface TestFileOptions {
  /** Absolute; `file` is relative to it. */
  root: string;
  file: string;
  timeoutSeconds: number;
  /** Ends the file's process. */
  signal: AbortSignal;
  /** Only tests whose names match. */
  only?: RegExp | undefined;
}

/**
 * Runs one test file in a process of its own.
 *
 * One call of `run()` per file, because its `timeout` is for single tests: a file whose tests are done
 * but which still listens somewhere would keep the run waiting for ever.
 */
export async function runTestFile(options: TestFileOptions): Promise<Outcome> {
  const { root, file, timeoutSeconds, signal, only } = options;
  const started = performance.now();
  const path = resolve(root, file);
  const timeout = AbortSignal.timeout(timeoutSeconds * 1_000);
  const stream = run({
    files: [path],
    cwd: root,
    isolation: 'process',
    signal: AbortSignal.any([signal, timeout]),
    ...(only && { testNamePatterns: [only] }),
  });
  const tally = new Tally(file, path);
  stream.on('test:dequeue', (test) => tally.run(test));
  stream.on('test:complete', (test) => tally.end(test));
  stream.on('test:start', (test) => tally.begin(test));
  stream.on('test:pass', (test) => tally.pass(test));
  stream.on('test:fail', (test) => tally.fail(test));
  stream.on('test:stdout', ({ message }) => tally.write(message));
  stream.on('test:stderr', ({ message }) => tally.write(message));
  stream.on('test:diagnostic', ({ message }) => tally.note(message));
  let running: string[] = [];
  // Asked first: the end of the process ends its tests too.
  timeout.addEventListener('abort', () => (running = tally.running));
  await once(stream.resume(), 'end');
  if (timeout.aborted) {
    tally.failFile(describeTimeout(timeoutSeconds, running));
  } else if (tally.isEmpty && !only && !signal.aborted) {
    tally.failFile('There is no test in this file.');
  }
  const { passed, failed, skipped, failures, tests, output } = tally;
  const seconds = (performance.now() - started) / 1_000;
  return { name: file, passed, failed, skipped, failures, tests, output, seconds };
}

function describeTimeout(seconds: number, running: string[]): string {
  const reason = running.length === 0 ? 'what its tests left open' : running.join(' > ');
  return `Its process did not end within ${seconds} s. It waits for: ${reason}`;
}
