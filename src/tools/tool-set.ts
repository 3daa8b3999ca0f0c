import { z } from 'zod';
import type { Tool, ToolAnnotations } from './define.ts';
import { mirroredFields, type MirroredField } from './mirrored.ts';
import { publishSchema, type JsonSchema } from './schema.ts';

/** A tool as clients see it in `tools/list`. */
export interface PublishedTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
}

/** A tool that is ready to be listed and called; everything about it is worked out once. */
export interface CompiledTool {
  tool: Tool;
  /** The input schema, refusing unknown arguments. */
  input: z.ZodObject;
  /** The output schema, leaving out what it does not declare. */
  output: z.ZodObject | undefined;
  /** The fields of the input that travel in headers too. */
  mirrored: readonly MirroredField[];
  published: PublishedTool;
}

/** The tools that serve now, by name. A reload makes a new one. */
export interface ToolSet {
  byName: ReadonlyMap<string, CompiledTool>;
  /** Sorted by name. */
  sorted: readonly CompiledTool[];
  /** Some tool files did not load. */
  incomplete: boolean;
}

/** What a project may write in JavaScript, where no compiler looks: a wrong type breaks every list. */
const hint = z.boolean().optional();
const describedSchema = z.object({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'a tool is called by 1 to 64 letters, digits, _ and -'),
  description: z.string().optional(),
  annotations: z
    .object({
      title: z.string().optional(),
      readOnlyHint: hint,
      destructiveHint: hint,
      idempotentHint: hint,
      openWorldHint: hint,
    })
    .optional(),
  promote: z.array(z.string()),
});

/** Prepares a tool, or says why it cannot be published. */
export function compileTool(tool: Tool): { compiled: CompiledTool } | { problem: string } {
  const described = describedSchema.safeParse(tool);
  if (!described.success) {
    const [issue] = described.error.issues;
    return { problem: `${issue?.path.join('.')}: ${issue?.message}` };
  }
  if (!(tool.input instanceof z.ZodObject)) return { problem: 'input is not a z.object(...)' };
  if (tool.output !== undefined && !(tool.output instanceof z.ZodObject)) {
    return { problem: 'output is not a z.object(...)' };
  }
  const parameters = withRest(tool.input);
  const input = publishSchema(parameters, 'input');
  if ('problem' in input) return { problem: `input ${input.problem}` };
  const mirrored = mirroredFields(input.schema);
  if ('problem' in mirrored) return { problem: `input ${mirrored.problem}` };
  const published: PublishedTool = { name: tool.name, inputSchema: input.schema };
  if (tool.description) published.description = tool.description;
  if (tool.annotations) published.annotations = tool.annotations;
  if (tool.annotations?.title) published.title = tool.annotations.title;
  if (tool.output !== undefined) {
    const output = publishSchema(tool.output, 'output');
    if ('problem' in output) return { problem: `output ${output.problem}` };
    published.outputSchema = output.schema;
  }
  const compiled = { tool, input: parameters.strict(), output: declaredOnly(tool.output) };
  return {
    compiled: { ...compiled, mirrored: mirrored.fields, published: Object.freeze(published) },
  };
}

/**
 * A list called `args` that comes last is the rest of the parameters: who passes none need not say
 * so, and the tool gets an empty list.
 */
function withRest(input: z.ZodObject): z.ZodObject {
  const last = Object.keys(input.shape).at(-1);
  const rest = last === 'args' ? input.shape['args'] : undefined;
  return rest instanceof z.ZodArray ? input.safeExtend({ args: rest.prefault([]) }) : input;
}

/** The published schema says that there is nothing more, and clients check that. */
function declaredOnly(output: z.ZodObject | undefined): z.ZodObject | undefined {
  const others = output?._zod.def.catchall;
  return others === undefined || others instanceof z.ZodNever ? output : output?.strip();
}

/** Collects compiled tools of distinct names. */
export function toolSet(tools: readonly CompiledTool[], incomplete: boolean): ToolSet {
  const sorted = tools.toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
  return { byName: new Map(sorted.map((one) => [one.tool.name, one])), sorted, incomplete };
}
