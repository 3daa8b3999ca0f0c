import { styleText } from 'node:util';
import { isoTime } from '#src/clock.ts';
import { visible } from './output.ts';

/** Text for people: aligned columns and labelled fields, by the rules of output.ts. */

/** What a cell may hold; null is shown as a dash. */
export type Cell = string | number | null | readonly string[];

const WIDEST_CELL = 60;
const GAP = '  ';
/** Characters that take two columns: East Asian wide and full width, and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const COMBINING = /^[\p{Mn}\p{Me}]+$/u;
const segmenter = new Intl.Segmenter();

/** A table with a heading; '' when there are no rows. Long cells are cut. */
export function table(heading: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '';
  const body = rows.map((row) => row.map((cell) => cut(cellText(cell))));
  const widths = heading.map((title, column) =>
    Math.max(width(title), ...body.map((row) => width(row[column] ?? ''))),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => pad(cell, widths[column] ?? 0))
      .join(GAP)
      .trimEnd();
  return [strong(line(heading)), ...body.map(line)].join('\n');
}

/** One thing's facts, a line each, uncut. */
export function fields(facts: Readonly<Record<string, Cell>>): string {
  const labels = Object.keys(facts);
  const widest = Math.max(...labels.map(width));
  return Object.entries(facts)
    .map(([label, cell]) => `${strong(pad(label, widest))}${GAP}${cellText(cell)}`.trimEnd())
    .join('\n');
}

/** A time for a cell, in UTC to the minute. */
export function minute(milliseconds: number | null): string | null {
  return isoTime(milliseconds)?.slice(0, 16).replace('T', ' ') ?? null;
}

/** `1 token`, `2 tokens`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** How many columns of a terminal a text takes. */
export function width(text: string): number {
  let columns = 0;
  for (const { segment } of segmenter.segment(text)) columns += segmentWidth(segment);
  return columns;
}

function segmentWidth(segment: string): number {
  if (COMBINING.test(segment)) return 0;
  return WIDE.test(segment) ? 2 : 1;
}

function cellText(cell: Cell): string {
  if (cell === null) return '-';
  if (typeof cell === 'number') return String(cell);
  const text = typeof cell === 'string' ? cell : cell.join(', ');
  return text === '' ? '-' : visible(text);
}

function cut(text: string): string {
  if (width(text) <= WIDEST_CELL) return text;
  let kept = '';
  let columns = 0;
  for (const { segment } of segmenter.segment(text)) {
    columns += segmentWidth(segment);
    if (columns >= WIDEST_CELL) break;
    kept += segment;
  }
  return `${kept}…`;
}

function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)));
}

/** Node looks at the stream and at NO_COLOR. */
function strong(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}
