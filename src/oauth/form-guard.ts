import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { KeyRing } from '#src/credentials/key-ring.ts';
import { AppError } from '#src/errors.ts';

/*
 * Forms belong to the browser that was shown them: the interaction's cookie says which browser, a token
 * in the form says that the page was ours, and the browser itself says where the form came from.
 */

export interface FormGuard {
  /** The hidden token of a form, for one interaction and one step. */
  token(interaction: string, step: string): string;
  /** @throws `forbidden` when the form was not ours or not sent from our page. */
  check(
    request: IncomingMessage,
    form: URLSearchParams,
    bound: { interaction: string; step: string },
  ): void;
}

const TOKEN_FIELD = '_csrf';

export function createFormGuard(keys: KeyRing, origin: string): FormGuard {
  const mac = (key: Buffer, interaction: string, step: string): Buffer =>
    createHmac('sha256', key).update(`${interaction} ${step}`).digest();
  return {
    token(interaction, step) {
      const [key] = keys.deriveAll('forms');
      if (key === undefined) throw new AppError('internal', 'there is no key for forms');
      return mac(key, interaction, step).toString('base64url');
    },
    check(request, form, { interaction, step }) {
      const shown = Buffer.from(form.get(TOKEN_FIELD) ?? '', 'base64url');
      const isOurs = keys
        .deriveAll('forms')
        .map((key) => mac(key, interaction, step))
        .some((expected) => expected.length === shown.length && timingSafeEqual(expected, shown));
      if (!isOurs || !isSameSite(request, origin))
        throw new AppError('forbidden', 'This form was not sent from its page');
    },
  };
}

/** Pages send no referrer, so their forms come with `Origin: null`; browsers also send Sec-Fetch-Site. */
function isSameSite(request: IncomingMessage, origin: string): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  const from = request.headers.origin;
  return from === undefined || from === 'null' || from === origin;
}
