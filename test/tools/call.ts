import assert from 'node:assert/strict';
import { z } from 'zod';
import { compileAccess } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';
import type { Principal } from '#src/credentials/principal.ts';
import type { Event } from '#src/events.ts';
import type { ClientId, GrantId, UserId } from '#src/ids.ts';
import { tool, type Tool } from '#src/tools/define.ts';
import { invoke, type Outcome, type ToolCall } from '#src/tools/invoke.ts';
import { compileTool, toolSet } from '#src/tools/tool-set.ts';
import { TestClock } from '../support/stores.ts';

/** One call through the pipeline, by a caller and of a tool that the test describes. */

const ACCESS = compileAccess(
  rolesSchema.parse({
    privileges: [
      { privilege: 'reader' },
      { privilege: 'writer', includes: ['reader'] },
      { privilege: 'admin', includes: ['writer'] },
    ],
    permissions: {
      allowed: [
        { applyTo: 'look', type: 'tool', execute: ['reader'] },
        { applyTo: 'change', type: 'tool', execute: ['admin', 'writer'] },
        { applyTo: 'locked', type: 'tool', execute: [] },
      ],
    },
  }),
);

export function principal(granted: string[], attainable = granted): Principal {
  return {
    user: { id: 'usr_1' as UserId, name: 'anna', roles: ['clerk'] },
    client: { id: 'cli_1' as ClientId, name: 'App' },
    grantId: 'gr_1' as GrantId,
    session: undefined,
    granted,
    effective: ACCESS.closure(granted),
    attainable: ACCESS.closure(attainable),
  };
}

const NO_STORAGE = {
  get: () => assert.fail('nothing is kept'),
  set: () => assert.fail('nothing is kept'),
  delete: () => assert.fail('nothing is kept'),
};

export interface Invocation {
  outcome: Outcome;
  events: Event[];
  /** What the caller reads, of a result that is one text. */
  text: string | undefined;
  isError: boolean;
}

/** Calls one tool named `look`, unless the call says otherwise. */
export async function call(
  run: Tool['run'],
  change: Partial<ToolCall> & { tool?: object } = {},
): Promise<Invocation> {
  const { tool: definition, ...callChange } = change;
  const events: Event[] = [];
  const clock = new TestClock();
  const compiled = ['look', 'change', 'locked', 'unlisted'].map((name) => {
    const result = compileTool(tool({ name, input: z.object({}), run, ...definition }));
    assert.ok('compiled' in result);
    return result.compiled;
  });
  const tools = toolSet(compiled, false);
  const outcome = await invoke(
    { tools: () => tools, access: () => ACCESS, clock, emit: (event) => events.push(event) },
    {
      name: 'look',
      arguments: {},
      principal: principal(['reader']),
      requestId: 'r1',
      session: { storage: NO_STORAGE },
      publish: async ({ bytes, mimeType }) => `address of ${bytes.length} ${mimeType}`,
      signal: new AbortController().signal,
      progress: async () => {},
      asker: () => ({ ending: undefined, ask: () => assert.fail('nobody can be asked') }),
      ...callChange,
    },
  );
  const result = outcome.kind === 'result' ? outcome.result : undefined;
  const [block] = result?.content ?? [];
  const text = block?.type === 'text' ? block.text : undefined;
  return { outcome, events, text, isError: result?.isError === true };
}

/** The one event that closes a call: its outcome and reason. */
export function closing(events: Event[]): string {
  const called = events.filter((event) => event.type === 'tool.called');
  assert.equal(called.length, 1);
  const [event] = called;
  return [event?.outcome, event?.reason].filter(Boolean).join(': ');
}

/** For a tool that must not run. */
export const never = (): never => assert.fail('the tool ran');
