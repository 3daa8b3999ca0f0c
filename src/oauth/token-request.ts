import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { AccessTokenVerifier } from '#src/credentials/access-token.ts';
import { foreignResources, splitScope } from './authorize-request.ts';
import type { ServerUrls } from './urls.ts';

/*
 * Bodies for the token and revocation endpoints, checked and repaired before the provider sees them:
 * what it would notice only after it has consumed something is refused here.
 */

/** What oidc-provider parses: doubled parameters stay lists, so that it refuses them. */
export type FormBody = Record<string, string | string[]>;

/** What an error description may not hold (RFC 6749 section 5.2). */
const UNQUOTABLE = /[^\x20-\x21\x23-\x5b\x5d-\x7e]/g;

export interface OAuthError {
  status: number;
  error: string;
  error_description: string;
}

/** The body for the token endpoint, or what is wrong with it before anything is looked up. */
export function repairTokenBody(
  form: URLSearchParams,
  options: { urls: ServerUrls; privileges: ReadonlySet<string> },
): FormBody | OAuthError {
  const doubled = doubledParameters(form, ['resource']);
  if (doubled !== undefined) return doubled;
  if (foreignResources(form, options.urls).length > 0) {
    return {
      status: 400,
      error: 'invalid_target',
      error_description: `resource must be ${options.urls.resource}`,
    };
  }
  const repaired = new URLSearchParams(form);
  // All of them mean this server, which is what the provider takes without one.
  repaired.delete('resource');
  const scopes = splitScope(form.get('scope') ?? '').filter((scope) =>
    options.privileges.has(scope),
  );
  // What means nothing here is dropped; the refresh grant looks at the rest.
  if (scopes.length > 0) repaired.set('scope', scopes.join(' '));
  else repaired.delete('scope');
  return toBody(repaired);
}

/** What is wrong with a form that sends a parameter twice, or undefined (RFC 6749 section 3.2). */
export function doubledParameters(
  form: URLSearchParams,
  allowed: readonly string[] = [],
): OAuthError | undefined {
  const doubled = new Set(
    form.keys().filter((name) => !allowed.includes(name) && form.getAll(name).length > 1),
  );
  if (doubled.size === 0) return undefined;
  const names = [...doubled].join(', ').replaceAll(UNQUOTABLE, '?').slice(0, 100);
  return {
    status: 400,
    error: 'invalid_request',
    error_description: `sent more than once: ${names}`,
  };
}

/**
 * The body for the revocation endpoint. An access token becomes its `jti`, by which it is stored; one
 * that is not ours becomes a token that nobody has, which is no error (RFC 7009 section 2.2).
 */
export async function repairRevocationBody(
  form: URLSearchParams,
  verifier: AccessTokenVerifier,
): Promise<FormBody> {
  const body = toBody(form);
  const token = body['token'];
  if (typeof token === 'string' && token.split('.').length === 3) {
    const verified = await verifier.verify(token);
    body['token'] = typeof verified === 'string' ? 'unknown' : verified.claims.jti;
    body['token_type_hint'] = 'access_token';
  }
  if (typeof body['token_type_hint'] === 'string' && !HINTS.has(body['token_type_hint']))
    delete body['token_type_hint'];
  return body;
}

/** Whose assertion this claims to be, and which key signed it; the provider verifies it. */
export function readAssertion(
  value: unknown,
): { clientId: string; kid: string | undefined } | undefined {
  if (typeof value !== 'string' || value.length > MAX_ASSERTION) return undefined;
  try {
    const { sub } = decodeJwt(value);
    const { kid } = decodeProtectedHeader(value);
    return sub === undefined ? undefined : { clientId: sub, kid };
  } catch {
    return undefined;
  }
}

/** Id and secret of a client that uses Basic authentication (RFC 6749 section 2.3.1). */
export function readBasic(
  authorization: string | undefined,
): { id: string; secret: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '')?.[1];
  const [, id, secret] =
    /^([^:]+):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString('utf8')) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  try {
    return { id: decodeFormText(id), secret: decodeFormText(secret) };
  } catch {
    return undefined;
  }
}

/** The client that names itself by Basic authentication with an empty secret. */
export function emptySecretClient(authorization: string | undefined): string | undefined {
  const basic = readBasic(authorization);
  return basic?.secret === '' ? basic.id : undefined;
}

function decodeFormText(text: string): string {
  return decodeURIComponent(text.replaceAll('+', '%20'));
}

const MAX_ASSERTION = 8_192;
const HINTS = new Set(['access_token', 'refresh_token']);

export function isOAuthError(value: FormBody | OAuthError): value is OAuthError {
  return 'status' in value && typeof value['status'] === 'number';
}

function toBody(form: URLSearchParams): FormBody {
  const body: FormBody = {};
  for (const name of new Set(form.keys())) {
    const values = form.getAll(name);
    body[name] = values.length === 1 && values[0] !== undefined ? values[0] : values;
  }
  return body;
}
