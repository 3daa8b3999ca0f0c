import type { Kysely } from 'kysely';
import { SECOND } from '#src/clock.ts';
import type { UserId } from '#src/ids.ts';
import { LONGEST_LOGIN_SECONDS, loginCounts } from '#src/users/user.ts';
import { claimArtifact, CLOSED_SESSION, isOpen } from './browser-sessions.ts';
import type { Work } from './open.ts';
import { parseObject } from './rows.ts';
import type { Database } from './schema.ts';

/** Browsers in which somebody is signed in, as an administrator sees and ends them. */

export interface SignIn {
  /** Names it to people. From the digest of the session's uid: nothing can be made of it. */
  id: string;
  uidDigest: string;
  userName: string;
  signedInAt: number;
  lastUsedAt: number | null;
  expiresAt: number;
}

export interface SignInQuestion {
  now: number;
  /** How long a login lasts. */
  loginSeconds: number;
  /** Of this person only. */
  userId?: UserId | undefined;
}

/** Those that count now, newest first. Indexes browser_sessions_user, browser_sessions_expiry. */
export async function listSignIns(
  db: Kysely<Database>,
  { now, loginSeconds, userId }: SignInQuestion,
): Promise<SignIn[]> {
  let query = db
    .selectFrom('browser_sessions')
    .innerJoin('users', 'users.id', 'browser_sessions.user_id')
    .select([
      'browser_sessions.uid_digest',
      'browser_sessions.payload',
      'browser_sessions.expires_at',
      'users.name',
      'users.status',
      'users.logins_end_at',
    ])
    .where('browser_sessions.expires_at', '>', now)
    .where(isOpen)
    // Of the rows of one session, the one that was used last is kept below.
    .orderBy('browser_sessions.expires_at');
  if (userId !== undefined) query = query.where('browser_sessions.user_id', '=', userId);
  const signIns = new Map<string, SignIn>();
  for (const row of await query.execute()) {
    const { loginTs, savedAt } = parseObject(row.payload);
    const signedInAt = Number(loginTs ?? 0) * SECOND;
    const expiresAt = Math.min(row.expires_at, signedInAt + loginSeconds * SECOND);
    const user = { status: row.status, loginsEndAt: row.logins_end_at };
    if (expiresAt <= now || !loginCounts(user, signedInAt)) continue;
    signIns.set(row.uid_digest, {
      id: shortId(row.uid_digest),
      uidDigest: row.uid_digest,
      userName: row.name,
      signedInAt,
      lastUsedAt: typeof savedAt === 'number' ? savedAt : null,
      expiresAt,
    });
  }
  return [...signIns.values()].toSorted((a, b) => b.signedInAt - a.signedInAt);
}

/** Ends a sign-in: the browser is asked for a password at its next request. */
export async function closeSignIn(work: Work, actor: string, signIn: SignIn): Promise<void> {
  await work.db.deleteFrom('browser_sessions').where('uid_digest', '=', signIn.uidDigest).execute();
  // No login under this uid can be younger than now: when the mark goes, all of them are too old.
  await claimArtifact(work.db, {
    kind: CLOSED_SESSION,
    digest: signIn.uidDigest,
    expiresAt: work.now + LONGEST_LOGIN_SECONDS * SECOND,
  });
  await work.audit({
    actor,
    action: 'session.closed',
    subject: signIn.userName,
    detail: { id: signIn.id, kind: 'browser' },
  });
}

/** Twelve characters of base64url are nine bytes: 72 bits tell any two apart. */
const ID_CHARACTERS = 12;

function shortId(uidDigest: string): string {
  return `ses_${Buffer.from(uidDigest.slice(0, ID_CHARACTERS), 'base64url').toString('hex')}`;
}
