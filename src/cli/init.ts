import { access, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { AppError } from '#src/errors.ts';
import { addCommand, commonOptions } from './command.ts';
import { printResult, visible } from './output.ts';
import { scaffold } from './scaffold.ts';

/** `castellan init`: the folder of a new project. */

export function addInit(program: Command): void {
  addCommand(program, {
    usage: 'init <dir>',
    about: 'Make a project: configuration, roles, one tool, README. Overwrites nothing.',
    examples: ['castellan init my-project', 'castellan init .'],
  }).action(init);
}

async function init(dir: string, _options: object, command: Command): Promise<void> {
  const common = commonOptions(command);
  const folder = resolve(common.project, dir);
  const files = scaffold(folder);
  await requireAbsent(folder, Object.keys(files));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    // wx: a file that appeared since the check is not overwritten either.
    await writeFile(join(folder, name), text, { flag: 'wx' });
  }
  printResult(common, { folder, files: Object.keys(files) }, () =>
    nextSteps(folder, Object.keys(files)),
  );
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
  const shown = visible(folder);
  return [
    `Made ${shown} with ${files.join(', ')}.`,
    'Next:',
    `  castellan users add YOUR_NAME --role member --project ${shown}`,
    `  castellan serve --project ${shown}`,
  ].join('\n');
}
