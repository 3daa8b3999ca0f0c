import { z } from 'zod';
import { SECOND } from '#src/clock.ts';
import type { LoginHook } from '#src/config.ts';
import { AppError, messageOf } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import { nameProblem } from '#src/users/user.ts';

/*
 * A project's own login, asked with care: what it is given is bounded, so is its time, and what it
 * answers is checked before anything is made of it. It decides who somebody is; attempts are counted
 * and accounts disabled here as ever.
 */

const LONGEST_NAME = 256;
/** One name that looks like another would be counted apart from it. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|\s\s/u;
const LONGEST_PASSWORD = 1_024;
const LONGEST_RUN_MS = 10 * SECOND;

const answerSchema = z
  .strictObject({
    subject: z.string().refine((name) => nameProblem(name) === undefined, 'not a user name'),
    privileges: z.array(z.string().min(1).max(100)).max(1_000),
  })
  .optional();

export interface HookedSubject {
  name: string;
  /** Each once, in order. */
  privileges: string[];
}

/**
 * Asks the hook about one attempt.
 * @throws `login_unavailable` when it throws, takes longer than 10 s or answers what is no subject.
 */
export async function askLoginHook(
  { hook, emit }: { hook: LoginHook; emit: Emit },
  attempt: { name: string; password: string; clientId: string },
): Promise<HookedSubject | undefined> {
  const { name, password, clientId } = attempt;
  // A directory may take an empty password for somebody who does not want to say one, and let it in.
  if (name === '' || name.length > LONGEST_NAME || INVISIBLE.test(name)) return undefined;
  if (password === '' || password.length > LONGEST_PASSWORD) return undefined;
  try {
    const answer = await inTime((signal) => hook({ name, password, clientId, signal }));
    const subject = answerSchema.parse(answer ?? undefined);
    return (
      subject && { name: subject.subject, privileges: [...new Set(subject.privileges)].toSorted() }
    );
  } catch (error) {
    // Its message may repeat what it was given.
    const message = messageOf(error).replaceAll(password, '[removed]');
    emit({ type: 'server.error', where: 'login hook', message });
    throw new AppError('login_unavailable', 'Nobody can sign in just now, try again shortly');
  }
}

async function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const control = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const late = new Error(`no answer within ${LONGEST_RUN_MS / SECOND} s`);
    control.abort(late);
    reject(late);
  }, LONGEST_RUN_MS);
  try {
    return await Promise.race([work(control.signal), promise]);
  } finally {
    clearTimeout(timer);
  }
}
