import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, importProblem, systemCode } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import { isTool, type Tool } from './define.ts';
import { isEntityTool } from './entity.ts';
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
const NO_DESCRIPTION = 'it has no description, so assistants cannot tell when to use it';

interface Loaded {
  compiled: CompiledTool;
  /** Where it was found, for whoever has another of the same name. */
  file: string;
}

/**
 * Loads a project's tools, one file after the other by name. A file that throws, never finishes or
 * exports no tool is named in an event and left out, and so is a tool that cannot be published or is
 * called like one of an earlier file; the others serve.
 */
export async function loadTools(options: LoadOptions): Promise<ToolSet> {
  const { emit } = options;
  const accepted = new Map<string, Loaded>();
  let incomplete = false;
  const reject = (file: string, reason: string): void => {
    incomplete = true;
    emit({ type: 'tools.rejected', file, reason });
  };
  for (const file of await toolFiles(options.folder)) {
    const found = await loadFile(options, file);
    if ('problem' in found) {
      reject(file, found.problem);
      continue;
    }
    for (const tool of found.tools) {
      const { name, description } = tool;
      const result = compileTool(tool);
      const problem = 'problem' in result ? result.problem : clash(accepted, name);
      if (problem !== undefined || 'problem' in result) {
        reject(file, `${found.isEntity ? `${name}: ` : ''}${problem}`);
        continue;
      }
      if (!description) emit({ type: 'tools.warning', tool: name, reason: NO_DESCRIPTION });
      accepted.set(name, { compiled: result.compiled, file });
    }
  }
  emit({ type: 'tools.loaded', count: accepted.size, names: [...accepted.keys()].toSorted() });
  const all = [...accepted.values()].map((one) => one.compiled);
  return toolSet(all, incomplete);
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

/** The tools of one file: its own, or one for each function of an entity. */
async function loadFile(
  options: LoadOptions,
  file: string,
): Promise<{ tools: readonly Tool[]; isEntity: boolean } | { problem: string }> {
  let exported: unknown;
  try {
    exported = await options.importModule(join(options.folder, file), options.version);
  } catch (error) {
    if (error instanceof AppError && error.code === 'expired') return { problem: error.message };
    return { problem: `it threw while loading: ${importProblem(error)}` };
  }
  if (isTool(exported)) return { tools: [exported], isEntity: false };
  if (isEntityTool(exported)) return { tools: exported.tools, isEntity: true };
  return { problem: 'its default export is not tool({...}) or entityTool({...})' };
}

function clash(accepted: ReadonlyMap<string, Loaded>, name: string): string | undefined {
  const first = accepted.get(name);
  return first && `${first.file} already defines a tool named ${name}`;
}
