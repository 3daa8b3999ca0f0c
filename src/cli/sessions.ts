import type { Command } from 'commander';
import type { Kysely } from 'kysely';
import { isoTime } from '#src/clock.ts';
import { AppError } from '#src/errors.ts';
import type { Project } from '#src/project.ts';
import {
  closeAccessSession,
  listAccessSessions,
  type AccessSession,
} from '#src/storage/access-sessions.ts';
import type { Work } from '#src/storage/open.ts';
import type { Database } from '#src/storage/schema.ts';
import { closeSignIn, listSignIns, type SignIn } from '#src/storage/sign-ins.ts';
import { loginLifeSeconds } from '#src/users/user.ts';
import { ACTOR, addCommand, addGroup, commonOptions, open, readProject } from './command.ts';
import { requireUser } from './lookup.ts';
import { printNote, printResult } from './output.ts';
import { counted, minute, table } from './table.ts';

/** `castellan sessions`: who uses the server just now, and where people are signed in. */

interface SessionOptions {
  /** A user's name. */
  user?: string;
}

/** What is common to the sessions of apps (`access`) and of browsers. */
interface Listed {
  id: string;
  kind: 'access' | 'browser';
  userName: string;
  /** The app's name; a browser has none. */
  clientName: string | null;
  startedAt: number;
  lastUsedAt: number | null;
  expiresAt: number;
  end(work: Work): Promise<void>;
}

export function addSessions(program: Command): void {
  const sessions = addGroup(program, 'sessions', 'See and close the sessions of people.');
  addCommand(sessions, {
    usage: 'list',
    about:
      'List the sessions, newest first: apps that use the server (access), and browsers in which ' +
      'people are signed in (browser).',
    examples: ['castellan sessions list', 'castellan sessions list --user ana --json'],
  })
    .option('--user <user>', 'only those of this user')
    .action(list);
  addCommand(sessions, {
    usage: 'close [id]',
    about:
      'Close a session, or all of a user. A browser is asked for the password at its next login; ' +
      'an app loses what its session keeps, and opens another one at its next request. What was ' +
      'allowed to apps stays.',
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
  if (sessions.length === 0) printNote('There are no sessions.');
  printResult(commonOptions(command), sessions.map(sessionJson), () =>
    table(
      ['ID', 'KIND', 'USER', 'APP', 'SINCE (UTC)', 'LAST USED (UTC)', 'EXPIRES (UTC)'],
      sessions.map((session) => [
        session.id,
        session.kind,
        session.userName,
        session.clientName ?? '',
        minute(session.startedAt),
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
    for (const session of meant) await session.end(work);
    return meant;
  });
  const value = { closed: closed.map(sessionJson) };
  printResult(commonOptions(command), value, () => (closed.length === 0 ? '' : closedText(closed)));
  if (closed.length > 0) {
    printNote('Grants stay as they are. castellan grants revoke ends them.');
    return;
  }
  const problem =
    id === undefined ? `${options.user} has no session` : `There is no session "${id}"`;
  throw new AppError('nothing_matched', problem, {
    hint: 'castellan sessions list shows the sessions.',
  });
}

function closedText(closed: readonly Listed[]): string {
  const rows = closed.map((one) => [one.id, one.kind, one.userName, one.clientName ?? '']);
  const shown = table(['ID', 'KIND', 'USER', 'APP'], rows);
  return `${shown}\n${counted(closed.length, 'session')} closed.`;
}

async function find(
  db: Kysely<Database>,
  { project, options, now }: { project: Project; options: SessionOptions; now: number },
): Promise<Listed[]> {
  const user = options.user === undefined ? undefined : await requireUser(db, options.user);
  const loginSeconds = loginLifeSeconds(project.config.oauth.grantTtlSeconds);
  const signIns = await listSignIns(db, { now, loginSeconds, userId: user?.id });
  const access = await listAccessSessions(db, { now, userId: user?.id });
  const all = [...access.map(fromAccess), ...signIns.map(fromSignIn)];
  return all.toSorted((a, b) => b.startedAt - a.startedAt);
}

function fromAccess(session: AccessSession & { userName: string }): Listed {
  const { id, userName, clientName, createdAt: startedAt, lastUsedAt, expiresAt } = session;
  const end = (work: Work): Promise<void> => closeAccessSession(work, ACTOR, session);
  return { id, kind: 'access', userName, clientName, startedAt, lastUsedAt, expiresAt, end };
}

function fromSignIn(signIn: SignIn): Listed {
  const { id, userName, signedInAt: startedAt, lastUsedAt, expiresAt } = signIn;
  const end = (work: Work): Promise<void> => closeSignIn(work, ACTOR, signIn);
  return {
    id,
    kind: 'browser',
    userName,
    clientName: null,
    startedAt,
    lastUsedAt,
    expiresAt,
    end,
  };
}

function sessionJson(session: Listed): object {
  return {
    id: session.id,
    kind: session.kind,
    user: session.userName,
    clientName: session.clientName,
    startedAt: isoTime(session.startedAt),
    lastUsedAt: isoTime(session.lastUsedAt),
    expiresAt: isoTime(session.expiresAt),
  };
}
