import type { z } from 'zod';

/*
 * What a project writes: `tool({...})`, one a file. The shapes here are public; they change only in
 * ways that old tools survive.
 */

/** How a tool behaves, for clients that show it (MCP `ToolAnnotations`). */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** What a running tool is given beside its arguments. */
export interface ToolContext {
  user: { id: string; name: string; roles: readonly string[] };
  client: { id: string; name: string };
  /** The caller's access session: what it keeps is there at their next call, on every server. */
  session: {
    storage: {
      /** The value under a key, or undefined. */
      get(key: string): Promise<unknown>;
      /** Keeps a JSON value. 65,536 characters in all. */
      set(key: string, value: unknown): Promise<void>;
      delete(key: string): Promise<void>;
    };
  };
  /** What the grant amounts to, with includes and what the tool's `promote` adds. */
  privileges: ReadonlySet<string>;
  /** Aborted when the caller has gone or the call took too long. */
  signal: AbortSignal;
  /** Tells the caller how far the work is; numbers that do not grow are dropped. */
  progress: (done: number, total?: number, message?: string) => Promise<void>;
  /** Writes to the server's log, never to the caller. */
  log: Record<'info' | 'warn' | 'error', (message: string) => void>;
  /**
   * Asks the person to fill in a form of plain fields. The answers, or undefined when they refuse.
   *
   * The call may end here and run again from the top once the person has answered: ask before you
   * change anything. An answer counts once, for the same arguments, the same form and the same `bind`.
   * `key` names the question in the protocol, for clients that look.
   */
  ask: <Fields extends z.ZodRawShape>(
    fields: Fields,
    options?: { message?: string; bind?: unknown; key?: string },
  ) => Promise<z.output<z.ZodObject<Fields>> | undefined>;
  /** Asks the person whether to go on; like `ask` in all else. No argument can stand for the answer. */
  confirm: (message: string, options?: { bind?: unknown }) => Promise<boolean>;
}

/** A block of MCP content, for tools that return more than text and data. */
export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }
  | { type: 'audio'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
  | { type: 'resource_link'; uri: string; name: string; mimeType?: string; description?: string };

export interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject> {
  /** 1 to 64 letters, digits, `_` and `-`. */
  name: string;
  /** When to use the tool, for the assistant that chooses. */
  description?: string;
  input: Input;
  /** When given, the result is checked against it and published as the tool's output schema. */
  output?: Output;
  annotations?: ToolAnnotations;
  /** Privileges that the tool has while it runs, beside the caller's. */
  promote?: readonly string[];
  run(args: z.output<Input>, context: ToolContext): z.input<Output> | Promise<z.input<Output>>;
}

/** A tool as the server knows it, whatever its schemas. */
export interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject | undefined;
  readonly annotations: ToolAnnotations | undefined;
  readonly promote: readonly string[];
  readonly run: (args: never, context: ToolContext) => unknown;
}

const TOOL = Symbol.for('castellan.tool');
const CONTENT = Symbol.for('castellan.content');
const TOOL_ERROR = Symbol.for('castellan.toolError');

/** Defines a tool with a declared result. */
export function tool<Input extends z.ZodObject, Output extends z.ZodObject>(
  definition: ToolDefinition<Input, Output> & { output: Output },
): Tool;
/** Defines a tool whose result is whatever `run` returns: text, a number, an object, a list. */
export function tool<Input extends z.ZodObject>(
  definition: Omit<ToolDefinition<Input, never>, 'run' | 'output'> & {
    run(args: z.output<Input>, context: ToolContext): unknown;
  },
): Tool;
export function tool(definition: {
  name: string;
  description?: string;
  input: z.ZodObject;
  output?: z.ZodObject;
  annotations?: ToolAnnotations;
  promote?: readonly string[];
  run: (args: never, context: ToolContext) => unknown;
}): Tool {
  if (typeof definition.run !== 'function') throw new TypeError('tool({...}) has no function run');
  const defined: Tool = {
    name: definition.name,
    description: definition.description,
    input: definition.input,
    output: definition.output,
    annotations: definition.annotations,
    promote: definition.promote ?? [],
    run: (args, context) => definition.run(args, context),
  };
  return Object.freeze(Object.assign(defined, { [TOOL]: true }));
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && TOOL in value;
}

/** An error whose message the caller may read: a refusal, not a fault. Throw it from `run`. */
export function toolError(message: string): Error {
  return Object.assign(new Error(message), { [TOOL_ERROR]: true });
}

export function isToolError(value: unknown): value is Error {
  return value instanceof Error && TOOL_ERROR in value;
}

/** Returns blocks of content as they are: pictures, sound, embedded resources. */
export function content(...blocks: ContentBlock[]): ToolContent {
  return { [CONTENT]: blocks };
}

export interface ToolContent {
  readonly [CONTENT]: readonly ContentBlock[];
}

/** The blocks of a value made by `content`, or undefined. */
export function contentBlocks(value: unknown): readonly ContentBlock[] | undefined {
  if (typeof value !== 'object' || value === null || !(CONTENT in value)) return undefined;
  return (value as ToolContent)[CONTENT];
}
