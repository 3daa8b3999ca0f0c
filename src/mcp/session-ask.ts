import { MINUTE, type Clock } from '#src/clock.ts';
import { newSecret, type Random } from '#src/ids.ts';
import type { ProtocolSession } from '#src/sessions/protocol-session.ts';
import type { Answer, Asker, Ending, Question } from '#src/tools/ask.ts';
import { elicitResponse, showsForms } from './elicitation.ts';
import type { Mailbox } from './mailbox.ts';
import type { Reply } from './reply.ts';
import { hasElicitation, hasElicitationModes } from './session-versions.ts';

/*
 * Asking the person in the session era: the question goes out on the call's own stream, and the answer
 * comes with another request, maybe to another process. The id of a question cannot be guessed, and
 * its answer counts only under the session that it was asked in.
 */

export interface SessionAskParts {
  mailbox: Mailbox;
  clock: Clock;
  random: Random;
}

export interface AskingSession {
  session: ProtocolSession;
  reply: Reply;
  /** Aborted when the call is over: no answer counts any more. */
  isOver: AbortSignal;
  /** Whether the person may still do what they are asked about. */
  mayGoOn: () => Promise<boolean>;
}

const ANSWER_WITHIN_MS = 10 * MINUTE;
const MOST_QUESTIONS = 20;
/** An answer that does not fit its form is asked for again, this often. */
const TRIES = 3;

export class SessionAsker implements Asker {
  readonly #parts: SessionAskParts;
  readonly #asking: AskingSession;
  #cannotAsk = false;
  #questions = 0;

  constructor(parts: SessionAskParts, asking: AskingSession) {
    this.#parts = parts;
    this.#asking = asking;
  }

  get ending(): Ending | undefined {
    return this.#cannotAsk ? 'cannot_ask' : undefined;
  }

  async ask(question: Question): Promise<Answer> {
    const { session, reply } = this.#asking;
    if (!canAsk(session) || !reply.mayStream) {
      this.#cannotAsk = true;
      throw new Error('the client cannot show a question');
    }
    for (let left = TRIES; left > 0; left -= 1) {
      this.#questions += 1;
      if (this.#questions > MOST_QUESTIONS) throw new Error('a call asks 20 questions at most');
      const answer = await this.#askOnce(question);
      if (answer.action !== 'accept' || question.accepts(answer.content)) return answer;
    }
    return { action: 'cancel' };
  }

  async #askOnce({ message, schema: requestedSchema }: Question): Promise<Answer> {
    const { session, reply, isOver, mayGoOn } = this.#asking;
    const id = `ask_${newSecret(this.#parts.random)}`;
    const key = { session: session.digest, ref: questionRef(id) };
    const expiresAt = this.#parts.clock.now() + ANSWER_WITHIN_MS;
    using expected = await this.#parts.mailbox.expect(key, expiresAt);
    const mode = hasElicitationModes(session.version) ? { mode: 'form' } : {};
    await reply.ask(id, 'elicitation/create', { ...mode, message, requestedSchema });
    const payload = await untilGivenUp(expected.arrived, isOver);
    isOver.throwIfAborted();
    // The person may have taken long; what the call began with may not hold by now.
    if (!(await mayGoOn())) throw new Error('the grant or its privileges no longer allow it');
    const response = payload === undefined ? undefined : elicitResponse(JSON.parse(payload));
    return response ?? { action: 'cancel' };
  }
}

/** Under which name a session's mail holds the answer to a question. As JSON: a client may say any id. */
export function questionRef(id: string): string {
  return `answer ${JSON.stringify(id)}`;
}

function canAsk({ version, capabilities }: ProtocolSession): boolean {
  return hasElicitation(version) && showsForms(capabilities['elicitation']);
}

/** undefined when the call ends or nobody answers in time. */
async function untilGivenUp(
  arrived: Promise<string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const giveUp = (): void => resolve(undefined);
  const timer = setTimeout(giveUp, ANSWER_WITHIN_MS);
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([arrived, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}
