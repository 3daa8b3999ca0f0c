import type { z } from 'zod';
import { contentBlocks, toolError, type ContentBlock } from './define.ts';

/** A tool's answer as MCP's `CallToolResult` has it, without the era's envelope. */
export interface ToolResult {
  content: readonly ContentBlock[];
  structuredContent?: Record<string, unknown>;
  isError?: true;
}

/** Bytes that a tool returned. */
export interface Binary {
  bytes: Uint8Array;
  mimeType: string;
}

/** The bytes of a value that is nothing else, or undefined. */
export async function toBinary(value: unknown): Promise<Binary | undefined> {
  const mimeType = 'application/octet-stream';
  if (value instanceof Blob)
    return { bytes: new Uint8Array(await value.arrayBuffer()), mimeType: value.type || mimeType };
  if (value instanceof ArrayBuffer) return { bytes: new Uint8Array(value), mimeType };
  if (!ArrayBuffer.isView(value)) return undefined;
  const { buffer, byteOffset, byteLength } = value;
  return { bytes: new Uint8Array(buffer, byteOffset, byteLength), mimeType };
}

/** An answer that says where bytes can be fetched, by whoever reads it. */
export function downloadResult(url: string, { mimeType }: Binary): ToolResult {
  const said = `The result is a file: ${url} (for 10 minutes)`;
  return {
    content: [
      { type: 'resource_link', uri: url, name: 'download', mimeType },
      { type: 'text', text: said },
    ],
  };
}

/** An answer that says what went wrong. */
export function failure(why: string): ToolResult {
  return { content: [{ type: 'text', text: why }], isError: true };
}

/**
 * What a tool returned, as MCP content: text, numbers, booleans and dates as text; an object as
 * structured content and the same JSON as text, dates within as ISO text; a list as
 * `{result: [...]}`.
 * @throws an error that the caller may read, for bytes: in base64 they would only fill the
 * assistant's context.
 * @throws TypeError when there is no JSON for it.
 */
export function toResult(
  value: unknown,
  output: z.ZodObject | undefined,
): { result: ToolResult } | { problem: string } {
  if (output !== undefined) {
    const parsed = output.safeParse(value);
    if (!parsed.success) {
      return {
        problem: parsed.error.issues
          .map((one) => `${one.path.join('.')}: ${one.message}`)
          .join('; '),
      };
    }
    return { result: structured(parsed.data) };
  }
  const blocks = contentBlocks(value);
  return { result: blocks === undefined ? plainResult(value) : { content: blocks } };
}

function plainResult(value: unknown): ToolResult {
  switch (typeof value) {
    case 'string':
      return text(value);
    case 'number':
    case 'boolean':
    case 'bigint':
      return text(String(value));
    case 'object': {
      if (value === null) return { content: [] };
      if (Array.isArray(value)) return structured({ result: value });
      if (isBinary(value)) throw notServed();
      // What an object is in JSON is its own to say: a date and a URL are text.
      const json: unknown =
        'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON() : value;
      return json === value ? structured(value as Record<string, unknown>) : plainResult(json);
    }
    default:
      return { content: [] };
  }
}

function structured(value: Record<string, unknown>): ToolResult {
  const json = JSON.stringify(value, withoutBinary);
  return { content: [{ type: 'text', text: json }], structuredContent: value };
}

/** For `JSON.stringify`: looks at members before they say what they are in JSON, as a Buffer does. */
function withoutBinary(this: Record<string, unknown>, key: string, member: unknown): unknown {
  if (isBinary(this[key]) || isBinary(member)) throw notServed();
  return member;
}

function isBinary(value: unknown): boolean {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Blob;
}

function notServed(): Error {
  return toolError('This tool returns binary data within other data; a file is returned alone');
}

function text(value: string): ToolResult {
  return { content: [{ type: 'text', text: value }] };
}
