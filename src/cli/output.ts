import { AppError, messageOf, systemCode } from '#src/errors.ts';

/*
 * The rules of output, for every command:
 * - stdout holds the result and nothing else: text for people, or with --json one JSON document.
 * - stderr holds the rest: notes, warnings, questions, and errors as `castellan: message` with a hint.
 * - A command that fails before it has a result leaves stdout empty, with --json too.
 * - Names come from strangers. Characters that steer a terminal or reorder a line are printed as
 *   escapes, in tables, in messages and within JSON strings (where the value stays the same).
 * - Colours only where stdout is a terminal and NO_COLOR is not set.
 * - Times are ISO 8601 UTC in JSON, and UTC to the minute in tables.
 * - A secret is printed only by the command that makes it.
 */

/** Control, format (bidi overrides, zero width), surrogate, private and unassigned; line separators. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;
const INVISIBLE_BUT_NEWLINE = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu;

/** Prints a command's result. `text` is called for people only. */
export function printResult(options: { json: boolean }, value: unknown, text: () => string): void {
  const printed = options.json ? jsonText(value) : text();
  if (printed !== '') process.stdout.write(`${printed}\n`);
}

/** Says something that is not the result. */
export function printNote(text: string): void {
  process.stderr.write(`${visibleLines(text)}\n`);
}

/** A result that did not get out, as on a full disk, fails the command; what it did is done. */
export function reportLostResult(error: Error): void {
  // A reader that has seen enough (`| head`) is no failure.
  if (systemCode(error) === 'EPIPE') return;
  printNote(`castellan: The result could not be written: ${messageOf(error)}`);
  process.exitCode = 1;
}

/** Says why the command failed, and what to do next. */
export async function printError(error: unknown): Promise<void> {
  printNote(`castellan: ${messageOf(error) || 'it failed without a message'}`);
  if (error instanceof AppError) {
    if (error.hint !== undefined) printNote(`hint: ${error.hint}`);
    if (error.code !== 'internal') return;
  }
  const { readLogLevel } = await import('#src/config.ts');
  if (readLogLevel() !== 'debug') {
    printNote('hint: CASTELLAN_LOG_LEVEL=debug shows where it happened.');
  } else if (error instanceof Error) {
    printNote(error.stack ?? '');
  }
}

/** One line of text in which every character can be seen. */
export function visible(text: string): string {
  return text.replaceAll(INVISIBLE, escapeForPeople);
}

/** The same for text of several lines of our own. */
export function visibleLines(text: string): string {
  return text.replaceAll(INVISIBLE_BUT_NEWLINE, escapeForPeople);
}

function escapeForPeople(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}

function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(INVISIBLE_BUT_NEWLINE, escapeForJson);
}

/** By UTF-16 unit, as JSON counts. */
function escapeForJson(character: string): string {
  return Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('');
}
