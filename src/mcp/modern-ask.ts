import { digest, type GrantId } from '#src/ids.ts';
import type { Answer, Asker, Ending, Question } from '#src/tools/ask.ts';
import { stableJson } from '#src/tools/stable-json.ts';
import { elicitResponse } from './elicitation.ts';
import { isObject, type RpcRequest } from './message.ts';
import type { RequestState, RequestStateCodec } from './request-state.ts';
import { invalidParams } from './methods.ts';
import type { RpcFailure } from './rpc-error.ts';

/*
 * Asking the person in the modern era. A call with a question open ends; the client brings the answer
 * with the same call, and the tool runs again from the top. Which answers were given before is in the
 * signed state; that a state is used once is in the store.
 */

export interface ModernAskParts {
  codec: RequestStateCodec;
  /** Whether this nonce is used for the first time; remembered until then at least. */
  spend(nonce: string, expiresAt: number): Promise<boolean>;
}

/** What a request brings along from an earlier round. */
export interface Resumption {
  state: RequestState | undefined;
  responses: Record<string, unknown>;
}

export interface AskedCall {
  grantId: GrantId;
  tool: string;
  /** Arguments as they came; what the tool is given is bound too. */
  sent: unknown;
  /** Whether the client can show a form. */
  canAsk: boolean;
  resumption: Resumption;
}

/** How the open question is answered, for the `input_required` result. */
export interface OpenQuestion {
  inputRequests: Record<string, unknown>;
  requestState: string;
}

const MOST_QUESTIONS = 20;

/**
 * What the request says of an earlier round. A state that has expired counts as none: the question is
 * asked again.
 * @returns a failure for what no honest client sends.
 */
export function readResumption(
  codec: RequestStateCodec,
  { params }: RpcRequest,
): Resumption | RpcFailure {
  const { requestState, inputResponses = {} } = params;
  if (!isObject(inputResponses)) return invalidParams('inputResponses is an object');
  if (requestState === undefined) return { state: undefined, responses: {} };
  const state = typeof requestState === 'string' ? codec.unseal(requestState) : 'altered';
  if (state === 'altered') return invalidParams('requestState is not what this server gave out');
  return { state: state === 'expired' ? undefined : state, responses: inputResponses };
}

export function isFailure(value: Resumption | RpcFailure): value is RpcFailure {
  return 'code' in value;
}

/** The questions of one call of the modern era. */
export class ModernAsker implements Asker {
  readonly #parts: ModernAskParts;
  readonly #call: AskedCall;
  readonly #args: unknown;
  #name: string | undefined;
  readonly #answered: RequestState['answered'] = [];
  #earlier: Promise<RequestState | undefined> | undefined;
  #open: Question | undefined;
  #cannotAsk = false;
  /** One question after the other, also when a tool asks several at once. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: ModernAskParts, call: AskedCall, args: unknown) {
    this.#parts = parts;
    this.#call = call;
    this.#args = args;
  }

  /** What this call is, told apart from every other; worked out when something is asked. */
  get #callName(): string {
    const { grantId, tool, sent } = this.#call;
    return (this.#name ??= digest(stableJson([grantId, tool, sent, this.#args])));
  }

  get ending(): Ending | undefined {
    if (this.#open !== undefined) return 'asks';
    return this.#cannotAsk ? 'cannot_ask' : undefined;
  }

  ask(question: Question): Promise<Answer> {
    const answer = this.#turn.then(() => this.#answerTo(question));
    this.#turn = answer.catch(() => {});
    return answer;
  }

  /** What to send with the result once `ending` is `asks`. */
  get openQuestion(): OpenQuestion | undefined {
    const open = this.#open;
    if (open === undefined) return undefined;
    const params = { mode: 'form', message: open.message, requestedSchema: open.schema };
    return {
      inputRequests: { [this.#keyOf(open)]: { method: 'elicitation/create', params } },
      requestState: this.#parts.codec.seal({
        call: this.#callName,
        answered: this.#answered,
        open: open.name,
      }),
    };
  }

  #keyOf({ key }: Question): string {
    return key ?? `question_${this.#answered.length + 1}`;
  }

  async #answerTo(question: Question): Promise<Answer> {
    if (this.ending !== undefined) throw new Error('another question is open');
    if (this.#answered.length >= MOST_QUESTIONS)
      throw new Error('a call asks 20 questions at most');
    const known = await this.#find(question);
    if (known === undefined) {
      if (this.#call.canAsk) this.#open = question;
      else this.#cannotAsk = true;
      throw new Error('the call ends here until the person has answered');
    }
    this.#answered.push({ question: question.name, answer: known });
    return known;
  }

  /** The answer to the next question, given in an earlier round or with this request. */
  async #find(question: Question): Promise<Answer | undefined> {
    const at = this.#answered.length;
    const state = await (this.#earlier ??= this.#redeem());
    if (state === undefined) return undefined;
    const before = state.answered[at];
    if (before?.question === question.name) return before.answer;
    if (before !== undefined) {
      // The tool asks something else than before: nothing from here on was answered.
      this.#earlier = Promise.resolve(undefined);
      return undefined;
    }
    if (at !== state.answered.length || state.open !== question.name) return undefined;
    const given = elicitResponse(this.#call.resumption.responses[this.#keyOf(question)]);
    return given?.action === 'accept' && !question.accepts(given.content) ? undefined : given;
  }

  /** The state, if it belongs to this call and nobody used it before. */
  async #redeem(): Promise<RequestState | undefined> {
    const { state } = this.#call.resumption;
    if (state === undefined || state.call !== this.#callName) return undefined;
    return (await this.#parts.spend(state.nonce, state.expiresAt)) ? state : undefined;
  }
}
