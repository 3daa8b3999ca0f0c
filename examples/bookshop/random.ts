/** A repeatable source of numbers: the same seed gives the same shop on every machine. */
export interface Random {
  /** The next number, at least 0 and below 1. */
  next(): number;
  /** A whole number from min to max, both included. */
  int(min: number, max: number): number;
  pick<T>(list: readonly T[]): T;
  shuffle<T>(list: readonly T[]): T[];
}

/** The mulberry32 generator; good enough for sample data, useless for secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  function int(min: number, max: number): number {
    return min + Math.floor(next() * (max - min + 1));
  }

  function pick<T>(list: readonly T[]): T {
    const [first] = list;
    if (first === undefined) throw new Error('Nothing to pick from');
    return list[int(0, list.length - 1)] ?? first;
  }

  function shuffle<T>(list: readonly T[]): T[] {
    return list
      .map((item) => ({ item, key: next() }))
      .toSorted((a, b) => a.key - b.key)
      .map(({ item }) => item);
  }

  return { next, int, pick, shuffle };
}
