import { createInterface } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { CommanderError } from 'commander';
import { AppError } from '#src/errors.ts';

/*
 * Questions at a terminal. They go to stderr, because stdout is for results. Ctrl-C ends the command
 * with 130, as the shell expects of it.
 */

/** Whether somebody is there to answer. */
function isTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * Asks a yes-or-no question; everything but y and yes is no.
 * @throws `usage` when nobody is there to answer, naming the option that answers instead.
 */
export async function confirm(question: string, insteadOption: string): Promise<boolean> {
  requireTerminal(insteadOption);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  lines.once('SIGINT', () => reject(interrupted()));
  // Ctrl-D: no answer is no.
  lines.once('close', () => resolve(undefined));
  lines.question(`${question} [y/N] `, resolve);
  let answer: string | undefined;
  try {
    answer = await promise;
  } finally {
    // The question's line is still open unless Enter ended it.
    if (answer === undefined) process.stderr.write('\n');
    lines.close();
  }
  return answer !== undefined && /^y(es)?$/i.test(answer.trim());
}

/** @throws `usage` when nobody is there to answer. */
export function requireTerminal(insteadOption: string): void {
  if (isTerminal()) return;
  throw new AppError('usage', 'There is no terminal to ask at', { hint: insteadOption });
}

/** Lines typed at the terminal without being shown. Leaving its scope gives the terminal back. */
export class HiddenInput implements Disposable {
  readonly #input: ReadStream;
  readonly #decoder = new TextDecoder();
  /** Typed or pasted, and not yet part of a line. */
  #waiting = '';
  #line = '';
  #afterReturn = false;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(input: ReadStream = process.stdin) {
    this.#input = input;
    // Before the first question, and between two: what is typed early must not be shown either.
    input.setRawMode(true);
    input.on('data', this.#receive).on('end', this.#end).on('error', this.#end);
  }

  [Symbol.dispose](): void {
    this.#input.off('data', this.#receive).off('end', this.#end).off('error', this.#end);
    this.#input.setRawMode(false);
    this.#input.pause();
  }

  /** @throws an interruption on Ctrl-C, and when the terminal goes away. */
  async ask(question: string): Promise<string> {
    process.stderr.write(question);
    try {
      for (;;) {
        const line = this.#takeLine();
        if (line !== undefined) return line;
        if (this.#ended) throw interrupted();
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
      }
    } finally {
      process.stderr.write('\n');
    }
  }

  readonly #receive = (chunk: Buffer): void => {
    this.#waiting += this.#decoder.decode(chunk, { stream: true }).replaceAll(KEY_SEQUENCE, '');
    this.#wake?.();
  };

  readonly #end = (): void => {
    this.#ended = true;
    this.#wake?.();
  };

  /** Consumes what was typed, up to the end of a line. */
  #takeLine(): string | undefined {
    for (const key of this.#waiting) {
      this.#waiting = this.#waiting.slice(key.length);
      const wasReturn = this.#afterReturn;
      this.#afterReturn = key === '\r';
      if (key === CTRL_C) throw interrupted();
      if (key === '\n' && wasReturn) continue;
      if (key === '\r' || key === '\n' || key === CTRL_D) return this.#endLine();
      this.#line = edited(this.#line, key);
    }
    return undefined;
  }

  #endLine(): string {
    const line = this.#line;
    this.#line = '';
    return line;
  }
}

const CTRL_C = '\x03';
const CTRL_D = '\x04';
const CTRL_U = '\x15';
const BACKSPACES = new Set(['\x7f', '\b']);
/** Arrow keys and the like. */
// eslint-disable-next-line no-control-regex
const KEY_SEQUENCE = /\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?/g;

/** The line after a key; other control keys do nothing. */
function edited(line: string, key: string): string {
  if (BACKSPACES.has(key)) return line.replace(/.$/u, '');
  if (key === CTRL_U) return '';
  return key < ' ' ? line : line + key;
}

function interrupted(): CommanderError {
  return new CommanderError(130, 'castellan.interrupted', 'interrupted');
}
