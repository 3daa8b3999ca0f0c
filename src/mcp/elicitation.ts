import { z } from 'zod';
import type { Answer } from '#src/tools/ask.ts';

/** What clients say of questions, in both eras. */

const responseSchema = z.discriminatedUnion('action', [
  z.object({ action: z.literal('accept'), content: z.record(z.string(), z.unknown()) }),
  z.object({ action: z.literal('decline') }),
  z.object({ action: z.literal('cancel') }),
]);

/** Characters of JSON in one answer. */
const LARGEST_ANSWER = 16_384;

/** An `ElicitResult`, or undefined when it is none; what else it may carry is left out. */
export function elicitResponse(value: unknown): Answer | undefined {
  const parsed = responseSchema.safeParse(value);
  if (!parsed.success) return undefined;
  const { data } = parsed;
  // All answers of a call travel in its state.
  return data.action === 'accept' && JSON.stringify(data.content).length > LARGEST_ANSWER
    ? undefined
    : data;
}

/** Whether a client that says this of elicitation shows forms; an empty object means forms. */
export function showsForms(elicitation: unknown): boolean {
  if (typeof elicitation !== 'object' || elicitation === null) return false;
  if ('form' in elicitation)
    return elicitation.form !== null && typeof elicitation.form === 'object';
  return !('url' in elicitation);
}
