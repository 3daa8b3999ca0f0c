import { compileAccess, type Access } from '#src/access/access.ts';
import { loadTools } from '#src/tools/load.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';
import { messageOf } from './errors.ts';
import type { Emit } from './events.ts';
import { importFresh } from './project-imports.ts';
import { loadRoles } from './project-roles.ts';
import type { Project } from './project.ts';

/** A project's own code and rules while they serve: its tools, which can be loaded again, and its roles. */

export interface Workshop {
  tools: () => ToolSet;
  access: () => Access;
  reload: () => void;
}

/** The project's tools and roles. A reload that fails keeps what serves. */
export async function openWorkshop(project: Project, emit: Emit): Promise<Workshop> {
  let version = 0;
  const load = (): Promise<ToolSet> => {
    version += 1;
    return loadTools({
      folder: project.toolsFolder,
      version: String(version),
      importModule: importFresh,
      emit,
    });
  };
  let tools = await load();
  const { roles, warnings } = await loadRoles(project.rolesFile, {
    tools: new Set(tools.byName.keys()),
    toolsIncomplete: tools.incomplete,
  });
  for (const reason of warnings) emit({ type: 'roles.warning', reason });
  if (roles.permissions.allowed.length === 0 && roles.restrictedByDefault) {
    emit({
      type: 'roles.warning',
      reason: 'roles.json permits nothing, so nobody can call a tool',
    });
  }
  const access = compileAccess(roles);
  return {
    tools: () => tools,
    access: () => access,
    reload() {
      load().then(
        (loaded) => {
          tools = loaded;
        },
        (error: unknown) =>
          emit({ type: 'server.error', where: 'tools', message: messageOf(error) }),
      );
    },
  };
}
