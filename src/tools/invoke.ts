import { z } from 'zod';
import type { Access } from '#src/access/access.ts';
import { MINUTE, type Clock } from '#src/clock.ts';
import type { Principal } from '#src/credentials/principal.ts';
import { AppError, messageOf } from '#src/errors.ts';
import type { Emit, Event } from '#src/events.ts';
import { questionsFor, type Asker, type Ending } from './ask.ts';
import { isToolError, type ToolContext } from './define.ts';
import type { MirroredField } from './mirrored.ts';
import {
  downloadResult,
  failure,
  toBinary,
  toResult,
  type Binary,
  type ToolResult,
} from './result.ts';
import type { CompiledTool, ToolSet } from './tool-set.ts';

/*
 * A tool call, in numbered steps: find, authorise, compare, parse, run, emit. One pipeline for every tool and
 * every way in; no step can be left out by a caller.
 */

/** One call as the endpoint understood it. */
export interface ToolCall {
  name: string;
  arguments: unknown;
  principal: Principal;
  requestId: string;
  session: ToolContext['session'];
  /** Keeps bytes that the tool returned for its caller. @returns their address. */
  publish(binary: Binary): Promise<string>;
  /** Aborted when the caller has gone. */
  signal: AbortSignal;
  progress: ToolContext['progress'];
  /**
   * Names the header that does not say what the arguments say, where fields travel in headers too.
   * Left out where there are none.
   */
  differing?(fields: readonly MirroredField[]): string | undefined;
  /**
   * How this call asks the person: an answer counts for these arguments, as sent and as read, and until
   * the signal is aborted: then the run is over.
   */
  asker(args: unknown, isOver: AbortSignal): Asker;
}

export type Outcome =
  /** There is no such tool for this person, whether it exists or not. */
  | { kind: 'unknown' }
  /** A wider consent could allow it: these privileges would be enough. */
  | { kind: 'insufficient'; missing: readonly string[] }
  /** A header says something else than the arguments. */
  | { kind: 'mismatch'; header: string }
  | { kind: 'result'; result: ToolResult }
  /** A question is open, which the caller's asker holds. */
  | { kind: 'asks' }
  /** The caller has gone; nobody reads the result. */
  | { kind: 'cancelled' };

type CallOutcome = Extract<Event, { type: 'tool.called' }>['outcome'];

export interface InvokeParts {
  tools: () => ToolSet;
  access: () => Access;
  clock: Clock;
  emit: Emit;
}

/** No call runs longer; its signal is aborted then. */
const LONGEST_RUN_MS = 5 * MINUTE;
const CANNOT_ASK = 'This action requires a confirmation your client cannot display';
const LONGEST_NAME = 64;
const NAMED_PROBLEMS = 10;

/**
 * Runs the pipeline for one call. Never throws for what a tool or a caller did.
 * @throws `store_unavailable` when the store did not answer.
 */
export async function invoke(parts: InvokeParts, call: ToolCall): Promise<Outcome> {
  const startedAt = parts.clock.now();
  const emit = (outcome: CallOutcome, reason?: string): void =>
    parts.emit({
      type: 'tool.called',
      // A name that is no tool's may be anything, of any length.
      tool: call.name.slice(0, LONGEST_NAME),
      outcome,
      reason,
      milliseconds: parts.clock.now() - startedAt,
      grantId: call.principal.grantId,
      requestId: call.requestId,
    });

  // 1. Find.
  const compiled = parts.tools().byName.get(call.name);
  if (compiled === undefined) {
    emit('refused', 'no such tool');
    return { kind: 'unknown' };
  }
  // 2. Authorise. Beyond the person's roles a tool does not exist; within them, consent can widen.
  const access = parts.access();
  if (!access.mayExecute(call.name, call.principal.effective)) {
    const missing = access.executors(call.name).filter((one) => call.principal.attainable.has(one));
    emit('refused', missing.length > 0 ? 'insufficient scope' : "beyond the person's roles");
    return missing.length > 0
      ? { kind: 'insufficient', missing: missing.slice(0, 1) }
      : { kind: 'unknown' };
  }
  // 3. Compare. Whoever may not call the tool is not told that it has such headers.
  const header = call.differing?.(compiled.mirrored);
  if (header !== undefined) {
    emit('refused', `${header} is missing or differs from the body`);
    return { kind: 'mismatch', header };
  }
  // 4. Parse.
  try {
    const parsed = await parse(compiled.input, call.arguments ?? {});
    if (!parsed.success) {
      emit('refused', 'invalid parameters');
      return { kind: 'result', result: failure(invalidParameters(parsed.error)) };
    }
    // 5. Run. 6. Emit.
    return await run({ parts, call, compiled }, parsed.data, emit);
  } catch (error) {
    emit('failed', messageOf(error));
    // Nobody could say whether an answer was used before.
    if (error instanceof AppError && error.code === 'store_unavailable') throw error;
    const text = isToolError(error) ? error.message : `Internal error (request ${call.requestId})`;
    return { kind: 'result', result: failure(text) };
  }
}

/** At once, unless the schema has a check of its own that takes time. */
async function parse(schema: z.ZodObject, value: unknown): Promise<z.ZodSafeParseResult<unknown>> {
  try {
    return schema.safeParse(value, { reportInput: true });
  } catch (error) {
    if (error instanceof z.core.$ZodAsyncError)
      return schema.safeParseAsync(value, { reportInput: true });
    throw error;
  }
}

interface Running {
  parts: InvokeParts;
  call: ToolCall;
  compiled: CompiledTool;
}

async function run(
  running: Running,
  args: unknown,
  emit: (outcome: CallOutcome, reason?: string) => void,
): Promise<Outcome> {
  const { call, compiled } = running;
  const control = new AbortController();
  const over = new AbortController();
  const asker = call.asker(args, AbortSignal.any([control.signal, over.signal]));
  const leave = (): void => control.abort(call.signal.reason);
  const deadline = setTimeout(() => control.abort(new Error('it took too long')), LONGEST_RUN_MS);
  call.signal.addEventListener('abort', leave, { once: true });
  try {
    // The caller may have gone while the arguments were checked.
    call.signal.throwIfAborted();
    const context = { ...toolContext(running, control.signal), ...questionsFor(asker) };
    const work = compiled.tool.run(args as never, context);
    const value = await untilAborted(work, control.signal);
    if (asker.ending !== undefined) return ended(asker.ending, emit);
    const binary = compiled.output === undefined ? await toBinary(value) : undefined;
    if (binary !== undefined) {
      const url = await call.publish(binary);
      emit('done');
      return { kind: 'result', result: downloadResult(url, binary) };
    }
    const result = toResult(value, compiled.output);
    if ('problem' in result)
      throw new Error(`its result does not fit its output schema: ${result.problem}`);
    emit('done');
    return { kind: 'result', result: result.result };
  } catch (error) {
    if (call.signal.aborted) {
      emit('cancelled');
      return { kind: 'cancelled' };
    }
    if (asker.ending !== undefined) return ended(asker.ending, emit);
    if (!control.signal.aborted) throw error;
    emit('failed', 'it took too long');
    return { kind: 'result', result: failure('This call took too long and was stopped') };
  } finally {
    over.abort(new Error('the call is over'));
    clearTimeout(deadline);
    call.signal.removeEventListener('abort', leave);
  }
}

/** What a tool made of a question that is open does not count, whether it threw or returned. */
function ended(ending: Ending, emit: (outcome: CallOutcome, reason?: string) => void): Outcome {
  switch (ending) {
    case 'asks':
      emit('asked');
      return { kind: 'asks' };
    case 'cannot_ask':
      emit('refused', 'the client cannot ask');
      return { kind: 'result', result: failure(CANNOT_ASK) };
  }
}

function toolContext(
  { parts, call, compiled }: Running,
  signal: AbortSignal,
): Omit<ToolContext, 'ask' | 'confirm'> {
  const { principal, requestId } = call;
  const { tool } = compiled;
  const promoted = tool.promote.length > 0 ? parts.access().closure(tool.promote) : undefined;
  const log = (level: 'info' | 'warn' | 'error') => (message: string) =>
    parts.emit({ type: 'tool.log', tool: tool.name, requestId, level, message });
  return {
    user: principal.user,
    client: principal.client,
    session: call.session,
    privileges: promoted ? principal.effective.union(promoted) : principal.effective,
    signal,
    progress: call.progress,
    log: { info: log('info'), warn: log('warn'), error: log('error') },
  };
}

/** A tool that ignores its signal cannot hold its caller: the wait ends, its result is dropped. */
async function untilAborted(work: unknown, signal: AbortSignal): Promise<unknown> {
  if (!isThenable(work)) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  // It may abort its own call before it returns the promise.
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Query builders and the like are awaited too, though they are no promises. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/** `Invalid parameters: field: why; ...`, for the assistant that made the call. */
function invalidParameters(error: z.ZodError): string {
  const problems = error.issues.flatMap(describeProblem);
  const named = problems.slice(0, NAMED_PROBLEMS);
  if (problems.length > named.length) named.push(`and ${problems.length - named.length} more`);
  return `Invalid parameters: ${named.join('; ')}`;
}

function describeProblem(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${path === '' ? '' : `${path}.`}${key}: unknown parameter`);
  }
  const isMissing = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  if (isMissing && issue.input === undefined) return [`${path}: required`];
  return [`${path === '' ? 'arguments' : path}: ${issue.message}`];
}
