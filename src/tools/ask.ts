import { z } from 'zod';
import { digest } from '#src/ids.ts';
import type { ToolContext } from './define.ts';
import { stableJson } from './stable-json.ts';
import { formSchema } from './form.ts';
import type { JsonSchema } from './schema.ts';

/*
 * Questions that a tool asks the person while it runs. Here they are made and answers are read; how a
 * question reaches the person is the era's affair, which hands in an `Asker`.
 */

export interface Question {
  /** Its name in the protocol, when the tool gives it one. */
  key: string | undefined;
  /** What the person reads. */
  message: string;
  /** The form: an object of plain fields (MCP, elicitation/create `requestedSchema`). */
  schema: JsonSchema;
  /** Made of all that the answer belongs to beside tool and arguments: message, form and `bind`. */
  name: string;
  /** Whether these values fill in the form. */
  accepts(content: unknown): boolean;
}

export type Answer =
  | { action: 'accept'; content: Record<string, unknown> }
  | { action: 'decline' }
  | { action: 'cancel' };

/** How the questions of one call reach the person. */
export interface Asker {
  /** @throws whatever makes the tool stop, when the call has to end before there is an answer. */
  ask(question: Question): Promise<Answer>;
  /** Once the call has to end with a question open, or because none can be shown: whatever it returned. */
  readonly ending: Ending | undefined;
}

export type Ending =
  /** The question goes to the person in place of a result. */
  | 'asks'
  /** The caller's client cannot show it. */
  | 'cannot_ask';

const LONGEST_MESSAGE = 4_000;
const KEY = /^[A-Za-z0-9_-]{1,64}$/;
/** `ask` and `confirm` as a tool gets them. */
export function questionsFor(asker: Asker): Pick<ToolContext, 'ask' | 'confirm'> {
  return {
    async ask(fields, { message = 'Please answer', bind, key } = {}) {
      const form = z.strictObject(fields);
      const answer = await asker.ask(question({ message, form, bind, key }));
      return answer.action === 'accept' ? form.parse(answer.content) : undefined;
    },
    async confirm(message, { bind } = {}) {
      const answer = await asker.ask(question({ message, form: YES, bind }));
      return answer.action === 'accept' && answer.content['confirm'] === true;
    },
  };
}

const YES = z.strictObject({ confirm: z.boolean().meta({ title: 'Yes, go ahead' }) });

interface Asked {
  message: string;
  form: z.ZodObject;
  bind: unknown;
  key?: string | undefined;
}

/** @throws TypeError when the tool asks what no client can show: its mistake. */
function question(asked: Asked): Question {
  const { message, form, bind, key } = asked;
  if (key !== undefined && !KEY.test(key))
    throw new TypeError('a key has 1 to 64 letters and digits');
  if (typeof message !== 'string' || message === '' || message.length > LONGEST_MESSAGE)
    throw new TypeError(`a question has 1 to ${LONGEST_MESSAGE} characters`);
  const schema = formSchema(form);
  return {
    key,
    message,
    schema,
    name: digest(stableJson([message, schema, bind ?? null])),
    accepts: (content) => form.safeParse(content).success,
  };
}
