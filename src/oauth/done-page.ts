import type { Context } from 'koa';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { describeClient } from '#src/http/client-display.ts';
import { selectLanguage, textsFor } from '#src/http/language.ts';
import { describeMoment } from '#src/http/moment.ts';
import type { PageData, Renderer } from '#src/http/render.ts';
import { sendPage } from '#src/http/send-page.ts';
import type { Texts } from '#src/http/texts/en.ts';
import { findGrant } from '#src/storage/grants.ts';
import { findUser } from '#src/storage/users.ts';
import { displayedClient, lookUpClient } from './clients.ts';
import type { ConsentParts } from './consent.ts';
import { redirectKind } from './redirect-uri.ts';

/*
 * The last page, where the answer goes to an app on this device. A browser hands such an address to
 * the app and stays where it is; after a redirect that is the form that was just sent, as if nothing
 * had happened. So the answer travels in a page. It opens the app by itself, and by a link where the
 * browser asked and got no answer. The code in it goes nowhere else: the page is not kept, loads
 * nothing from elsewhere and sends no referrer.
 */

export interface DonePageParts {
  renderer: Renderer;
  consent: ConsentParts;
}

/**
 * Makes the provider's redirect to an app a page, once a person has allowed or cancelled. Redirects
 * to web addresses, and errors that came without a person's answer, stay redirects.
 * @throws the provider's SessionNotFound when the grant ended while it was answered.
 */
export async function showDone({ renderer, consent }: DonePageParts, ctx: Context): Promise<void> {
  const address = ctx.response.get('location');
  const kind = redirectKind(address, consent.config.privateUseSchemes);
  if (ctx.status !== 303 || kind !== 'private-use') return;
  const { client, entities } = (ctx as unknown as KoaContextWithOIDC).oidc;
  const grantId = entities.AuthorizationCode?.grantId;
  const hasCancelled = entities.Interaction?.result?.error === 'access_denied';
  if (grantId === undefined && !hasCancelled) return;
  // What fails from here on ends on an error page, which must not carry the code.
  ctx.remove('location');
  const known = await lookUpClient(consent, client?.clientId ?? '');
  if (known === undefined) throw new errors.InvalidClient('client not found');
  const language = selectLanguage(ctx.get('accept-language'));
  const t = textsFor(language);
  const display = describeClient(displayedClient(known, address), t, consent.store.clock.now());
  const allowed = grantId === undefined ? undefined : await describeGrant(consent, grantId, t);
  ctx.status = 200;
  sendPage(ctx, renderer, {
    view: 'done',
    title: t.done.pageTitle(display.name),
    language,
    forms: 'none',
    data: { client: display, allowed, opens: address },
  });
}

async function describeGrant(
  { store, access }: ConsentParts,
  grantId: string,
  t: Texts,
): Promise<PageData['done']['allowed']> {
  const grant = await findGrant(store.db, grantId);
  const user = grant && (await findUser(store.db, grant.userId));
  if (grant === undefined || user === undefined)
    throw new errors.SessionNotFound('the grant has ended');
  return {
    privileges: access()
      .describe(grant.privileges)
      .map(({ title }) => title),
    until: describeMoment(grant.expiresAt, store.clock.now(), t),
    user: { name: user.name },
  };
}
