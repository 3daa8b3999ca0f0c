import { InvalidArgumentError, type Command } from 'commander';
import type { Project } from '#src/project.ts';
import type { OpenProject } from '#src/project-secrets.ts';
import { printNote } from './output.ts';

/** What every command has: its help, the options of the whole program, and the project it works on. */

/** Who the audit log says it was. */
export const ACTOR = 'cli';

export interface CommandText {
  /** Name and arguments, as commander writes them: `show <id>`. */
  usage: string;
  about: string;
  /** Full command lines. */
  examples: readonly string[];
}

/** Adds a command that does something. */
export function addCommand(parent: Command, text: CommandText): Command {
  const command = parent.command(text.usage).description(text.about);
  return command
    .addHelpText('after', `\nExamples:\n${text.examples.map((line) => `  ${line}`).join('\n')}`)
    .showHelpAfterError(`hint: ${fullName(command)} --help shows how it is used.`);
}

/** Adds a command that only holds others. */
export function addGroup(parent: Command, name: string, about: string): Command {
  const group = parent.command(name).description(about);
  return group.showHelpAfterError(`hint: ${fullName(group)} --help lists its commands.`);
}

/** For an option that may be given several times: the values, each once. */
export function collect(value: string, before: string[]): string[] {
  return before.includes(value) ? before : [...before, value];
}

/** An empty name is an unset variable in somebody's script: it must not mean the current folder. */
export function folderName(value: string): string {
  if (value === '') throw new InvalidArgumentError('It is empty.');
  return value;
}

export interface CommonOptions {
  /** `--project`, as given. */
  project: string;
  json: boolean;
}

export function commonOptions(command: Command): CommonOptions {
  return command.optsWithGlobals<CommonOptions>();
}

/** Reads the project's configuration. @throws `config_invalid`. */
export async function readProject(command: Command): Promise<Project> {
  const { loadProject } = await import('#src/project.ts');
  return loadProject(commonOptions(command).project);
}

/**
 * Opens a project's keys and state store, for the scope of one command.
 * @param options `newKeys` to begin with new keys when the old ones are lost.
 * @throws `keys_unsafe`, `keys_invalid`, `store_unavailable`, `state_too_new`.
 */
export async function open(
  project: Project,
  options: { newKeys?: boolean } = {},
): Promise<OpenProject> {
  const { openProject } = await import('#src/project-secrets.ts');
  return openProject(project, {
    actor: ACTOR,
    onError: (message) => printNote(`castellan: state store: ${message}`),
    ...options,
  });
}

function fullName(command: Command): string {
  const parent = command.parent;
  return parent === null ? command.name() : `${fullName(parent)} ${command.name()}`;
}
