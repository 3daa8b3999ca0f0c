import { Command, CommanderError, Help, type Option } from 'commander';
import { AppError, type ErrorCode } from '#src/errors.ts';
import { printError, visibleLines } from './output.ts';

/** How a command line is read, and what becomes of its failures. */

/** Every other code is 1. */
const EXIT_CODES: Partial<Record<ErrorCode, number>> = {
  usage: 2,
  not_found: 3,
  nothing_matched: 3,
};

/** A program whose failures `runProgram` answers. */
export function newProgram(name: string): Command {
  return new Command(name)
    .helpOption('-h, --help', 'show this help')
    .configureOutput({
      outputError: (text, write) => write(visibleLines(text.replace(/^error: /, 'castellan: '))),
    })
    .configureHelp({ showGlobalOptions: true, optionDescription: describeOption })
    .exitOverride();
}

/**
 * Runs one command line, without the program's name.
 *
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage, 3 nothing matched, 130 interrupted.
 */
export async function runProgram(program: Command, args: readonly string[]): Promise<number> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // commander has said what is wrong by now.
    if (error instanceof CommanderError) return commanderExitCode(error);
    await printError(error);
    return error instanceof AppError ? (EXIT_CODES[error.code] ?? 1) : 1;
  }
}

/** A switch that is off and a list that is empty need no words. */
function describeOption(option: Option): string {
  return new Help().optionDescription(option).replace(/ \(default: (false|\[\])\)$/, '');
}

function commanderExitCode(error: CommanderError): number {
  // A group without a command shows its help, which answers nothing that was asked.
  if (error.code === 'commander.help') return 2;
  return error.exitCode === 1 ? 2 : error.exitCode;
}
