/** Counting attempts within a window: what a count means. */

export interface Limit {
  /** How many are allowed within the window. */
  max: number;
  windowMs: number;
}

export type ThrottleDecision = { allowed: true } | { allowed: false; retryAfterSeconds: number };

/**
 * @param counter how many there were, this one included, and when the window ends.
 */
export function decideThrottle(
  counter: { count: number; windowEndsAt: number },
  limit: Limit,
  now: number,
): ThrottleDecision {
  if (counter.count <= limit.max) return { allowed: true };
  return {
    allowed: false,
    retryAfterSeconds: Math.max(1, Math.ceil((counter.windowEndsAt - now) / 1_000)),
  };
}
