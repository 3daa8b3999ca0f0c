import type { Command } from 'commander';
import type { Kysely } from 'kysely';
import { isoTime } from '#src/clock.ts';
import { AppError } from '#src/errors.ts';
import type { Project } from '#src/project.ts';
import type { Database } from '#src/storage/schema.ts';
import { closeSignIn, listSignIns, type SignIn } from '#src/storage/sign-ins.ts';
import { loginLifeSeconds } from '#src/users/user.ts';
import { ACTOR, addCommand, addGroup, commonOptions, open, readProject } from './command.ts';
import { requireUser } from './lookup.ts';
import { printNote, printResult } from './output.ts';
import { counted, minute, table } from './table.ts';

/** `castellan sessions`: where people are signed in. */

interface SessionOptions {
  /** A user's name. */
  user?: string;
}

/** Every session there is today is a browser's. */
const KIND = 'browser';

export function addSessions(program: Command): void {
  const sessions = addGroup(program, 'sessions', 'See and close the sessions of people.');
  addCommand(sessions, {
    usage: 'list',
    about: 'List the sessions, newest first: the browsers in which people are signed in.',
    examples: ['castellan sessions list', 'castellan sessions list --user ana --json'],
  })
    .option('--user <user>', 'only those of this user')
    .action(list);
  addCommand(sessions, {
    usage: 'close [id]',
    about:
      'Close a session, or all of a user. The browser is asked for the password at its next login.\n' +
      'What was allowed to apps stays.',
    examples: [
      'castellan sessions close ses_0123456789abcdef01',
      'castellan sessions close --user ana',
    ],
  })
    .option('--user <user>', 'every session of this user')
    .action(close);
}

async function list(options: SessionOptions, command: Command): Promise<void> {
  const project = await readProject(command);
  await using opened = await open(project);
  const { store } = opened;
  const sessions = await find(store.db, { project, options, now: store.clock.now() });
  if (sessions.length === 0) printNote('Nobody is signed in.');
  printResult(commonOptions(command), sessions.map(sessionJson), () =>
    table(
      ['ID', 'USER', 'KIND', 'SIGNED IN (UTC)', 'LAST USED (UTC)', 'EXPIRES (UTC)'],
      sessions.map((session) => [
        session.id,
        session.userName,
        KIND,
        minute(session.signedInAt),
        minute(session.lastUsedAt),
        minute(session.expiresAt),
      ]),
    ),
  );
}

async function close(
  id: string | undefined,
  options: SessionOptions,
  command: Command,
): Promise<void> {
  if ((id === undefined) === (options.user === undefined)) {
    throw new AppError('usage', 'Either one session is closed, or all of a user', {
      hint: 'Give the id of a session, or --user.',
    });
  }
  const project = await readProject(command);
  await using opened = await open(project);
  const closed = await opened.store.transaction(async (work) => {
    const sessions = await find(work.db, { project, options, now: work.now });
    const meant = sessions.filter((session) => id === undefined || session.id === id);
    for (const session of meant) await closeSignIn(work, ACTOR, session);
    return meant;
  });
  const value = { closed: closed.map(sessionJson) };
  printResult(commonOptions(command), value, () => (closed.length === 0 ? '' : closedText(closed)));
  if (closed.length > 0) {
    printNote('Grants stay as they are. castellan grants revoke ends them.');
    return;
  }
  const problem =
    id === undefined ? `${options.user} is not signed in` : `There is no session ${id}`;
  throw new AppError('nothing_matched', problem, {
    hint: 'castellan sessions list shows the sessions.',
  });
}

function closedText(closed: readonly SignIn[]): string {
  const rows = closed.map((session) => [session.id, session.userName, KIND]);
  return `${table(['ID', 'USER', 'KIND'], rows)}\n${counted(closed.length, 'session')} closed.`;
}

async function find(
  db: Kysely<Database>,
  { project, options, now }: { project: Project; options: SessionOptions; now: number },
): Promise<SignIn[]> {
  const user = options.user === undefined ? undefined : await requireUser(db, options.user);
  const loginSeconds = loginLifeSeconds(project.config.oauth.grantTtlSeconds);
  return listSignIns(db, { now, loginSeconds, userId: user?.id });
}

function sessionJson(session: SignIn): object {
  return {
    id: session.id,
    user: session.userName,
    kind: KIND,
    signedInAt: isoTime(session.signedInAt),
    lastUsedAt: isoTime(session.lastUsedAt),
    expiresAt: isoTime(session.expiresAt),
  };
}
