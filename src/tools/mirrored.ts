import type { JsonSchema } from './schema.ts';

/*
 * Fields of a tool's input that travel in a header too, so that a proxy can route by them without
 * reading the body (MCP 2026-07-28, Streamable HTTP, custom headers from tool parameters). Here they
 * are found in the published schema; the endpoint compares.
 */

/** How the published schema says that a field is one of them. */
export const HEADER_KEYWORD = 'x-mcp-header';

export interface MirroredField {
  /** Where its value is in the arguments. */
  path: readonly string[];
  /** `Region` for the header `Mcp-Param-Region`. */
  name: string;
}

/** Narrower than a token of RFC 9110: proxies drop headers with an underscore, browsers ask for less. */
const NAME = /^[A-Za-z0-9-]{1,64}$/;
/** A number with a fraction has more than one text. */
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/**
 * The mirrored fields of an input schema that keeps the house rules, or what is wrong with one:
 * clients leave out a tool that declares them wrongly.
 */
export function mirroredFields(
  schema: JsonSchema,
): { fields: readonly MirroredField[] } | { problem: string } {
  const fields: MirroredField[] = [];
  const names = new Set<string>();
  const visit = (node: JsonSchema, path: string[], isReachable: boolean): string | undefined => {
    if (HEADER_KEYWORD in node) {
      const name = node[HEADER_KEYWORD];
      const at = path.join('.') || '(root)';
      if (!isReachable) return `${at}: a header holds no field of the whole, a list or a map`;
      if (!TYPES.has(node['type'])) return `${at}: a header holds a text, an integer or a boolean`;
      if (typeof name !== 'string' || !NAME.test(name))
        return `${at}: a header is called by 1 to 64 letters, digits and -`;
      if (names.has(name.toLowerCase())) return `${at}: another field has the header ${name}`;
      names.add(name.toLowerCase());
      fields.push({ path, name });
    }
    const { properties = {}, items, additionalProperties } = node;
    for (const [key, child] of Object.entries(properties as Record<string, JsonSchema>)) {
      const problem = visit(child, [...path, key], path.length === 0 || isReachable);
      if (problem !== undefined) return problem;
    }
    for (const [key, child] of Object.entries({ '[]': items, '*': additionalProperties })) {
      if (typeof child !== 'object' || child === null) continue;
      const problem = visit(child as JsonSchema, [...path, key], false);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  const problem = visit(schema, [], false);
  return problem === undefined ? { fields } : { problem };
}
