import { compileAccess, unreachableTools, UNREACHABLE, type Access } from '#src/access/access.ts';
import { loadTools } from '#src/tools/load.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';
import { messageOf } from './errors.ts';
import type { Emit, Event } from './events.ts';
import { importFresh } from './project-imports.ts';
import { loadRoles } from './project-roles.ts';
import type { Project } from './project.ts';

/** A project's own code and rules while they serve: its tools and its roles, which can be loaded again. */

export interface Workshop {
  tools: () => ToolSet;
  access: () => Access;
  /**
   * Loads both again. Never rejects: what fails keeps what serves, and is told. Of several that overlap
   * the one that began last counts, whichever takes longest.
   */
  reload: () => Promise<void>;
}

/** @throws `roles_invalid` naming every path that is wrong. */
export async function openWorkshop(project: Project, emit: Emit): Promise<Workshop> {
  let newest = 0;
  let tools = await readTools(project, newest, emit);
  let access = await readAccess(project, tools, emit);
  const reload = async (): Promise<void> => {
    newest += 1;
    const version = newest;
    const events: Event[] = [];
    const loaded = await readTools(project, version, (event) => events.push(event));
    const rules = await readAccess(project, loaded, (event) => events.push(event)).catch(
      (error: unknown) => {
        events.push({ type: 'roles.rejected', reason: messageOf(error) });
      },
    );
    if (version !== newest) return;
    tools = loaded;
    access = rules ?? access;
    for (const event of events) emit(event);
  };
  return {
    tools: () => tools,
    access: () => access,
    reload: () =>
      reload().catch((error: unknown) =>
        emit({ type: 'server.error', where: 'tools', message: messageOf(error) }),
      ),
  };
}

function readTools(project: Project, version: number, emit: Emit): Promise<ToolSet> {
  return loadTools({
    folder: project.toolsFolder,
    version: String(version),
    importModule: importFresh,
    emit,
  });
}

async function readAccess(project: Project, tools: ToolSet, emit: Emit): Promise<Access> {
  const { roles, warnings } = await loadRoles(project.rolesFile, {
    tools: new Set(tools.byName.keys()),
    toolsIncomplete: tools.incomplete,
  });
  for (const reason of warnings) emit({ type: 'roles.warning', reason });
  const access = compileAccess(roles);
  if (roles.permissions.allowed.length === 0 && roles.restrictedByDefault) {
    emit({
      type: 'roles.warning',
      reason: 'roles.json permits nothing, so nobody can call a tool',
    });
    return access;
  }
  for (const tool of unreachableTools(access, tools.byName.keys())) {
    emit({ type: 'tools.warning', tool, reason: UNREACHABLE });
  }
  return access;
}
