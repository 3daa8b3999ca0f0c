import { sumOf, type Outcome } from './outcome.ts';

/*
 * What a run prints: a line per file, failures in full right after it, their titles once more at the
 * end, and one last line that other programs read.
 */

/** The lines for one file or check. */
export function reportOutcome(outcome: Outcome): string {
  const word = outcome.failed === 0 ? 'ok    ' : 'FAILED';
  const line = `${word}  ${outcome.name}  ${count(outcome)}${outcome.seconds.toFixed(1)} s`;
  if (outcome.failed === 0) return line;
  const failures = outcome.failures.map(
    ({ title, place, text }) => `\n  x ${title}\n    at ${place}\n\n${indent(text)}\n`,
  );
  const output = outcome.output.trimEnd();
  const written = output === '' ? [] : [`\n  The process wrote:\n\n${indent(output)}\n`];
  return [line, ...failures, ...written].join('\n');
}

/** The end of a run; its last line is `N passed, N failed, N skipped`. */
export function reportTotals(outcomes: Outcome[]): string {
  const { passed, failed, skipped } = sumOf(outcomes);
  const titles = outcomes.flatMap(({ failures }) =>
    failures.map(({ title, place }) => `  x ${place}  ${title}`),
  );
  const again = titles.length === 0 ? [] : ['', 'Failed:', ...titles];
  return [...again, '', `${passed} passed, ${failed} failed, ${skipped} skipped`].join('\n');
}

function count({ passed, failed, skipped }: Outcome): string {
  const tests = passed + failed;
  const parts = [`${tests} ${tests === 1 ? 'test' : 'tests'}`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (skipped > 0) parts.push(`${skipped} skipped`);
  return `${parts.join(', ')}, `;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ');
}
