import type { Nouns } from '#src/access/roles.ts';
import type { Event } from '#src/events.ts';
import type { Project } from '#src/project.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';

/** A project's tools, loaded so that their names are known. None is run. */

export interface ProjectTools {
  set: ToolSet;
  /** Files that do not load and tools that lack something, a sentence each. */
  warnings: string[];
}

export async function loadProjectTools(project: Project): Promise<ProjectTools> {
  const { loadTools } = await import('#src/tools/load.ts');
  const { importFresh } = await import('#src/project-imports.ts');
  const warnings: string[] = [];
  const set = await loadTools({
    folder: project.toolsFolder,
    version: 'cli',
    importModule: importFresh,
    emit(event) {
      const warning = warningOf(event);
      if (warning !== undefined) warnings.push(warning);
    },
  });
  return { set, warnings };
}

/** What roles.json may name in this project. */
export function nounsOf(set: ToolSet): Nouns {
  return { tools: new Set(set.byName.keys()), toolsIncomplete: set.incomplete };
}

function warningOf(event: Event): string | undefined {
  if (event.type === 'tools.rejected') return `tools/${event.file}: ${event.reason}`;
  if (event.type === 'tools.warning') return `tool ${event.tool}: ${event.reason}`;
  return undefined;
}
