/*
 * What happens to a refresh token that is shown (docs/request-cycle.md). The first use gives the
 * successor. A second use soon after, while the successor is unused, gives the same successor: a lost
 * answer, or a second process of the same app. Any other use of a used token means that two parties
 * hold it: the grant ends.
 */

export interface ShownToken {
  clientId: string;
  expiresAt: number;
  usedAt: number | null;
}

export interface RefreshQuestion {
  shown: ShownToken | undefined;
  /** The client that has proved who it is. */
  clientId: string;
  now: number;
  /** How long a used token may be shown again; 0 for never. */
  retryMs: number;
  /** Whether the grant, its person and its client are all in order. */
  isGrantLive: boolean;
  /** The successor of a used token: whether it is there, and unused. */
  successorUnused: boolean;
}

export type RefreshDecision =
  | 'rotate'
  | 'repeat'
  | 'reuse'
  | 'unknown'
  | 'other_client'
  | 'expired'
  | 'ended';

export function decideRefresh(question: RefreshQuestion): RefreshDecision {
  const { shown, now, retryMs } = question;
  if (shown === undefined) return 'unknown';
  // Somebody else's token proves nothing about its owner: nothing changes.
  if (shown.clientId !== question.clientId) return 'other_client';
  if (!question.isGrantLive) return 'ended';
  if (shown.usedAt !== null) {
    const inTime = retryMs > 0 && now - shown.usedAt <= retryMs;
    return inTime && question.successorUnused ? 'repeat' : 'reuse';
  }
  return shown.expiresAt <= now ? 'expired' : 'rotate';
}
