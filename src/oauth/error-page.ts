import type { Context } from 'koa';
import { errors } from 'oidc-provider';
import { AppError, type ErrorCode } from '#src/errors.ts';
import { toHttpError } from '#src/http/error-response.ts';
import { selectLanguage, textsFor } from '#src/http/language.ts';
import type { Renderer } from '#src/http/render.ts';
import { pageHeaders } from '#src/http/security-headers.ts';
import { sendPage } from '#src/http/send-page.ts';
import { asStoreError } from '#src/storage/open.ts';
import type { Texts } from '#src/http/texts/en.ts';
import { CarriedError } from './provider-errors.ts';

/*
 * The page for a person whose login cannot go on, and the same as JSON for a client that asks for it.
 * Never a redirect: what is wrong here makes the way back doubtful.
 */

export interface ErrorPageParts {
  renderer: Renderer;
  registrationEndpoint: string | undefined;
  now: () => number;
}

type ProblemKind = keyof Texts['problems'];

interface Problem {
  kind: ProblemKind;
  status: number;
  error: string;
  description: string | undefined;
  retryAfterSeconds: number | undefined;
}

const MAX_QUOTE = 300;

/** Answers with the error's page. The caller has logged it. */
export function showError(parts: ErrorPageParts, ctx: Context, error: unknown): void {
  const problem = classify(error);
  ctx.status = problem.status;
  if (problem.retryAfterSeconds !== undefined)
    ctx.set('retry-after', String(problem.retryAfterSeconds));
  if (ctx.accepts('html', 'json') === 'json') {
    ctx.set(pageHeaders('none'));
    ctx.body = {
      error: problem.error,
      error_description:
        problem.kind === 'unknown-client' ? 'The client is not registered' : problem.description,
      ...(problem.kind === 'unknown-client' && parts.registrationEndpoint !== undefined
        ? { registration_endpoint: parts.registrationEndpoint }
        : {}),
    };
    return;
  }
  const language = selectLanguage(ctx.get('accept-language'));
  const t = textsFor(language);
  const clientId = queryText(ctx, 'client_id');
  const host = URL.parse(clientId ?? '')?.host ?? '';
  const { site } = parts.renderer;
  const text = t.problems[problem.kind]({ site: site.name, mcpUrl: site.mcpUrl, host });
  sendPage(ctx, parts.renderer, {
    view: 'error',
    title: text.title,
    language,
    forms: 'none',
    data: {
      problem: text,
      refused: problem.kind === 'redirect' ? queryText(ctx, 'redirect_uri') : undefined,
      details: [
        [
          t.error.labels.error,
          problem.description === undefined
            ? problem.error
            : `${problem.error}: ${problem.description}`,
        ],
        ...(clientId === undefined ? [] : [[t.error.labels.client, clientId] as [string, string]]),
        [t.error.labels.time, new Date(parts.now()).toISOString()],
        [t.error.labels.reference, String(ctx.state['requestId'])],
      ],
    },
  });
}

/** Whether an error is ours or the network's to look at, not the caller's mistake. */
export function isServerFault(error: unknown): boolean {
  return classify(error).kind === 'failed';
}

function classify(error: unknown): Problem {
  const ours = error instanceof CarriedError ? error.carried : asStoreError(error);
  if (ours instanceof AppError) return classifyOurs(ours);
  if (!(error instanceof errors.OIDCProviderError) || error.statusCode >= 500) return failed();
  return {
    kind: kindOf(error),
    status: error.statusCode,
    error: error.error,
    description: error.error_description,
    retryAfterSeconds: undefined,
  };
}

function kindOf(error: errors.OIDCProviderError): ProblemKind {
  if (error instanceof errors.InvalidRedirectUri) return 'redirect';
  if (error instanceof errors.SessionNotFound) return 'expired';
  if (error instanceof errors.InvalidClient || error instanceof errors.InvalidClientAuth)
    return 'unknown-client';
  return 'bad-request';
}

/** Which words go with which of our codes; the protocol side is error-response.ts. */
function classifyOurs(error: AppError): Problem {
  const { status, error: code, description, retryAfterSeconds } = toHttpError(error);
  const kind = KINDS[error.code] ?? (status >= 500 ? 'failed' : 'bad-request');
  return { kind, status, error: code, description, retryAfterSeconds };
}

const KINDS: Partial<Record<ErrorCode, ProblemKind>> = {
  forbidden: 'other-browser',
  nothing_matched: 'no-access',
  too_many_requests: 'busy',
  login_unavailable: 'login-unavailable',
  client_blocked: 'blocked-client',
  client_document_unreachable: 'document-unavailable',
  client_document_invalid: 'document-invalid',
};

function failed(): Problem {
  return {
    kind: 'failed',
    status: 500,
    error: 'server_error',
    description: undefined,
    retryAfterSeconds: undefined,
  };
}

function queryText(ctx: Context, name: string): string | undefined {
  const value = ctx.query[name];
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_QUOTE) : undefined;
}
