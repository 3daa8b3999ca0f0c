import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { errors, type Interaction, type InteractionResults } from 'oidc-provider';
import { SECOND, toSeconds } from '#src/clock.ts';
import { AppError } from '#src/errors.ts';
import { readForm } from '#src/http/body.ts';
import type { Caller } from '#src/http/caller.ts';
import { describeClient, type ClientDisplay } from '#src/http/client-display.ts';
import { selectLanguage, textsFor, type Language } from '#src/http/language.ts';
import { describeMoment, type Moment } from '#src/http/moment.ts';
import type { Renderer } from '#src/http/render.ts';
import { pageHeaders } from '#src/http/security-headers.ts';
import { sendPage } from '#src/http/send-page.ts';
import type { UserId } from '#src/ids.ts';
import { findUser } from '#src/storage/users.ts';
import type { User } from '#src/users/user.ts';
import { requestedPrivileges } from './authorize-request.ts';
import { displayedClient, lookUpClient, type KnownClient } from './clients.ts';
import {
  describeOffer,
  describeOpenTools,
  grantEnd,
  grantOnce,
  offerFor,
  type ConsentParts,
} from './consent.ts';
import type { FormGuard } from './form-guard.ts';
import { attemptLogin, type LoginParts } from './login.ts';
import { OAUTH_PATH } from './urls.ts';

/*
 * The pages between an authorization request and its answer: log in, then consent. The provider keeps
 * what was asked and which browser asked; everything here takes it from there, never from the request.
 */

export interface InteractionParts {
  provider: Provider;
  renderer: Renderer;
  guard: FormGuard;
  login: LoginParts;
  consent: ConsentParts;
}

type Step = 'login' | 'consent';

/** One interaction as the handlers below need it. */
interface Open {
  ctx: Context;
  caller: Caller;
  details: Interaction;
  step: Step;
  client: KnownClient;
  redirectUri: string;
  language: Language;
}

type Handler = (ctx: Context, caller: Caller) => Promise<void>;

export interface InteractionHandlers {
  show: Handler;
  logIn: Handler;
  decide: Handler;
  cancel: Handler;
  switchUser: Handler;
}

export function createInteractions(parts: InteractionParts): InteractionHandlers {
  return {
    async show(ctx, caller) {
      const open = await openInteraction(parts, ctx, caller);
      if (open.step === 'login') renderLogin(parts, open, { username: '' });
      else await renderConsent(parts, open, undefined);
    },
    async logIn(ctx, caller) {
      const open = await openInteraction(parts, ctx, caller);
      await handleLogin(parts, open, await readStep(parts, open, 'login'));
    },
    async decide(ctx, caller) {
      const open = await openInteraction(parts, ctx, caller);
      await handleDecision(parts, open, await readStep(parts, open, 'consent'));
    },
    async cancel(ctx, caller) {
      const open = await openInteraction(parts, ctx, caller);
      await readStep(parts, open, open.step);
      await refuse(parts, open);
    },
    async switchUser(ctx, caller) {
      const open = await openInteraction(parts, ctx, caller);
      await readStep(parts, open, open.step);
      await signOutAndRestart(parts, open);
    },
  };
}

/** @throws `forbidden` when another browser started it, the provider's SessionNotFound when it has ended. */
async function openInteraction(
  parts: InteractionParts,
  ctx: Context,
  caller: Caller,
): Promise<Open> {
  const details = await findDetails(parts, ctx);
  if (details.uid !== ctx['params'].uid) throw new errors.SessionNotFound('another interaction');
  const step = details.prompt.name;
  if (details.result !== undefined || (step !== 'login' && step !== 'consent')) {
    throw new errors.SessionNotFound('interaction was answered before');
  }
  const { client_id: clientId, redirect_uri: redirectUri } = details.params;
  const client = await lookUpClient(parts.consent, String(clientId));
  if (client === undefined) throw new errors.InvalidClient('client not found');
  const language = selectLanguage(ctx.get('accept-language'));
  return { ctx, caller, details, step, client, redirectUri: String(redirectUri), language };
}

/** Somebody else's link is told apart from an old one for the person's sake: both lead nowhere. */
async function findDetails({ provider }: InteractionParts, ctx: Context): Promise<Interaction> {
  if (ctx.cookies.get(provider.cookieName('interaction')) === undefined) {
    const open = await provider.Interaction.find(String(ctx['params'].uid));
    if (open !== undefined) throw new AppError('forbidden', 'This page belongs to another browser');
  }
  return provider.interactionDetails(ctx.req, ctx.res);
}

async function readStep(parts: InteractionParts, open: Open, step: Step): Promise<URLSearchParams> {
  const form = await readForm(open.ctx.req);
  if (open.step !== step) throw new errors.SessionNotFound('another step');
  parts.guard.check(open.ctx.req, form, { interaction: open.details.uid, step });
  return form;
}

async function handleLogin(
  parts: InteractionParts,
  open: Open,
  form: URLSearchParams,
): Promise<void> {
  const { ctx, details, caller } = open;
  const username = form.get('username') ?? '';
  const result = await attemptLogin(parts.login, {
    name: username,
    password: form.get('password') ?? '',
    address: caller.address,
    clientId: open.client.id,
  });
  switch (result.kind) {
    case 'wrong':
      ctx.status = 401;
      return renderLogin(parts, open, { username: username.slice(0, 64), error: 'credentials' });
    case 'busy': {
      ctx.status = 429;
      ctx.set('retry-after', String(result.retryAfterSeconds));
      const retry = describeMoment(
        result.retryAt,
        parts.consent.store.clock.now(),
        textsFor(open.language),
      );
      return renderLogin(parts, open, { username: '', error: 'busy', retry });
    }
    case 'in':
      if (
        details.session?.accountId !== undefined &&
        details.session.accountId !== result.user.id
      ) {
        // Another person's session is open in this browser: it ends before this one begins.
        return signOutAndRestart(parts, open);
      }
      return finish(parts, open, {
        login: {
          accountId: result.user.id,
          remember: true,
          amr: ['pwd'],
          ts: toSeconds(result.at),
        },
      });
  }
}

async function handleDecision(
  parts: InteractionParts,
  open: Open,
  form: URLSearchParams,
): Promise<void> {
  if (form.get('decision') !== 'allow') return refuse(parts, open);
  const user = await currentUser(parts, open);
  const offered = offerFor(parts.consent, user, requestedPrivileges(open.details.params)).map(
    (one) => one.name,
  );
  const ticked = new Set(form.getAll('grant'));
  const privileges = offered.filter((name) => ticked.has(name));
  if (privileges.length === 0 && offered.length > 0) {
    open.ctx.status = 400;
    return renderConsent(parts, open, 'none');
  }
  const grant = await grantOnce(parts.consent, open.details.uid, {
    user,
    client: open.client,
    redirectUri: open.redirectUri,
    privileges,
    offered,
    loggedInAt: await loginTime(parts, open),
  });
  if (grant === undefined) throw new errors.SessionNotFound('consent was answered before');
  await finish(parts, open, { consent: { grantId: grant.id } });
}

async function refuse(parts: InteractionParts, open: Open): Promise<void> {
  parts.consent.emit({ type: 'consent.refused', clientId: open.client.id });
  await finish(parts, open, { error: 'access_denied', error_description: 'The person refused' });
}

async function finish(
  parts: InteractionParts,
  open: Open,
  result: InteractionResults,
): Promise<void> {
  const { ctx } = open;
  const returnTo = await parts.provider.interactionResult(ctx.req, ctx.res, result, {
    mergeWithLastSubmission: true,
  });
  ctx.set(pageHeaders('redirect'));
  ctx.redirect(returnTo);
  ctx.status = 303;
}

/** Ends the browser's session and asks again, with the same request as it was stored. */
async function signOutAndRestart(parts: InteractionParts, open: Open): Promise<void> {
  const { ctx, details } = open;
  const session = await parts.provider.Session.get(ctx);
  await session.destroy();
  await details.destroy();
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(details.params)) {
    if (typeof value !== 'string' || name === 'resource') continue;
    // What was asked for travels as scopes again; `prompt=login` has been honoured by signing out.
    if (name === 'scope')
      query.set('scope', ['mcp', ...requestedPrivileges(details.params)].join(' '));
    else if (name !== 'prompt') query.set(name, value);
    else if (value.split(' ').includes('consent')) query.set('prompt', 'consent');
  }
  ctx.set(pageHeaders('redirect'));
  ctx.redirect(`${OAUTH_PATH}/authorize?${query.toString()}`);
  ctx.status = 303;
}

function renderLogin(
  parts: InteractionParts,
  open: Open,
  page: { username: string; error?: 'credentials' | 'busy'; retry?: Moment },
): void {
  const { ctx, details, language } = open;
  const t = textsFor(language).login;
  const base = `${OAUTH_PATH}/interaction/${details.uid}`;
  sendPage(ctx, parts.renderer, {
    view: 'login',
    title: page.error === undefined ? t.pageTitle : t.pageTitleError,
    language,
    forms: 'redirect',
    data: {
      ...page,
      client: displayed(parts, open),
      csrf: parts.guard.token(details.uid, 'login'),
      self: base,
      action: `${base}/login`,
      cancelAction: `${base}/cancel`,
    },
  });
}

async function renderConsent(
  parts: InteractionParts,
  open: Open,
  error: 'none' | undefined,
): Promise<void> {
  const { ctx, details, language } = open;
  const user = await currentUser(parts, open);
  const offer = offerFor(parts.consent, user, requestedPrivileges(details.params));
  const access = parts.consent.access();
  if (offer.length === 0 && access.privilegeNames.size > 0) {
    throw new AppError('nothing_matched', 'This account may not do anything here');
  }
  const end = grantEnd(parts.consent.config, await loginTime(parts, open));
  const client = displayed(parts, open);
  const texts = textsFor(language);
  const t = texts.consent;
  const base = `${OAUTH_PATH}/interaction/${details.uid}`;
  sendPage(ctx, parts.renderer, {
    view: 'consent',
    title: error === undefined ? t.pageTitle(client.name) : t.pageTitleError(client.name),
    language,
    forms: 'redirect',
    data: {
      client,
      user: { name: user.name },
      grants: describeOffer(parts.consent, offer, () => error === undefined),
      openTools: describeOpenTools(parts.consent),
      until: describeMoment(end, parts.consent.store.clock.now(), texts),
      error,
      csrf: parts.guard.token(details.uid, 'consent'),
      action: `${base}/consent`,
      switchAction: `${base}/switch`,
    },
  });
}

function displayed(
  parts: InteractionParts,
  { client, redirectUri, language }: Open,
): ClientDisplay {
  return describeClient(
    displayedClient(client, redirectUri),
    textsFor(language),
    parts.consent.store.clock.now(),
  );
}

async function currentUser(parts: InteractionParts, { details }: Open): Promise<User> {
  const id = details.session?.accountId;
  const user = id === undefined ? undefined : await findUser(parts.consent.store.db, id as UserId);
  if (user?.status !== 'active') throw new errors.SessionNotFound('nobody is signed in');
  return user;
}

/** When the person logged in, in the store's time and in milliseconds. */
async function loginTime(parts: InteractionParts, { details }: Open): Promise<number> {
  const session = await parts.provider.Session.findByUid(details.session?.uid ?? '');
  if (session?.loginTs === undefined) throw new errors.SessionNotFound('the session has ended');
  return session.loginTs * SECOND;
}
