import type { TestEnd } from './outcome.ts';

/*
 * The table at the end of the client tests. It is made of nothing but what the runner saw: a test
 * called `client > database > step` is a cell, several with the same three names are one.
 */

type End = TestEnd['end'];

const WORDS: Record<End, string> = { passed: 'ok', failed: 'FAILED', skipped: '-' };
/** What counts of several ends. */
const WORST: readonly End[] = ['failed', 'skipped', 'passed'];

/** Client and database by step, in the order in which they ran; empty when no test has such a name. */
export function stepTable(outcomes: readonly { name: string; tests: TestEnd[] }[]): string {
  const steps = new Set<string>();
  const rows = new Map<string, Map<string, End[]>>();
  for (const { tests } of outcomes.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    for (const { path, end } of tests) {
      const [client, database, step] = path;
      if (client === undefined || database === undefined || step === undefined) continue;
      steps.add(step);
      const key = JSON.stringify([client, database]);
      const row = rows.get(key) ?? new Map<string, End[]>();
      rows.set(key, row.set(step, [...(row.get(step) ?? []), end]));
    }
  }
  if (rows.size === 0) return '';
  const lines = [...rows].map(([key, row]) => [
    ...(JSON.parse(key) as string[]),
    ...[...steps].map((step) => cell(row.get(step))),
  ]);
  return align([['client', 'on', ...steps], ...lines]);
}

/** Nothing for a step that this client does not have. */
function cell(ends: End[] | undefined): string {
  const end = WORST.find((one) => ends?.includes(one));
  return end === undefined ? '' : WORDS[end];
}

function align(lines: string[][]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
