import { hash } from 'node:crypto';
import { AppError } from '#src/errors.ts';
import type { ClientId } from '#src/ids.ts';
import { splitScope } from './authorize-request.ts';
import { readKeySet, type KeySet } from './key-set.ts';
import { redirectKind, redirectUriProblem, withoutLoopbackPort } from './redirect-uri.ts';
import { AUTH_METHODS } from './server-metadata.ts';

/*
 * Client metadata (RFC 7591) as it is sent in the wild, made into what we keep. Tolerant where it is
 * harmless: empty fields, unknown grant types and scopes are dropped. Strict about redirect URIs, keys
 * and how a client proves itself.
 */

export interface ClientMetadata {
  client_name?: string;
  redirect_uris: string[];
  grant_types: string[];
  response_types: ['code'];
  token_endpoint_auth_method: (typeof AUTH_METHODS)[number];
  application_type: 'native' | 'web';
  scope?: string;
  client_uri?: string;
  logo_uri?: string;
  policy_uri?: string;
  tos_uri?: string;
  contacts?: string[];
  software_id?: string;
  software_version?: string;
  jwks_uri?: string;
  jwks?: KeySet;
}

export interface MetadataRules {
  privateUseSchemes: readonly string[];
  /** Scopes that mean something here; others are dropped. */
  scopes: ReadonlySet<string>;
}

const GRANT_TYPES = ['authorization_code', 'refresh_token'];
const MAX_REDIRECT_URIS = 20;
const TEXTS = { client_name: 200, software_id: 200, software_version: 100 } as const;
const CONTROL = /\p{Cc}/gu;
const LINKS = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri'] as const;

/**
 * Reads metadata that a client sent or published.
 * @throws `client_metadata_invalid` naming the field; `detail.error` is the RFC 7591 code.
 */
export function readClientMetadata(
  sent: Record<string, unknown>,
  rules: MetadataRules,
): ClientMetadata {
  const given = withoutEmpty(sent);
  const redirectUris = readRedirectUris(given['redirect_uris'], rules.privateUseSchemes);
  const isNative = redirectUris.some((uri) => redirectKind(uri, rules.privateUseSchemes) !== 'web');
  const method = readAuthMethod(given['token_endpoint_auth_method'], isNative);
  return {
    ...readTexts(given),
    redirect_uris: redirectUris,
    grant_types: readGrantTypes(given['grant_types']),
    response_types: readResponseTypes(given['response_types']),
    token_endpoint_auth_method: method,
    application_type: isNative ? 'native' : 'web',
    ...readScope(given['scope'], rules.scopes),
    ...readKeys(given, method),
  };
}

/** The id that every registration of this metadata by a public client shares. */
export function sharedClientId(metadata: ClientMetadata): ClientId {
  const canonical = {
    ...metadata,
    redirect_uris: [...new Set(metadata.redirect_uris.map(withoutLoopbackPort))].toSorted(),
    grant_types: metadata.grant_types.toSorted(),
  };
  const text = JSON.stringify(Object.entries(canonical).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return `cli_${hash('sha256', text, 'hex').slice(0, 30)}` as ClientId;
}

function withoutEmpty(sent: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(sent).filter(([, value]) => value !== null && value !== ''),
  );
}

function readRedirectUris(value: unknown, schemes: readonly string[]): string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalidRedirect('must be a list of at least one URI');
  if (value.length > MAX_REDIRECT_URIS)
    throw invalidRedirect(`must be at most ${MAX_REDIRECT_URIS} URIs`);
  for (const uri of value) {
    const problem = redirectUriProblem(uri, schemes);
    if (problem !== undefined) throw invalidRedirect(problem);
  }
  return value as string[];
}

function readGrantTypes(value: unknown): string[] {
  if (value === undefined) return ['authorization_code'];
  if (!Array.isArray(value)) throw invalid('grant_types must be a list');
  if (value.length === 0) return ['authorization_code'];
  const known = GRANT_TYPES.filter((type) => value.includes(type));
  if (!known.includes('authorization_code'))
    throw invalid('grant_types must include authorization_code');
  return known;
}

function readResponseTypes(value: unknown): ['code'] {
  const empty = value === undefined || (Array.isArray(value) && value.length === 0);
  if (empty || (Array.isArray(value) && value.includes('code'))) return ['code'];
  throw invalid('response_types must include code');
}

function readAuthMethod(
  value: unknown,
  isNative: boolean,
): ClientMetadata['token_endpoint_auth_method'] {
  if (value === undefined) return isNative ? 'none' : 'client_secret_basic';
  const known = AUTH_METHODS.find((method) => method === value);
  if (known === undefined)
    throw invalid(`token_endpoint_auth_method must be one of ${AUTH_METHODS.join(', ')}`);
  return known;
}

function readScope(value: unknown, known: ReadonlySet<string>): Partial<ClientMetadata> {
  if (typeof value !== 'string') return {};
  const kept = splitScope(value).filter((one) => known.has(one));
  return kept.length === 0 ? {} : { scope: kept.join(' ') };
}

function readTexts(given: Record<string, unknown>): Partial<ClientMetadata> {
  const texts: Partial<ClientMetadata> = {};
  for (const [field, limit] of Object.entries(TEXTS) as [keyof typeof TEXTS, number][]) {
    const value = given[field];
    if (value === undefined) continue;
    if (typeof value !== 'string' || value.length > limit)
      throw invalid(`${field} must be a text of at most ${limit} characters`);
    texts[field] = value.replaceAll(CONTROL, ' ');
  }
  for (const field of LINKS) {
    // Shown to nobody and never fetched: a link that is none is dropped, not refused.
    const value = given[field];
    if (
      typeof value === 'string' &&
      value.length <= 2_000 &&
      /^https?:\/\//.test(value) &&
      URL.canParse(value)
    ) {
      texts[field] = value;
    }
  }
  const contacts = given['contacts'];
  if (Array.isArray(contacts)) {
    const readable = contacts.filter(
      (one): one is string => typeof one === 'string' && one.length <= 200,
    );
    if (readable.length > 0) texts.contacts = readable.slice(0, 10);
  }
  return texts;
}

function readKeys(given: Record<string, unknown>, method: string): Partial<ClientMetadata> {
  const { jwks_uri: uri, jwks } = given;
  if (method !== 'private_key_jwt') return {};
  if ((uri === undefined) === (jwks === undefined))
    throw invalid('private_key_jwt needs jwks_uri or jwks, and not both');
  if (jwks !== undefined) {
    const keySet = readKeySet(jwks);
    if (typeof keySet === 'string') throw invalid(`jwks ${keySet}`);
    return { jwks: keySet };
  }
  if (typeof uri !== 'string' || uri.length > 2_000 || URL.parse(uri)?.protocol !== 'https:') {
    throw invalid('jwks_uri must be an https URL');
  }
  return { jwks_uri: uri };
}

function invalid(message: string): AppError {
  return new AppError('client_metadata_invalid', message, {
    detail: { error: 'invalid_client_metadata' },
  });
}

function invalidRedirect(problem: string): AppError {
  return new AppError('client_metadata_invalid', `redirect_uris ${problem}`, {
    detail: { error: 'invalid_redirect_uri' },
  });
}
