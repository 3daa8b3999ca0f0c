import type { JsonSchema } from '#src/tools/schema.ts';
import type { PublishedTool } from '#src/tools/tool-set.ts';

/*
 * The house rules for what clients see of a tool, written a second time and from the design rather
 * than from the code: one schema that a client refuses breaks that client's every request.
 */

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array'];
const FORBIDDEN = ['$ref', '$defs', 'oneOf', 'anyOf', 'allOf', 'const', 'default', 'prefixItems'];

/** What is wrong with a tool as it is published, a line each. */
export function houseRuleProblems(tool: PublishedTool): string[] {
  const problems: string[] = [];
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(tool.name)) problems.push('name');
  if (typeof tool.description !== 'string') problems.push('description');
  for (const part of ['inputSchema', 'outputSchema'] as const) {
    const schema = tool[part];
    if (schema === undefined) continue;
    if (schema['type'] !== 'object') problems.push(`${part}: no object at the root`);
    if (schema['additionalProperties'] !== false) problems.push(`${part}: additionalProperties`);
    problems.push(...nodeProblems(schema, part));
  }
  return problems;
}

function nodeProblems(node: unknown, path: string): string[] {
  if (!isObject(node)) return [`${path}: no schema`];
  const problems = FORBIDDEN.filter((key) => key in node).map((key) => `${path}: ${key}`);
  const { type, properties, items, additionalProperties } = node;
  if (!TYPES.includes(String(type))) problems.push(`${path}: type ${JSON.stringify(type)}`);
  if (type === 'array') problems.push(...nodeProblems(items, `${path}[]`));
  if (type !== 'object') return problems;
  if (!isObject(properties)) return [...problems, `${path}: no properties`];
  for (const [name, child] of Object.entries(properties)) {
    problems.push(...nodeProblems(child, `${path}.${name}`));
  }
  if (isObject(additionalProperties)) {
    problems.push(...nodeProblems(additionalProperties, `${path}.*`));
  }
  return problems;
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
