import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { addClients } from './clients.ts';
import { folderName } from './command.ts';
import { addGrants } from './grants.ts';
import { addInit } from './init.ts';
import { addKeys } from './keys.ts';
import { addMcp } from './mcp.ts';
import { addMigrate } from './migrate.ts';
import { addRoles } from './roles.ts';
import { newProgram, runProgram } from './run.ts';
import { addServe } from './serve.ts';
import { addSessions } from './sessions.ts';
import { addUsers } from './users.ts';

/*
 * The program: which commands there are. Every group is a file that adds itself to the list below.
 * Modules that are slow to load (the store, the schemas, the server) are imported by the action that
 * needs them, so that help and refusals are immediate.
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

const HELP = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing matched.
Start with:
  castellan init my-project
  castellan users add ana --role member --project my-project
  castellan serve --project my-project`;

/** Runs one command line, without the program's name. @returns the exit code, as HELP says. */
export async function run(args: readonly string[]): Promise<number> {
  return runProgram(createProgram(), args);
}

function createProgram(): Command {
  const program = newProgram('castellan')
    .description('A self-hosted MCP server with its own front door.')
    .version(readVersion(), '--version', 'print the version')
    .option('--project <dir>', 'the project folder', folderName, '.')
    .option('--json', 'print one JSON document instead of tables', false)
    .showHelpAfterError('hint: castellan --help lists the commands.')
    .addHelpText('after', HELP);
  for (const add of GROUPS) add(program);
  return program;
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
