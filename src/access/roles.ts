import { z } from 'zod';

/*
 * roles.json: which privileges there are, which roles hold them, and what each permits. Read and
 * checked here, compiled to quick answers in `access.ts`.
 */

const name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_.:-]{0,63}$/, 'a name of letters, digits and _ . : -');
const privilegeNames = z.array(name);

const privilege = z.strictObject({
  privilege: name,
  includes: privilegeNames.default([]),
  title: z.string().min(1).max(80).optional(),
  description: z.string().max(300).default(''),
});

const permission = z.strictObject({
  applyTo: z.string().min(1).max(200),
  type: z.enum(['tool', 'dataClass', 'attribute', 'pipeline', 'datastore']),
  read: privilegeNames.optional(),
  create: privilegeNames.optional(),
  update: privilegeNames.optional(),
  drop: privilegeNames.optional(),
  execute: privilegeNames.optional(),
  promote: privilegeNames.optional(),
});

export const rolesSchema = z.strictObject({
  restrictedByDefault: z.boolean().default(true),
  privileges: z.array(privilege).default([]),
  roles: z.array(z.strictObject({ role: name, privileges: privilegeNames })).default([]),
  permissions: z.strictObject({ allowed: z.array(permission).default([]) }).prefault({}),
  restrict: z.record(z.string(), z.string()).default({}),
});

export type Roles = z.output<typeof rolesSchema>;
export type Permission = Roles['permissions']['allowed'][number];

const VERBS = ['read', 'create', 'update', 'drop', 'execute', 'promote'] as const;
/** The scope that every grant has; no privilege may be called so. */
export const BASE_SCOPE = 'mcp';
const RESERVED = new Set([BASE_SCOPE, 'openid', 'offline_access', 'profile', 'email']);

/** What the project has that roles.json may name. */
export interface Nouns {
  tools: ReadonlySet<string>;
  /** Tool files did not load, so that an unknown tool may be one of theirs. */
  toolsIncomplete: boolean;
}

export interface RolesProblems {
  /** Each stops the start; begins with the path of what is wrong. */
  errors: string[];
  warnings: string[];
}

/** Names in roles.json that nothing declares, and other contradictions. */
export function checkRoles(roles: Roles, nouns: Nouns): RolesProblems {
  const problems: RolesProblems = { errors: [], warnings: [] };
  const known = new Set(roles.privileges.map((entry) => entry.privilege));
  checkNames(roles, known, problems);
  roles.permissions.allowed.forEach((entry, index) => {
    const path = `permissions.allowed[${index}]`;
    checkApplyTo({ entry, path, nouns }, problems);
    for (const verb of VERBS) {
      for (const used of entry[verb] ?? []) {
        if (!known.has(used)) problems.errors.push(`${path}.${verb}: unknown privilege "${used}"`);
      }
    }
  });
  for (const dataClass of Object.keys(roles.restrict)) {
    problems.errors.push(`restrict.${dataClass}: unknown dataClass`);
  }
  return problems;
}

function checkNames(roles: Roles, known: ReadonlySet<string>, problems: RolesProblems): void {
  const seen = new Set<string>();
  roles.privileges.forEach((entry, index) => {
    const path = `privileges[${index}]`;
    if (RESERVED.has(entry.privilege))
      problems.errors.push(`${path}.privilege: "${entry.privilege}" is a reserved scope`);
    if (seen.has(entry.privilege))
      problems.errors.push(`${path}.privilege: "${entry.privilege}" is declared twice`);
    seen.add(entry.privilege);
    for (const included of entry.includes) {
      if (!known.has(included))
        problems.errors.push(`${path}.includes: unknown privilege "${included}"`);
    }
  });
  const roleNames = new Set<string>();
  roles.roles.forEach((entry, index) => {
    if (roleNames.has(entry.role))
      problems.errors.push(`roles[${index}].role: "${entry.role}" is declared twice`);
    roleNames.add(entry.role);
    for (const held of entry.privileges) {
      if (!known.has(held))
        problems.errors.push(`roles[${index}].privileges: unknown privilege "${held}"`);
    }
  });
}

function checkApplyTo(
  { entry, path, nouns }: { entry: Permission; path: string; nouns: Nouns },
  problems: RolesProblems,
): void {
  const unknown = `${path}.applyTo: unknown ${entry.type} "${entry.applyTo}"`;
  switch (entry.type) {
    case 'tool':
      if (nouns.tools.has(entry.applyTo)) return;
      problems[nouns.toolsIncomplete ? 'warnings' : 'errors'].push(unknown);
      return;
    case 'datastore':
      if (entry.applyTo !== 'ds') problems.errors.push(`${unknown}; the datastore is called "ds"`);
      return;
    case 'pipeline':
      problems.warnings.push(unknown);
      return;
    case 'dataClass':
    case 'attribute':
      problems.errors.push(unknown);
  }
}
