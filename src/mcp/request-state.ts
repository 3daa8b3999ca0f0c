import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { MINUTE, type Clock } from '#src/clock.ts';
import type { KeyRing } from '#src/credentials/key-ring.ts';
import { AppError } from '#src/errors.ts';
import { newSecret, type Random } from '#src/ids.ts';

/*
 * `requestState`: what a call of the modern era was in the middle of, kept by the client between the
 * question and the answer (MCP 2026-07-28, multi round-trip requests). Signed, short-lived, for one
 * call of one grant, used once. It holds no secret: what is in it the client has sent or seen.
 */

const LIFETIME_MS = 10 * MINUTE;
/** Twenty answers of the largest size, in base64. */
const LONGEST = 512 * 1_024;
const SIGNATURE = /^[A-Za-z0-9_-]{43}$/;

const answer = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('accept'), content: z.record(z.string(), z.unknown()) }),
  z.strictObject({ action: z.literal('decline') }),
  z.strictObject({ action: z.literal('cancel') }),
]);

const stateSchema = z.strictObject({
  /** Spent at its first use. */
  nonce: z.string(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
  /** Digest of the grant, the tool and its arguments. */
  call: z.string(),
  /** Questions that were answered in earlier rounds, in order. */
  answered: z.array(z.strictObject({ question: z.string(), answer })),
  /** Digest of the question that was asked last. */
  open: z.string(),
});

export type RequestState = z.output<typeof stateSchema>;

export interface RequestStateCodec {
  /** Signs a state with a nonce and an end of its own. */
  seal(state: Pick<RequestState, 'call' | 'answered' | 'open'>): string;
  /**
   * Reads a state that was signed here and has not expired.
   * @returns `altered` for everything that was never ours as it stands.
   */
  unseal(text: string): RequestState | 'altered' | 'expired';
}

export function createRequestStateCodec(parts: {
  keys: KeyRing;
  clock: Clock;
  random: Random;
}): RequestStateCodec {
  const { keys, clock, random } = parts;
  const sign = (key: Buffer, payload: string): Buffer =>
    createHmac('sha256', key).update(payload).digest();
  return {
    seal(state) {
      const [key] = keys.deriveAll('ask');
      if (key === undefined) throw new AppError('internal', 'there is no key for questions');
      const whole = { ...state, nonce: newSecret(random), expiresAt: clock.now() + LIFETIME_MS };
      const payload = Buffer.from(JSON.stringify(whole)).toString('base64url');
      return `${payload}.${sign(key, payload).toString('base64url')}`;
    },
    unseal(text) {
      const [payload = '', mac = '', ...rest] = text.length > LONGEST ? [] : text.split('.');
      const shown = Buffer.from(mac, 'base64url');
      if (rest.length > 0 || !SIGNATURE.test(mac)) return 'altered';
      const isOurs = keys
        .deriveAll('ask')
        .map((key) => sign(key, payload))
        .some((expected) => expected.length === shown.length && timingSafeEqual(expected, shown));
      if (!isOurs) return 'altered';
      const state = stateSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
      return state.expiresAt > clock.now() ? state : 'expired';
    },
  };
}
