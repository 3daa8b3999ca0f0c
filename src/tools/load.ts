import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, importProblem, systemCode } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import { isTool } from './define.ts';
import { compileTool, toolSet, type CompiledTool, type ToolSet } from './tool-set.ts';

/**
 * Imports a module and returns its default export; a new version reads the file anew. One that never
 * finishes is `expired` in the end.
 */
export type ImportModule = (file: string, version: string) => Promise<unknown>;

export interface LoadOptions {
  folder: string;
  /** Distinguishes one load from the one before. */
  version: string;
  importModule: ImportModule;
  emit: Emit;
}

const TOOL_FILE = /\.(ts|mts|js|mjs)$/;
const NOT_A_TOOL = /(\.d\.ts|\.test\.\w+)$/;

/**
 * Loads a project's tools, one a file. A file that throws, never finishes, exports no tool or clashes with
 * another is named in an event and left out; the others serve.
 */
export async function loadTools(options: LoadOptions): Promise<ToolSet> {
  const { emit } = options;
  const accepted = new Map<string, CompiledTool>();
  let incomplete = false;
  for (const file of await toolFiles(options.folder)) {
    const loaded = await loadTool(options, file);
    const problem = 'problem' in loaded ? loaded.problem : clash(accepted, loaded.compiled);
    if (problem !== undefined || 'problem' in loaded) {
      incomplete = true;
      emit({ type: 'tools.rejected', file, reason: problem ?? '' });
      continue;
    }
    const { name, description } = loaded.compiled.tool;
    if (!description) {
      emit({
        type: 'tools.warning',
        tool: name,
        reason: 'it has no description, so assistants cannot tell when to use it',
      });
    }
    accepted.set(name, loaded.compiled);
  }
  emit({ type: 'tools.loaded', count: accepted.size, names: [...accepted.keys()].toSorted() });
  return toolSet([...accepted.values()], incomplete);
}

async function toolFiles(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    return names.filter((name) => TOOL_FILE.test(name) && !NOT_A_TOOL.test(name)).toSorted();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

async function loadTool(
  options: LoadOptions,
  file: string,
): Promise<{ compiled: CompiledTool } | { problem: string }> {
  let exported: unknown;
  try {
    exported = await options.importModule(join(options.folder, file), options.version);
  } catch (error) {
    if (error instanceof AppError && error.code === 'expired') return { problem: error.message };
    return { problem: `it threw while loading: ${importProblem(error)}` };
  }
  if (!isTool(exported)) return { problem: 'its default export is not tool({...})' };
  return compileTool(exported);
}

function clash(
  accepted: ReadonlyMap<string, CompiledTool>,
  compiled: CompiledTool,
): string | undefined {
  const { name } = compiled.tool;
  return accepted.has(name) ? `another file already defines a tool named ${name}` : undefined;
}
