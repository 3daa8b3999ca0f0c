/** What one test file, or one check, came to. */
export interface Outcome {
  /** A path or the name of a check, as it is printed. */
  name: string;
  /** Leaf tests only: a test that has subtests counts through them. */
  passed: number;
  failed: number;
  /** Also those marked `todo`. */
  skipped: number;
  failures: Failure[];
  /** What it was that passed, failed or was skipped; empty for a check. */
  tests: TestEnd[];
  /** What the process wrote; shown when something failed. */
  output: string;
  seconds: number;
}

/** How one test ended that has no subtests. */
export interface TestEnd {
  /** The names from the outermost suite to the test. */
  path: string[];
  end: 'passed' | 'failed' | 'skipped';
}

export interface Failure {
  /** The names from the outermost suite to the test. */
  title: string;
  /** `file:line`, where it is known. */
  place: string;
  /** The error with its stack and causes. */
  text: string;
}

export interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

export function sumOf(outcomes: Totals[]): Totals {
  return {
    passed: outcomes.reduce((sum, outcome) => sum + outcome.passed, 0),
    failed: outcomes.reduce((sum, outcome) => sum + outcome.failed, 0),
    skipped: outcomes.reduce((sum, outcome) => sum + outcome.skipped, 0),
  };
}
