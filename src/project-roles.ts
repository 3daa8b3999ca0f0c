import { readFile } from 'node:fs/promises';
import { AppError, messageOf, systemCode } from './errors.ts';
import { checkRoles, rolesSchema, type Nouns, type Roles } from '#src/access/roles.ts';

/** Reads a project's roles.json. What it says is checked in access/roles.ts. */

/**
 * The checked file, and its warnings. A project without one has no roles and no privileges.
 * @throws `roles_invalid` naming every path that is wrong.
 */
export async function loadRoles(
  file: string,
  nouns: Nouns,
): Promise<{ roles: Roles; warnings: string[] }> {
  const roles = parseRoles(await readRolesFile(file), file);
  const { errors, warnings } = checkRoles(roles, nouns);
  if (errors.length > 0) throw invalid(file, errors);
  return { roles, warnings };
}

/** @throws `roles_invalid` when the shape is wrong. */
export function parseRoles(text: string | undefined, file: string): Roles {
  let value: unknown = {};
  try {
    if (text !== undefined) value = JSON.parse(text);
  } catch (error) {
    throw invalid(file, [`it is not JSON: ${messageOf(error)}`]);
  }
  const result = rolesSchema.safeParse(value);
  if (result.success) return result.data;
  throw invalid(
    file,
    result.error.issues.map((issue) =>
      issue.code === 'unrecognized_keys'
        ? `${[...issue.path, issue.keys[0] ?? ''].join('.')}: unknown field`
        : `${issue.path.join('.')}: ${issue.message}`,
    ),
  );
}

/** The file as it is, or undefined when there is none. @throws `roles_invalid` when it cannot be read. */
export async function readRolesFile(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw invalid(file, [`it cannot be read: ${messageOf(error)}`]);
  }
}

function invalid(file: string, problems: string[]): AppError {
  return new AppError('roles_invalid', `${file}\n  ${problems.join('\n  ')}`, {
    detail: { problems },
    hint: 'Correct the file; castellan roles check shows what is left.',
  });
}
