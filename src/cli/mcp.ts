import type { Command } from 'commander';
import { ACTOR, addCommand, addGroup, commonOptions, open, readProject } from './command.ts';
import { printNote, printResult } from './output.ts';

/** `castellan mcp`: the endpoint, switched while servers run. */

export function addMcp(program: Command): void {
  const mcp = addGroup(program, 'mcp', 'Switch the MCP endpoint off and on while servers run.');
  addCommand(mcp, {
    usage: 'disable',
    about:
      'Switch the MCP endpoint off on every server of this state store. Calls that run finish, ' +
      'later requests get 404, sessions close. Logins and grants stay.',
    examples: ['castellan mcp disable'],
  }).action(async (_options: object, command: Command) => change(command, false));
  addCommand(mcp, {
    usage: 'enable',
    about: 'Switch the MCP endpoint on again.',
    examples: ['castellan mcp enable'],
  }).action(async (_options: object, command: Command) => change(command, true));
  addCommand(mcp, {
    usage: 'status',
    about: 'Say whether the MCP endpoint is switched on.',
    examples: ['castellan mcp status --json'],
  }).action(status);
}

async function change(command: Command, enabled: boolean): Promise<void> {
  const project = await readProject(command);
  await using opened = await open(project);
  const { switchMcp } = await import('#src/storage/settings.ts');
  await opened.store.transaction((work) => switchMcp(work, ACTOR, enabled));
  tell(command, { enabled, configured: project.config.mcp.enabled });
}

async function status(_options: object, command: Command): Promise<void> {
  const project = await readProject(command);
  await using opened = await open(project);
  const { isMcpOn } = await import('#src/storage/settings.ts');
  const enabled = await isMcpOn(opened.store.db);
  tell(command, { enabled, configured: project.config.mcp.enabled });
}

function tell(command: Command, value: { enabled: boolean; configured: boolean }): void {
  printResult(commonOptions(command), value, () =>
    value.enabled
      ? 'The MCP endpoint is on.'
      : 'The MCP endpoint is off: requests get 404. castellan mcp enable switches it on.',
  );
  if (!value.configured)
    printNote(
      'mcp.enabled is false in the configuration: the endpoint stays off whatever is said here.',
    );
}
