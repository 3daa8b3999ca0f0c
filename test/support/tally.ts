import type { EventData } from 'node:test';
import { inspect } from 'node:util';
import type { Failure, TestEnd } from './outcome.ts';

type Ended = EventData.TestPass | EventData.TestFail;

/** Lines with which the runner closes a file; they are counted here instead. */
const SUMMARY_LINE = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

/** Counts what the runner reports of one test file. */
export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  readonly failures: Failure[] = [];
  readonly tests: TestEnd[] = [];
  output = '';

  readonly #name: string;
  readonly #path: string;
  /** Names of the tests that have begun, by nesting. */
  readonly #open: string[] = [];
  #lastNesting = 0;
  readonly #running = new Set<string>();

  /** `name` is what people read, `path` the absolute one that the runner uses. */
  constructor(name: string, path: string) {
    this.#name = name;
    this.#path = path;
  }

  get isEmpty(): boolean {
    return this.passed + this.failed + this.skipped === 0;
  }

  /** Names of the tests that have not ended, in the order in which they began. */
  get running(): string[] {
    return [...this.#running];
  }

  /** Comes at once, while the other reports wait for the tests before. */
  run(test: EventData.TestDequeue): void {
    if (test.name !== this.#path) this.#running.add(test.name);
  }

  end(test: EventData.TestComplete): void {
    this.#running.delete(test.name);
  }

  begin(test: EventData.TestStart): void {
    this.#open[test.nesting] = test.name;
  }

  pass(test: EventData.TestPass): void {
    if (!this.#isLeaf(test) || this.#isWholeFile(test)) return;
    if (isOff(test)) this.#skip(test);
    else {
      this.passed += 1;
      this.tests.push({ path: this.#pathOf(test), end: 'passed' });
    }
  }

  fail(test: EventData.TestFail): void {
    const isLeaf = this.#isLeaf(test);
    if (isOff(test)) {
      if (isLeaf) this.#skip(test);
      return;
    }
    const { error } = test.details;
    const type: unknown = Reflect.get(error, 'failureType');
    // Counted elsewhere: with the subtests, and by whoever ended the process.
    if (type === 'subtestsFailed' || (this.#isWholeFile(test) && type === 'testAborted')) return;
    if (this.#isWholeFile(test)) this.failFile(describeExit(error));
    else {
      const path = this.#pathOf(test);
      this.tests.push({ path, end: 'failed' });
      this.#add(path.join(' > '), this.#placeOf(test), describe(error));
    }
  }

  /** Counts a failure of the file as a whole. */
  failFile(text: string): void {
    this.#add('the file', this.#name, text);
  }

  write(message: string): void {
    this.output += message;
  }

  /** What a test left running and what it then threw is told in a note only. */
  note(message: string): void {
    if (!SUMMARY_LINE.test(message)) this.output += `${message}\n`;
  }

  #skip(test: Ended): void {
    this.skipped += 1;
    this.tests.push({ path: this.#pathOf(test), end: 'skipped' });
  }

  #add(title: string, place: string, text: string): void {
    this.failed += 1;
    this.failures.push({ title, place, text });
  }

  /** Subtests are reported right before the test that they belong to. To be asked once per test. */
  #isLeaf(test: Ended): boolean {
    const hasSubtests = this.#lastNesting > test.nesting;
    this.#lastNesting = test.nesting;
    return !hasSubtests && test.details.type !== 'suite';
  }

  /** The runner reports the file itself as a test when its process failed, or had no test. */
  #isWholeFile(test: Ended): boolean {
    return test.nesting === 0 && test.name === this.#path;
  }

  /** Where the test is written, which need not be the file that was run. */
  #placeOf({ file, line }: Ended): string {
    const root = this.#path.slice(0, -this.#name.length);
    const isBelow = this.#path.endsWith(this.#name) && file?.startsWith(root) === true;
    return `${isBelow ? file.slice(root.length) : this.#name}:${line ?? 1}`;
  }

  #pathOf(test: Ended): string[] {
    return [...this.#open.slice(0, test.nesting), test.name];
  }
}

function isOff({ skip, todo }: Ended): boolean {
  return (skip ?? false) !== false || (todo ?? false) !== false;
}

function describeExit(error: Error): string {
  const code: unknown = Reflect.get(error, 'exitCode');
  const signal: unknown = Reflect.get(error, 'signal');
  return `Its process failed outside of a test: exit code ${String(code)}, signal ${String(signal)}`;
}

/** The runner wraps what was thrown; a hook that failed has no more than a message. */
function describe(error: Error): string {
  return inspect(error.cause ?? error, { depth: 6 });
}
