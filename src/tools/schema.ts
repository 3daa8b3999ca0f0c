import { z } from 'zod';

/*
 * zod -> JSON Schema, once per tool, and the house rules for every schema that clients see. One
 * schema that a client refuses breaks every request of that client, so a tool that breaks a rule is
 * not published.
 */

export type JsonSchema = Record<string, unknown>;

const FORBIDDEN = [
  '$ref',
  '$defs',
  'definitions',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'const',
  'default',
  'prefixItems',
  'patternProperties',
];
const PLAIN_TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array']);
const MAX_DEPTH = 12;

/**
 * The JSON Schema of a zod object, or the first house rule that it breaks, with its path.
 * @param direction `input` for arguments, `output` for results.
 */
export function publishSchema(
  schema: z.ZodObject,
  direction: 'input' | 'output',
): { schema: JsonSchema } | { problem: string } {
  let json: JsonSchema;
  try {
    json = z.toJSONSchema(schema, { io: direction, reused: 'inline' }) as JsonSchema;
  } catch (error) {
    return { problem: error instanceof Error ? error.message : 'it has no JSON Schema' };
  }
  const tidy = tidyNode(json, 0);
  tidy['additionalProperties'] = false;
  const problem = findProblem(tidy, '', 0);
  return problem === undefined ? { schema: tidy } : { problem };
}

/**
 * Takes out what says nothing or what zod checks anyway: dialect, defaults, the bounds of a safe
 * integer, the names of free properties; `const` is an enum of one.
 */
function tidyNode(node: JsonSchema, depth: number): JsonSchema {
  if (depth > MAX_DEPTH) return node;
  const tidy: JsonSchema = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === '$schema' || key === 'default' || key === 'propertyNames') continue;
    if (key === 'minimum' && value === Number.MIN_SAFE_INTEGER) continue;
    if (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) continue;
    if (key === 'additionalProperties' && isNode(value) && Object.keys(value).length === 0)
      continue;
    if (key === 'const') tidy['enum'] = [value];
    else if (key === 'properties' && isNode(value)) {
      tidy[key] = Object.fromEntries(
        Object.entries(value).map(([name, child]) => [
          name,
          isNode(child) ? tidyNode(child, depth + 1) : child,
        ]),
      );
    } else tidy[key] = isNode(value) ? tidyNode(value, depth + 1) : value;
  }
  if (tidy['type'] === 'object') tidy['properties'] ??= {};
  return tidy;
}

/** The first rule that a schema breaks, as `path: why`, or undefined. */
export function findProblem(node: JsonSchema, path: string, depth: number): string | undefined {
  const at = path === '' ? '(root)' : path;
  if (depth > MAX_DEPTH) return `${at}: nested too deeply`;
  const banned = FORBIDDEN.find((key) => key in node);
  if (banned !== undefined) return `${at}: ${banned} is not accepted by every client`;
  const type = node['type'];
  if (depth === 0 && type !== 'object') return `${at}: the root is an object`;
  if (depth === 0 && node['additionalProperties'] !== false)
    return `${at}: unknown fields are refused`;
  if (typeof type !== 'string' || !PLAIN_TYPES.has(type))
    return `${at}: every field has one plain type`;
  if (type === 'array') {
    return isNode(node['items'])
      ? findProblem(node['items'], `${path}[]`, depth + 1)
      : `${at}: an array says what its items are`;
  }
  if (type !== 'object') return undefined;
  const { properties, additionalProperties } = node;
  if (!isNode(properties)) return `${at}: an object says what its properties are`;
  const children = Object.entries(properties);
  if (isNode(additionalProperties)) children.push(['*', additionalProperties]);
  for (const [name, child] of children) {
    if (!isNode(child)) return `${at}: ${name} has no schema`;
    const problem = findProblem(child, path === '' ? name : `${path}.${name}`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isNode(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
