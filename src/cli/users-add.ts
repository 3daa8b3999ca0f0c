import type { Command } from 'commander';
import { AppError } from '#src/errors.ts';
import type { Project } from '#src/project.ts';
import { addUser, findUserByName } from '#src/storage/users.ts';
import { nameProblem } from '#src/users/user.ts';
import { readNewPassword } from './ask-password.ts';
import { ACTOR, commonOptions, open, readProject } from './command.ts';
import { printNote, printResult } from './output.ts';
import { userJson } from './user-json.ts';

/** `castellan users add`: name, roles, password, in this order: what costs the least to refuse first. */

/** The command's action. */
export async function add(
  given: string,
  options: { role: string[]; passwordStdin: boolean },
  command: Command,
): Promise<void> {
  // The form that is stored is the one to check: NFKC can turn a letter into several characters.
  const name = given.normalize('NFKC');
  const problem = nameProblem(name);
  if (problem !== undefined) throw new AppError('usage', problem);
  const project = await readProject(command);
  await requireRoles(project, options.role);
  await using opened = await open(project);
  const { store } = opened;
  // Found out before somebody has typed a password twice; decided by the insert.
  if ((await findUserByName(store.db, name)) !== undefined) throw taken(name);
  const password = await readNewPassword({ name, fromStdin: options.passwordStdin });
  const { hashPassword } = await import('#src/credentials/password.ts');
  const passwordHash = await hashPassword(password);
  const user = await store.transaction((work) =>
    addUser(work, ACTOR, { name, passwordHash, roles: options.role }),
  );
  printResult(commonOptions(command), userJson(user), () => `${user.name} can log in now.`);
  if (user.roles.length === 0) {
    printNote(
      `${user.name} has no role, and so only the tools that need no privilege. Roles: --role ROLE.`,
    );
  }
}

/** @throws `usage` naming the roles that there are. */
async function requireRoles(project: Project, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const { loadRoles } = await import('#src/project-roles.ts');
  // Whether its tools exist does not matter here, and looking would run their code.
  const { roles } = await loadRoles(project.rolesFile, { tools: new Set(), toolsIncomplete: true });
  const known = roles.roles.map((entry) => entry.role);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  throw new AppError('usage', `roles.json has no role ${unknown.map(quoted).join(', ')}`, {
    hint: known.length === 0 ? 'It declares no roles.' : `It has: ${known.join(', ')}.`,
  });
}

function quoted(name: string): string {
  return `"${name}"`;
}

function taken(name: string): AppError {
  return new AppError('conflict', `There is already a user ${name}`, {
    hint: `castellan users passwd ${name} sets a new password.`,
  });
}
