import { access, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { AppError, messageOf, systemCode } from '#src/errors.ts';
import { shellQuote } from '#src/http/home-steps.ts';
import { addCommand, commonOptions, folderName } from './command.ts';
import { printResult, visible } from './output.ts';
import { scaffold } from './scaffold.ts';

/** `castellan init`: the folder of a new project. */

export function addInit(program: Command): void {
  addCommand(program, {
    usage: 'init',
    about: 'Make a project: configuration, roles, one tool, README. Overwrites nothing.',
    examples: ['castellan init my-project', 'castellan init .'],
  })
    .argument('<dir>', 'the folder of the project', folderName)
    .action(init);
}

async function init(dir: string, _options: object, command: Command): Promise<void> {
  const common = commonOptions(command);
  const folder = resolve(common.project, dir);
  const files = scaffold(folder);
  await requireAbsent(folder, Object.keys(files));
  try {
    await writeFiles(folder, files);
  } catch (error) {
    throw unwritable(folder, error);
  }
  printResult(common, { folder, files: Object.keys(files) }, () =>
    nextSteps(folder, Object.keys(files)),
  );
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await makeFolder(dirname(join(folder, name)));
    // wx: a file that appeared since the check is not overwritten either.
    await writeFile(join(folder, name), text, { flag: 'wx' });
  }
}

/**
 * Makes a folder and those above it, each asked for at most twice. The `recursive` of Node asks for
 * ever where a folder exists and nothing can be made in it, as in /proc.
 */
async function makeFolder(folder: string): Promise<void> {
  if ((await tryFolder(folder)) === 'made') return;
  await makeFolder(dirname(folder));
  await mkdir(folder);
}

/** A file of that name passes too: what is written below it says what is wrong. */
async function tryFolder(folder: string): Promise<'made' | 'no parent'> {
  try {
    await mkdir(folder);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' && dirname(folder) !== folder) return 'no parent';
    if (code !== 'EEXIST') throw error;
  }
  return 'made';
}

function unwritable(folder: string, error: unknown): AppError {
  const problem =
    systemCode(error) === 'ENOTDIR'
      ? `${folder} is a file, or is below one`
      : `${folder} cannot be written: ${messageOf(error)}`;
  return new AppError('invalid_input', problem, {
    cause: error,
    hint: 'Name a folder that is empty or can be made.',
  });
}

/** @throws `conflict` naming the files that are there already; nothing has been written then. */
async function requireAbsent(folder: string, names: readonly string[]): Promise<void> {
  const present: string[] = [];
  for (const name of names) {
    const isThere = await access(join(folder, name)).then(
      () => true,
      () => false,
    );
    if (isThere) present.push(name);
  }
  if (present.length === 0) return;
  throw new AppError('conflict', `${folder} already has ${present.join(', ')}`, {
    hint: 'Nothing was written. Name a folder without them.',
  });
}

function nextSteps(folder: string, files: readonly string[]): string {
  const shown = visible(shellQuote(folder));
  return [
    `Made ${visible(folder)} with ${files.join(', ')}.`,
    'Next:',
    `  castellan users add YOUR_NAME --role member --project ${shown}`,
    `  castellan serve --project ${shown}`,
  ].join('\n');
}
