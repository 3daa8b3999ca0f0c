import type { Command } from 'commander';
import { AppError } from '#src/errors.ts';
import { grantStatus } from '#src/grants/grant.ts';
import { listGrants } from '#src/storage/grants.ts';
import type { Store } from '#src/storage/open.ts';
import { disableUser, enableUser, listUsers, removeUser, setPassword } from '#src/storage/users.ts';
import type { User } from '#src/users/user.ts';
import { confirm } from './ask.ts';
import { readNewPassword } from './ask-password.ts';
import {
  ACTOR,
  addCommand,
  addGroup,
  collect,
  commonOptions,
  open,
  readProject,
} from './command.ts';
import { requireUser } from './lookup.ts';
import { printNote, printResult } from './output.ts';
import { revokedJson, revokedText } from './revoked.ts';
import { counted, minute, table } from './table.ts';
import { userJson } from './user-json.ts';
import { add } from './users-add.ts';

/** `castellan users`: accounts. */

const STDIN_OPTION = ['--password-stdin', 'read the password from stdin, one line'] as const;

export function addUsers(program: Command): void {
  const users = addGroup(program, 'users', 'Manage the accounts of people.');
  addCommand(users, {
    usage: 'add <name>',
    about: 'Add an account. The password is asked for, or read from stdin.',
    examples: [
      'castellan users add ana --role sales',
      'pass show ana | castellan users add ana --role sales --role support --password-stdin',
    ],
  })
    .option('--role <role>', 'a role of roles.json; may be given several times', collect, [])
    .option(...STDIN_OPTION, false)
    .action(add);
  addCommand(users, {
    usage: 'list',
    about: 'List the accounts.',
    examples: ['castellan users list', 'castellan users list --json'],
  }).action(list);
  addCommand(users, {
    usage: 'passwd <name>',
    about: 'Set a new password. It ends the browser sessions of the account; its grants stay.',
    examples: [
      'castellan users passwd ana',
      'pass show ana | castellan users passwd ana --password-stdin',
    ],
  })
    .option(...STDIN_OPTION, false)
    .action(passwd);
  addCommand(users, {
    usage: 'disable <name>',
    about: 'Lock an account and revoke its grants and tokens.',
    examples: ['castellan users disable ana'],
  }).action(disable);
  addCommand(users, {
    usage: 'enable <name>',
    about: 'Unlock an account. Its grants stay revoked.',
    examples: ['castellan users enable ana'],
  }).action(enable);
  addCommand(users, {
    usage: 'remove <name>',
    about: 'Remove an account with its grants and tokens. Asks first.',
    examples: ['castellan users remove ana', 'castellan users remove ana --yes'],
  })
    .option('--yes', 'do not ask', false)
    .action(remove);
}

async function list(_options: object, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const users = await listUsers(opened.store.db);
  if (users.length === 0) printNote('There are no users. castellan users add NAME adds one.');
  printResult(commonOptions(command), users.map(userJson), () =>
    table(
      ['NAME', 'ROLES', 'STATUS', 'CREATED (UTC)', 'LAST LOGIN (UTC)'],
      users.map((user) => [
        user.name,
        user.privileges === null ? user.roles : '(given by the login hook)',
        user.status,
        minute(user.createdAt),
        minute(user.lastLoginAt),
      ]),
    ),
  );
}

async function passwd(
  name: string,
  options: { passwordStdin: boolean },
  command: Command,
): Promise<void> {
  await using opened = await open(await readProject(command));
  const { store } = opened;
  const found = await requireUser(store.db, name);
  const password = await readNewPassword({ name: found.name, fromStdin: options.passwordStdin });
  const { hashPassword } = await import('#src/credentials/password.ts');
  const passwordHash = await hashPassword(password);
  const user = await store.transaction(async (work) => {
    const current = await requireUser(work.db, name);
    await setPassword(work, ACTOR, { user: current, passwordHash });
    return current;
  });
  const value = { name: user.name, passwordChanged: true };
  printResult(commonOptions(command), value, () => `${user.name} has a new password.`);
  printNote(`Grants stay as they are. castellan grants revoke --user ${user.name} ends them.`);
}

async function disable(name: string, _options: object, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { user, revoked } = await opened.store.transaction(async (work) => {
    const current = await requireUser(work.db, name);
    return { user: current, revoked: await disableUser(work, ACTOR, current) };
  });
  const value = { name: user.name, status: 'disabled', ...revokedJson(revoked) };
  printResult(
    commonOptions(command),
    value,
    () => `${revokedText(revoked)}\n${user.name} can no longer log in.`,
  );
}

async function enable(name: string, _options: object, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const user = await opened.store.transaction(async (work) => {
    const current = await requireUser(work.db, name);
    if (current.status !== 'active') await enableUser(work, ACTOR, current);
    return current;
  });
  const value = { ...userJson(user), status: 'active' };
  printResult(commonOptions(command), value, () =>
    user.status === 'active' ? `${user.name} was not disabled.` : `${user.name} can log in again.`,
  );
}

async function remove(name: string, options: { yes: boolean }, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { store } = opened;
  const found = await requireUser(store.db, name);
  if (!options.yes) await confirmRemoval(store, found);
  const { user, revoked } = await store.transaction(async (work) => {
    const current = await requireUser(work.db, name);
    return { user: current, revoked: await removeUser(work, ACTOR, current) };
  });
  const value = { name: user.name, removed: true, ...revokedJson(revoked) };
  printResult(
    commonOptions(command),
    value,
    () => `${revokedText(revoked)}\n${user.name} is removed.`,
  );
}

async function confirmRemoval(store: Store, user: User): Promise<void> {
  const grants = await listGrants(store.db, { userId: user.id });
  const now = store.clock.now();
  const active = grants.filter((grant) => grantStatus(grant, now) === 'active');
  const what =
    active.length === 0 ? user.name : `${user.name} and ${counted(active.length, 'active grant')}`;
  const question = `Remove ${what}, for good?`;
  if (await confirm(question, 'Add --yes to remove the account without being asked.')) return;
  throw new AppError('forbidden', 'Nothing was changed');
}
