import type { Command } from 'commander';
import type { PrivilegeText } from '#src/access/access.ts';
import type { RolesProblems } from '#src/access/roles.ts';
import { AppError } from '#src/errors.ts';
import type { Project } from '#src/project.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';
import { addCommand, addGroup, commonOptions, open, readProject } from './command.ts';
import { requireUser } from './lookup.ts';
import { printNote, printResult, visible } from './output.ts';
import { loadProjectTools, nounsOf } from './project-tools.ts';
import { counted, fields, table } from './table.ts';

/** `castellan roles`: what roles.json says, and what it comes to for one person. */

const NO_FILE = 'there is no roles.json, so nobody can call a tool';

export function addRoles(program: Command): void {
  const roles = addGroup(program, 'roles', 'Check roles.json; see what a user may do.');
  addCommand(roles, {
    usage: 'check',
    about: 'Check roles.json against the tools of the project. Loads the tools; runs none.',
    examples: ['castellan roles check', 'castellan roles check --json'],
  }).action(check);
  addCommand(roles, {
    usage: 'show <user>',
    about: 'Show the effective privileges of a user, and the tools that they permit.',
    examples: ['castellan roles show ana'],
  }).action(show);
}

async function check(_options: object, command: Command): Promise<void> {
  const project = await readProject(command);
  const tools = await loadProjectTools(project);
  const found = await examine(project, tools.set);
  const { errors } = found;
  const warnings = [...tools.warnings, ...found.warnings];
  const value = { ok: errors.length === 0, errors, warnings };
  printResult(commonOptions(command), value, () =>
    [
      ...errors.map((error) => `error: ${visible(error)}`),
      ...warnings.map((warning) => `warning: ${visible(warning)}`),
      ...(value.ok && !warnings.includes(NO_FILE) ? ['roles.json is fine.'] : []),
    ].join('\n'),
  );
  if (value.ok) return;
  throw new AppError(
    'roles_invalid',
    `${project.rolesFile} has ${counted(errors.length, 'error')}`,
    {
      hint: 'A server does not start with it.',
    },
  );
}

/** Everything that is wrong with the file at once, warnings too. */
async function examine(project: Project, set: ToolSet): Promise<RolesProblems> {
  const { parseRoles, readRolesFile } = await import('#src/project-roles.ts');
  const { checkRoles } = await import('#src/access/roles.ts');
  const { compileAccess, unreachableTools, UNREACHABLE } = await import('#src/access/access.ts');
  try {
    const text = await readRolesFile(project.rolesFile);
    const roles = parseRoles(text, project.rolesFile);
    const problems = checkRoles(roles, nounsOf(set));
    if (text === undefined) problems.warnings.push(NO_FILE);
    // Where names are wrong, or the file is missing, that is why.
    if (problems.errors.length > 0 || text === undefined) return problems;
    for (const tool of unreachableTools(compileAccess(roles), set.byName.keys()))
      problems.warnings.push(`tool ${tool}: ${UNREACHABLE}`);
    return problems;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'roles_invalid') throw error;
    return { errors: error.detail['problems'] as string[], warnings: [] };
  }
}

async function show(name: string, _options: object, command: Command): Promise<void> {
  const project = await readProject(command);
  const tools = await loadProjectTools(project);
  const { loadRoles } = await import('#src/project-roles.ts');
  const { roles, warnings } = await loadRoles(project.rolesFile, nounsOf(tools.set));
  for (const warning of [...tools.warnings, ...warnings]) printNote(`warning: ${warning}`);
  await using opened = await open(project);
  const user = await requireUser(opened.store.db, name);
  const { compileAccess } = await import('#src/access/access.ts');
  const access = compileAccess(roles);
  const effective = access.held(user);
  const value: Rights = {
    user: user.name,
    status: user.status,
    roles: user.roles,
    givenPrivileges: user.privileges,
    unknownRoles: user.roles.filter((role) => !access.roleNames.has(role)),
    privileges: access.describe([...effective]),
    tools: tools.set.sorted
      .filter(({ tool }) => access.mayExecute(tool.name, effective))
      .map(({ tool }) => ({
        name: tool.name,
        privileges: access.executors(tool.name).filter((one) => effective.has(one)),
      })),
  };
  printResult(commonOptions(command), value, () => rightsText(value));
  if (value.unknownRoles.length > 0) {
    printNote(`warning: roles.json no longer has the role ${value.unknownRoles.join(', ')}`);
  }
}

interface Rights {
  user: string;
  status: string;
  roles: string[];
  /** Privileges that the project's own login gave in place of roles, or null. */
  givenPrivileges: string[] | null;
  /** Roles that the account has and roles.json does not. */
  unknownRoles: string[];
  privileges: PrivilegeText[];
  /** Which of the privileges permit each tool; none when everybody may use it. */
  tools: { name: string; privileges: string[] }[];
}

function rightsText(rights: Rights): string {
  const privileges = rights.privileges.map((one) => [one.name, one.title, one.description]);
  const tools = rights.tools.map((one) => [
    one.name,
    one.privileges.length === 0 ? '(everybody)' : one.privileges,
  ]);
  return [
    fields({
      User: rights.user,
      Status: rights.status,
      Roles: rights.givenPrivileges === null ? rights.roles : '(given by the login hook)',
    }),
    table(['PRIVILEGE', 'TITLE', 'WHAT IT ALLOWS'], privileges) || 'No privileges.',
    table(['TOOL', 'PERMITTED BY'], tools) || 'No tools.',
  ].join('\n\n');
}
