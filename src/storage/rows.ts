/** Reads a list of texts that was stored as JSON. Our own rows hold nothing else. */
export function parseList(text: string): string[] {
  return JSON.parse(text) as string[];
}

/** Reads an object that was stored as JSON. */
export function parseObject(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}
