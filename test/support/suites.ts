import { glob } from 'node:fs/promises';
import { resolve, sep } from 'node:path';

/*
 * Which files a suite is made of. The folders below are suites of their own; every other test file is
 * a unit test.
 */

const FOLDERS = ['flows', 'clients', 'browser', 'faults', 'conformance'] as const;

export const SUITES = ['unit', ...FOLDERS] as const;

export type Suite = (typeof SUITES)[number];

export function isSuite(name: string): name is Suite {
  return SUITES.some((suite) => suite === name);
}

/** The folder that a suite's files are in, as people write it. */
export function folderOf(suite: Suite): string {
  return suite === 'unit' ? 'test' : `test/${suite}`;
}

/**
 * The test files of a suite below `root`, as paths relative to it with slashes, in order. With
 * `parts`, only files whose path has one of them in it, or is one of them.
 */
export async function filesOf(root: string, suite: Suite, parts: string[] = []): Promise<string[]> {
  const files = await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }));
  return files
    .map((file) => file.split(sep).join('/'))
    .filter((file) => suiteOf(file) === suite)
    .filter((file) => parts.length === 0 || parts.some((part) => isMeant(root, file, part)))
    .toSorted();
}

function isMeant(root: string, file: string, part: string): boolean {
  return file.includes(part) || resolve(root, file) === resolve(part);
}

function suiteOf(file: string): Suite {
  return FOLDERS.find((folder) => file.startsWith(`test/${folder}/`)) ?? 'unit';
}
