import { z } from 'zod';
import type { rolesSchema } from '#src/access/roles.ts';
import { hashPassword } from '#src/credentials/password.ts';
import { tool, toolError, type Tool } from '#src/tools/define.ts';

/*
 * The project that test apps serve unless they are told another one: three privileges, three tools,
 * one person per role.
 */

export type RolesInput = z.input<typeof rolesSchema>;

/** `writer` includes `reader`; a role per privilege, and `guests` with none. */
export const TEST_ROLES: RolesInput = {
  privileges: [
    { privilege: 'reader', title: 'Read notes', description: 'Looks notes up. Changes nothing.' },
    { privilege: 'writer', includes: ['reader'], title: 'Write notes', description: 'Adds notes.' },
    { privilege: 'admin', title: 'Run the house', description: 'Removes everything.' },
  ],
  roles: [
    { role: 'guests', privileges: [] },
    { role: 'readers', privileges: ['reader'] },
    { role: 'writers', privileges: ['writer'] },
    { role: 'owners', privileges: ['writer', 'admin'] },
  ],
  permissions: {
    allowed: [
      { applyTo: 'notes-list', type: 'tool', execute: ['reader'] },
      { applyTo: 'notes-add', type: 'tool', execute: ['writer'] },
      { applyTo: 'notes-wipe', type: 'tool', execute: ['admin'] },
    ],
  },
};

/** Tools that say who called them. */
export const TEST_TOOLS: readonly Tool[] = [
  tool({
    name: 'notes-list',
    description: 'Lists the notes. Nothing is changed.',
    input: z.object({}),
    annotations: { readOnlyHint: true },
    run: (_args, context) => ({ user: context.user.name, notes: ['milk'] }),
  }),
  tool({
    name: 'notes-add',
    description: 'Adds a note.',
    input: z.object({ text: z.string().min(1) }),
    output: z.object({ added: z.string() }),
    run: ({ text }) => ({ added: text }),
  }),
  tool({
    name: 'notes-wipe',
    description: 'Removes every note.',
    input: z.object({}),
    annotations: { destructiveHint: true },
    run() {
      throw toolError('There is nothing left to remove');
    },
  }),
];

/** Who lives in every test app, with the roles they hold. */
export const TEST_PEOPLE = {
  greta: ['guests'],
  rita: ['readers'],
  walter: ['writers'],
  olga: ['owners'],
} as const satisfies Record<string, readonly string[]>;

/** The password of every test account that is not given another. */
export const TEST_PASSWORD = 'correct horse battery staple';

const hashes = new Map<string, Promise<string>>();

/** A password's hash; the same password is hashed once per process, because that is slow. */
export function hashOnce(password: string): Promise<string> {
  const hash = hashes.get(password) ?? hashPassword(password);
  hashes.set(password, hash);
  return hash;
}
