import { BASE_SCOPE, type Roles } from './roles.ts';

/*
 * What roles.json means, compiled: which privileges a person or a grant effectively has, and which
 * privileges let a tool run. Pure; every answer is a function of the file and the arguments.
 */

export interface PrivilegeText {
  name: string;
  title: string;
  description: string;
}

/** Whose rights are asked about. */
export interface Holder {
  roles: readonly string[];
  /** Given by the project's own login in place of what roles give; null for accounts with roles. */
  privileges: readonly string[] | null;
}

export interface Access {
  roleNames: ReadonlySet<string>;
  privilegeNames: ReadonlySet<string>;
  /** The given privileges and all that they include; names that are not declared are left out. */
  closure(privileges: Iterable<string>): ReadonlySet<string>;
  /** All that the roles, or the privileges in their place, give; includes followed. */
  held(holder: Holder): ReadonlySet<string>;
  /**
   * What a consent page offers: the held privileges that no other one on the list includes, or of the
   * `requested` ones those that are held. In the order of the file.
   */
  offer(holder: Holder, requested: readonly string[]): PrivilegeText[];
  describe(privileges: readonly string[]): PrivilegeText[];
  /** Whether somebody with these effective privileges may run the tool. */
  mayExecute(tool: string, effective: ReadonlySet<string>): boolean;
  /** The privileges of which one is enough to run the tool; empty when none is declared. */
  executors(tool: string): readonly string[];
}

/** Compiles a checked roles.json. */
export function compileAccess(roles: Roles): Access {
  const declared: Declared = new Map(roles.privileges.map((entry) => [entry.privilege, entry]));
  const holdings = new Map(roles.roles.map((entry) => [entry.role, entry.privileges]));
  const execute = executePermissions(roles);
  const held = ({ roles: names, privileges }: Holder): Set<string> =>
    closureOf(declared, privileges ?? names.flatMap((role) => holdings.get(role) ?? []));
  const describe = (privileges: readonly string[]): PrivilegeText[] =>
    describeThose(roles, new Set(privileges));
  return {
    roleNames: new Set(holdings.keys()),
    privilegeNames: new Set(declared.keys()),
    closure: (privileges) => closureOf(declared, privileges),
    held,
    describe,
    offer(holder, requested) {
      const all = held(holder);
      if (requested.length > 0) return describe(requested.filter((one) => all.has(one)));
      return describe(topOf(declared, all));
    },
    mayExecute(tool, effective) {
      const needed = execute.get(tool);
      if (needed === undefined) return !roles.restrictedByDefault;
      return needed.some((one) => effective.has(one));
    },
    executors: (tool) => execute.get(tool) ?? [],
  };
}

type Declared = ReadonlyMap<string, Roles['privileges'][number]>;

function closureOf(declared: Declared, privileges: Iterable<string>): Set<string> {
  const found = new Set<string>();
  const open = [...privileges];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const entry = declared.get(next);
    if (entry === undefined || found.has(next)) continue;
    found.add(next);
    open.push(...entry.includes);
  }
  return found;
}

/** Those of a closed set that no other one of them includes. */
function topOf(declared: Declared, all: ReadonlySet<string>): string[] {
  const included = new Set<string>();
  for (const one of all) {
    for (const other of declared.get(one)?.includes ?? []) included.add(other);
  }
  const top = [...all].filter((one) => !included.has(one));
  // A circle of includes has no top: then everything is offered.
  return closureOf(declared, top).size === all.size ? top : [...all];
}

/** In the order of the file. */
function describeThose(roles: Roles, wanted: ReadonlySet<string>): PrivilegeText[] {
  return roles.privileges
    .filter((entry) => wanted.has(entry.privilege))
    .map((entry) => ({
      name: entry.privilege,
      title: entry.title ?? entry.privilege,
      description: entry.description,
    }));
}

/** Why nobody sees such a tool. */
export const UNREACHABLE = 'no privilege permits it, so nobody can call it';

/** The tools that nobody may run, whatever privileges they hold. */
export function unreachableTools(access: Access, tools: Iterable<string>): string[] {
  return [...tools].filter((tool) => !access.mayExecute(tool, access.privilegeNames));
}

/** The scope string of a grant: the base scope, then its privileges. */
export function scopeOf(privileges: readonly string[]): string {
  return [BASE_SCOPE, ...privileges].join(' ');
}

function executePermissions(roles: Roles): Map<string, string[]> {
  const execute = new Map<string, string[]>();
  for (const entry of roles.permissions.allowed) {
    if (entry.type !== 'tool' || entry.execute === undefined) continue;
    execute.set(entry.applyTo, [...(execute.get(entry.applyTo) ?? []), ...entry.execute]);
  }
  return execute;
}
