import { parseArgs } from 'node:util';
import type { BenchResult } from './result.ts';
import { benchStart } from './start.ts';

/*
 * The benchmarks: `npm run bench -- NAME [--json]`. Each prints medians of several rounds, with the
 * versions and the machine that they were measured on; none is a test, because machines differ.
 */

const BENCHMARKS: Record<string, () => Promise<BenchResult>> = { start: benchStart };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const run = BENCHMARKS[positionals[0] ?? ''];
if (run === undefined) {
  process.stderr.write(`Usage: npm run bench -- ${Object.keys(BENCHMARKS).join('|')} [--json]\n`);
  process.exitCode = 2;
} else {
  const result = await run();
  process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : forPeople(result));
}

function forPeople({ name, node, cpus, rounds, results }: BenchResult): string {
  const width = Math.max(...Object.keys(results).map((key) => key.length));
  const lines = Object.entries(results).map(([key, value]) => `  ${key.padEnd(width)}  ${value}`);
  return `${name}: medians of ${rounds} rounds, Node ${node}, ${cpus} cores\n${lines.join('\n')}\n`;
}
