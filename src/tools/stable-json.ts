/**
 * The same text for the same value, in whatever order its fields were written, and another text for
 * another value: for digests.
 * @throws TypeError for what JSON cannot tell apart, such as a Map, a Set or NaN.
 */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key, member: unknown) {
    // A file is millions of bytes: one text, not as many numbers.
    const original = this[key];
    if (original instanceof Uint8Array)
      return { '#bytes': Buffer.from(original).toString('base64') };
    if (typeof member === 'bigint') return { '#bigint': String(member) };
    if (typeof member === 'number' && !Number.isFinite(member)) throw indistinct();
    return isRecord(member) ? inOrder(member) : member;
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Its own prototype-less object: a field named `__proto__` is a field like any other. */
function inOrder(record: Record<string, unknown>): Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(record);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain) throw indistinct();
  const ordered = Object.create(null) as Record<string, unknown>;
  for (const name of Object.keys(record).toSorted()) ordered[name] = record[name];
  return ordered;
}

function indistinct(): TypeError {
  return new TypeError('only plain JSON, dates and bytes can be told apart');
}
