/** Where time comes from: milliseconds since the epoch. Tests pass their own. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Milliseconds to whole seconds, as JWT and OAuth count them. */
export function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / SECOND);
}

/** ISO 8601 in UTC, or null. */
export function isoTime(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}
