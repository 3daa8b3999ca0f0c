import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { AppError, type ErrorCode } from '#src/errors.ts';
import { addClients } from './clients.ts';
import { folderName } from './command.ts';
import { addGrants } from './grants.ts';
import { addInit } from './init.ts';
import { addKeys } from './keys.ts';
import { addMcp } from './mcp.ts';
import { addMigrate } from './migrate.ts';
import { printError, visibleLines } from './output.ts';
import { addRoles } from './roles.ts';
import { addServe } from './serve.ts';
import { addSessions } from './sessions.ts';
import { addUsers } from './users.ts';

/*
 * The program: which commands there are, and what becomes of their failures. Every group is a file
 * that adds itself to the list below. Modules that are slow to load (the store, the schemas, the
 * server) are imported by the action that needs them, so that help and refusals are immediate.
 */

const GROUPS = [
  addServe,
  addInit,
  addUsers,
  addGrants,
  addClients,
  addSessions,
  addMcp,
  addKeys,
  addRoles,
  addMigrate,
];

/** Every other code is 1. */
const EXIT_CODES: Partial<Record<ErrorCode, number>> = {
  usage: 2,
  not_found: 3,
  nothing_matched: 3,
};

const HELP = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing matched.
Start with:
  castellan init my-project
  castellan users add ana --role member --project my-project
  castellan serve --project my-project`;

/**
 * Runs one command line, without the program's name.
 *
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage, 3 nothing matched, 130 interrupted.
 */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // commander has said what is wrong by now.
    if (error instanceof CommanderError) return commanderExitCode(error);
    await printError(error);
    return error instanceof AppError ? (EXIT_CODES[error.code] ?? 1) : 1;
  }
}

function createProgram(): Command {
  const program = new Command('castellan')
    .description('A self-hosted MCP server with its own front door.')
    .version(readVersion(), '--version', 'print the version')
    .option('--project <dir>', 'the project folder', folderName, '.')
    .option('--json', 'print one JSON document instead of tables', false)
    .helpOption('-h, --help', 'show this help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => write(visibleLines(text.replace(/^error: /, 'castellan: '))),
    })
    .showHelpAfterError('hint: castellan --help lists the commands.')
    .addHelpText('after', HELP)
    .exitOverride();
  for (const add of GROUPS) add(program);
  return program;
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function commanderExitCode(error: CommanderError): number {
  // A group without a command shows its help, which answers nothing that was asked.
  if (error.code === 'commander.help') return 2;
  return error.exitCode === 1 ? 2 : error.exitCode;
}
