import type { IncomingHttpHeaders } from 'node:http';
import type { MirroredField } from '#src/tools/mirrored.ts';
import { decodeHeaderValue, header } from './envelope.ts';
import { isObject } from './message.ts';

/*
 * Headers that repeat arguments of a call, `Mcp-Param-<Name>`. Proxies route by them and the tool acts
 * by the body, so they must say the same (MCP 2026-07-28, Streamable HTTP). Compared after the caller
 * was found to be allowed the tool: before, the answer would tell strangers which tools there are.
 */

const DECIMAL = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/**
 * The first header that is missing, or says something else than the arguments as they were sent.
 * @param mayBeMissing for requests of no era, which the configuration lets through.
 */
export function paramHeaderThatDiffers(
  fields: readonly MirroredField[],
  args: unknown,
  { headers, mayBeMissing }: { headers: IncomingHttpHeaders; mayBeMissing: boolean },
): string | undefined {
  const differing = fields.find(({ path, name }) => {
    const value = valueAt(args, path);
    const sent = header(headers, `mcp-param-${name.toLowerCase()}`);
    if (sent === undefined) return isPlain(value) && !mayBeMissing;
    const text = decodeHeaderValue(sent);
    return text === undefined || !isPlain(value) || !saysSame(text, value);
  });
  return differing && `Mcp-Param-${differing.name}`;
}

type Plain = string | number | boolean;

/**
 * What is left out or no plain value has no header, and neither has an integer that JavaScript cannot
 * hold. A fraction has one although it will be refused, so that the caller is told why.
 */
function isPlain(value: unknown): value is Plain {
  if (typeof value !== 'number') return typeof value === 'string' || typeof value === 'boolean';
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}

/** Clients write whole numbers as they like: `42.0` is 42. */
function saysSame(text: string, value: Plain): boolean {
  if (typeof value === 'number') return DECIMAL.test(text) && Number(text) === value;
  return text === String(value);
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path)
    value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}
