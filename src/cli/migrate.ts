import type { Command } from 'commander';
import { addCommand, commonOptions, open, readProject } from './command.ts';
import { printResult } from './output.ts';

/** `castellan migrate`: the state store's version. */

export function addMigrate(program: Command): void {
  addCommand(program, {
    usage: 'migrate',
    about:
      'Bring the state store to the version of this program. The server does so when it starts.',
    examples: [
      'castellan migrate',
      'CASTELLAN_DATABASE_URL=postgres://... castellan migrate --json',
    ],
  }).action(migrate);
}

async function migrate(_options: object, command: Command): Promise<void> {
  const project = await readProject(command);
  await using opened = await open(project);
  const { CURRENT_VERSION } = await import('#src/storage/migrate.ts');
  const { dialect, migrated } = opened.store;
  const value = { state: placeOf(project.stateUrl), dialect, version: CURRENT_VERSION, migrated };
  printResult(commonOptions(command), value, () => {
    const done = `The state store ${value.state} is at version ${CURRENT_VERSION}`;
    return migrated.length === 0
      ? `${done}; nothing was to be done.`
      : `${done}. Ran: ${migrated.join(', ')}.`;
  });
}

/** Where the state is, without the password that its URL may hold. */
function placeOf(stateUrl: string): string {
  if (stateUrl.startsWith('sqlite:')) return stateUrl;
  const { host, pathname } = new URL(stateUrl);
  return `postgres://${host}${pathname}`;
}
