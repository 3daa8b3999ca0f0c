import { chmod } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CHECKS, runCheck } from './support/checks.ts';
import { unpackChromium } from './support/chromium.ts';
import type { Outcome } from './support/outcome.ts';
import { SHARED_POSTGRES, startPostgres } from './support/postgres.ts';
import { reportOutcome, reportTotals } from './support/report.ts';
import { stepTable } from './support/step-table.ts';
import { filesOf, folderOf, isSuite, SUITES, type Suite } from './support/suites.ts';
import { temporaryFolder } from './support/temp.ts';
import { runTestFile } from './support/test-file.ts';

/*
 * Runs the tests: `node test/run.ts SUITE [PART...] [--only PATTERN] [--rounds N]`.
 *
 * SUITE is `all` (the checks of package.json, then every suite) or one of them; PART narrows it to
 * files with PART in their path, PATTERN to tests with matching names. N is how often tests that play
 * the same thing again and again do so. The last line printed is
 * `N passed, N failed, N skipped`; the exit code is 0 when at least one test ran and none failed.
 */

const USAGE = `Usage: node test/run.ts ${['all', ...SUITES].join('|')} [PART...] [--only PATTERN] [--rounds N]`;
const FILE_TIMEOUT_SECONDS = 300;
/** The tests of these files are client, database, step: they close with a table. */
const CLIENTS = `${folderOf('clients')}/`;
/** What the time is meant for. */
const USUAL_ROUNDS = 10;
const NEEDS_POSTGRES: ReadonlySet<Suite> = new Set(['unit', 'flows', 'clients', 'faults']);

interface Plan {
  root: string;
  suites: Suite[];
  /** Whether the checks run first, and a suite without files is no failure. */
  isAll: boolean;
  parts: string[];
  only: RegExp | undefined;
  rounds: number | undefined;
}

function readArguments(): Plan | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { only: { type: 'string' }, rounds: { type: 'string' } },
    });
    const [suite = '', ...parts] = positionals;
    const isAll = suite === 'all';
    if (!isAll && !isSuite(suite)) return undefined;
    if (values.rounds !== undefined && !/^[1-9]\d{0,4}$/.test(values.rounds)) return undefined;
    return {
      root: dirname(dirname(fileURLToPath(import.meta.url))),
      suites: isAll ? [...SUITES] : [suite],
      isAll,
      parts,
      only: values.only === undefined ? undefined : new RegExp(values.only),
      rounds: values.rounds === undefined ? undefined : Number(values.rounds),
    };
  } catch {
    return undefined;
  }
}

/** Ctrl-C or a kill: end the test processes, then what this process started, then exit. */
function listenForSignals(): AbortController {
  const stop = new AbortController();
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.once(name, () => {
      process.exitCode = code;
      stop.abort();
    });
  }
  return stop;
}

/** A developer's own settings must not reach the tests; nor that we may run within a test. */
function cleanEnvironment(): void {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('CASTELLAN_') || name === 'NODE_TEST_CONTEXT') delete process.env[name];
  }
}

async function findFiles(plan: Plan): Promise<Map<Suite, string[]>> {
  const files = new Map<Suite, string[]>();
  for (const suite of plan.suites) {
    files.set(suite, await filesOf(plan.root, suite, plan.parts));
  }
  return files;
}

async function runChecks(plan: Plan, signal: AbortSignal): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const name of CHECKS) {
    if (signal.aborted) break;
    const outcome = await runCheck(plan.root, name, signal);
    console.log(reportOutcome(outcome));
    outcomes.push(outcome);
  }
  return outcomes;
}

/** Runs files, as many at once as there are cores, but no more than two. */
async function runFiles(plan: Plan, files: string[], signal: AbortSignal): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const queue = files.values();
  async function work(): Promise<void> {
    for (const file of queue) {
      if (signal.aborted) return;
      const { root, only } = plan;
      const timeoutSeconds = FILE_TIMEOUT_SECONDS * Math.max(1, (plan.rounds ?? 0) / USUAL_ROUNDS);
      const options = { root, file, only, signal, timeoutSeconds };
      const outcome = await runTestFile(options);
      outcomes.push(outcome);
      if (!only || outcome.passed + outcome.failed > 0) console.log(reportOutcome(outcome));
    }
  }
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
  return outcomes;
}

async function runSuites(plan: Plan, signal: AbortSignal): Promise<Outcome[]> {
  const files = await findFiles(plan);
  for (const [suite, found] of files) {
    if (found.length === 0 && (!plan.isAll || plan.parts.length === 0)) {
      console.log(`No tests in ${[folderOf(suite), ...plan.parts].join(' with ')}`);
    }
  }
  const chosen = [...files].filter(([, found]) => found.length > 0).map(([suite]) => suite);
  if (chosen.includes('browser')) await unpackChromium();
  await using temporary = await temporaryFolder();
  await using postgres = chosen.some((suite) => NEEDS_POSTGRES.has(suite))
    ? await startPostgres()
    : undefined;
  if (postgres) process.env[SHARED_POSTGRES] = postgres.url;
  // What the tests leave behind, most of all those that are killed, goes when the run ends. Open to
  // all users as the system's own is: PostgreSQL may have to run as another one.
  await chmod(temporary.path, 0o1777);
  process.env['TMPDIR'] = temporary.path;
  return await runFiles(plan, [...files.values()].flat(), signal);
}

async function main(plan: Plan): Promise<void> {
  cleanEnvironment();
  if (plan.rounds !== undefined) process.env['CASTELLAN_TEST_ROUNDS'] = String(plan.rounds);
  const { signal } = listenForSignals();
  const isWhole = plan.isAll && plan.parts.length === 0 && !plan.only;
  const outcomes = isWhole ? await runChecks(plan, signal) : [];
  if (!signal.aborted) outcomes.push(...(await runSuites(plan, signal)));
  const steps = stepTable(outcomes.filter(({ name }) => name.startsWith(CLIENTS)));
  if (steps !== '') console.log(`\n${steps}`);
  if (signal.aborted) console.log('\nInterrupted: not all tests ran.');
  console.log(reportTotals(outcomes));
  const ran = outcomes.some(({ passed, failed }) => passed + failed > 0);
  const isGood = ran && outcomes.every(({ failed }) => failed === 0);
  // After a signal the exit code is that of the signal.
  process.exit(signal.aborted ? process.exitCode : isGood ? 0 : 1);
}

const plan = readArguments();
if (plan) {
  await main(plan);
} else {
  console.error(USAGE);
  process.exitCode = 2;
}
