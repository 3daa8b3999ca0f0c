import { interactionPolicy } from 'oidc-provider';
import { SECOND, type Clock } from '#src/clock.ts';

/*
 * When a page is shown: who is it, then what may they do. A login counts for a while, however busy the
 * browser is; consent is due unless this authorization has its grant.
 */

export interface PolicyParts {
  clock: Clock;
  /** After this long a browser is asked to log in again. */
  loginSeconds: number;
}

export function createInteractionPolicy({
  clock,
  loginSeconds,
}: PolicyParts): interactionPolicy.DefaultPolicy {
  const { Check, Prompt } = interactionPolicy;
  const prompts = interactionPolicy.base();
  prompts.get('login')?.checks.add(
    new Check('login_too_old', 'a new login is required', 'login_required', (ctx) => {
      const { accountId, loginTs } = ctx.oidc.session ?? {};
      if (accountId === undefined) return Check.NO_NEED_TO_PROMPT;
      const age = clock.now() - (loginTs ?? 0) * SECOND;
      return age < loginSeconds * SECOND ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT;
    }),
  );
  prompts.remove('consent');
  prompts.add(
    new Prompt(
      { name: 'consent', requestable: true },
      new Check('no_grant', 'consent is required', 'consent_required', (ctx) =>
        ctx.oidc.entities.Grant?.jti === undefined ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
      ),
    ),
  );
  return prompts;
}
