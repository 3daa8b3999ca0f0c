import type { z } from 'zod';
import { tool, type Tool, type ToolAnnotations, type ToolContext } from './define.ts';

/*
 * Tools that belong together, written in one file as the functions of a thing: `OrderManager` with
 * `getYearTotal` is the tool `OrderManager-getYearTotal`. Each is a tool like any other, with its own
 * line in roles.json.
 */

/** One function; what it has beside its name is what a tool has. */
export interface EntityFunction<Input extends z.ZodObject> {
  /** When to use it, for the assistant that chooses. */
  description?: string;
  input: Input;
  /** When given, the result is checked against it and published as the tool's output schema. */
  output?: z.ZodObject;
  annotations?: ToolAnnotations;
  /** Privileges that the function has while it runs, beside the caller's. */
  promote?: readonly string[];
  run(args: z.output<Input>, context: ToolContext): unknown;
}

export interface EntityTool {
  readonly name: string;
  readonly tools: readonly Tool[];
}

const ENTITY = Symbol.for('castellan.entityTool');

/**
 * Defines a tool for each function, named `<name>-<function>`.
 * @throws TypeError when there is no function, or one without `run`.
 */
export function entityTool<Inputs extends Record<string, z.ZodObject>>(definition: {
  name: string;
  /** What the functions are about; it begins the description of each. */
  description?: string;
  functions: { [Name in keyof Inputs]: EntityFunction<Inputs[Name]> };
}): EntityTool {
  const { name, description, functions } = definition;
  const members = Object.entries<EntityFunction<z.ZodObject>>(functions ?? {});
  if (members.length === 0) throw new TypeError('entityTool({...}) has no functions');
  const tools = members.map(([member, one]) => {
    const full = `${name}-${member}`;
    if (typeof one?.run !== 'function') throw new TypeError(`${full} has no function run`);
    const words = [description, one.description].filter(Boolean).join(' ');
    return tool({ ...one, name: full, description: words });
  });
  return Object.freeze(Object.assign({ name, tools }, { [ENTITY]: true }));
}

export function isEntityTool(value: unknown): value is EntityTool {
  return typeof value === 'object' && value !== null && ENTITY in value;
}
