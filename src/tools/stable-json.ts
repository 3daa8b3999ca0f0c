/**
 * The same text for the same value, in whatever order its fields were written: for digests.
 * What JSON leaves out is left out here too.
 */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key, member: unknown) {
    // A file is millions of bytes: one text, not as many numbers.
    const original = this[key];
    if (original instanceof Uint8Array) return Buffer.from(original).toString('base64');
    if (typeof member === 'bigint') return `${member}n`;
    return isRecord(member) ? inOrder(member) : member;
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Its own prototype-less object: a field named `__proto__` is a field like any other. */
function inOrder(record: Record<string, unknown>): Record<string, unknown> {
  const ordered = Object.create(null) as Record<string, unknown>;
  for (const name of Object.keys(record).toSorted()) ordered[name] = record[name];
  return ordered;
}
