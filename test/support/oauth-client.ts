import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { Page, Person, Site } from './person.ts';

/*
 * A small OAuth client. It does everything right unless it is told to change a parameter: `null`
 * leaves it out, a list sends it more than once.
 */

/** Parameters to send instead of the right ones. */
export type Changes = Record<string, string | string[] | null>;

export interface OAuthClient {
  readonly site: Site;
  readonly id: string;
  readonly secret: string | undefined;
  readonly redirectUri: string;
  /** A new authorization request: its URL, and what belongs to its answer. */
  authorize(changes?: Changes): Authorization;
  /** Redeems the code that came back with a redirect. */
  redeem(authorization: Authorization, returned: URL, changes?: Changes): Promise<TokenAnswer>;
  refresh(refreshToken: string, changes?: Changes): Promise<TokenAnswer>;
  revoke(token: string, changes?: Changes): Promise<Answer>;
  /** Any form to the token endpoint, with this client's authentication. */
  token(parameters: Changes, headers?: Record<string, string>): Promise<TokenAnswer>;
}

export interface ClientOptions {
  id: string;
  redirectUri: string;
  secret?: string | undefined;
  /** How it proves itself; by the form's `client_id` alone without a secret, else by Basic. */
  auth?: 'none' | 'basic' | 'post';
  /** Parameters of every request to the token and revocation endpoints, such as an assertion. */
  assert?: () => Promise<Record<string, string>>;
  /** Another way to send than plain HTTP, such as a browser's. */
  send?: Send;
}

/** Sends one request to a path of a site. */
export type Send = (path: string, init?: RequestInit) => Promise<Answer>;

export interface Authorization {
  url: string;
  verifier: string;
  state: string;
  redirectUri: string;
}

/** What an endpoint answered. */
export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
  text: string;
}

export interface TokenAnswer extends Answer {
  accessToken: string;
  refreshToken: string;
  error: string;
}

export const AUTHORIZE_PATH = '/mcp/oauth/authorize';
export const TOKEN_PATH = '/mcp/oauth/token';
export const REGISTER_PATH = '/mcp/oauth/register';
export const REVOKE_PATH = '/mcp/oauth/revoke';
export const INTROSPECT_PATH = '/mcp/oauth/introspect';

/** What a command-line client registers with. */
export const CLI_METADATA = {
  client_name: 'Test CLI',
  redirect_uris: ['http://127.0.0.1:7000/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

/** What a hosted client registers with. */
export const WEB_METADATA = {
  ...CLI_METADATA,
  client_name: 'Test Web',
  redirect_uris: ['https://app.example/callback'],
};

export function createOAuthClient(site: Site, options: ClientOptions): OAuthClient {
  const { id, secret, redirectUri } = options;
  const auth = options.auth ?? (secret === undefined ? 'none' : 'basic');
  const sendThere: Send = options.send ?? ((path, init) => send(site, path, init));

  async function post(
    path: string,
    parameters: Changes,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const proof: Changes = auth === 'basic' ? {} : { client_id: id };
    if (auth === 'post') proof['client_secret'] = secret ?? '';
    const basic = `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret ?? '')}`)}`;
    return sendThere(path, {
      method: 'POST',
      headers: { ...(auth === 'basic' ? { authorization: basic } : {}), ...headers },
      body: toForm({ ...proof, ...(await options.assert?.()), ...parameters }),
    });
  }

  const client: OAuthClient = {
    site,
    id,
    secret,
    redirectUri,
    authorize(changes = {}) {
      const verifier = randomBytes(32).toString('base64url');
      const parameters: Changes = {
        response_type: 'code',
        client_id: id,
        redirect_uri: redirectUri,
        state: randomBytes(8).toString('base64url'),
        code_challenge: challengeOf(verifier),
        code_challenge_method: 'S256',
        resource: `${site.origin}/mcp`,
        scope: 'mcp',
        ...changes,
      };
      return {
        url: `${site.origin}${AUTHORIZE_PATH}?${toForm(parameters).toString()}`,
        verifier,
        state: String(parameters['state']),
        redirectUri: String(parameters['redirect_uri']),
      };
    },
    redeem(authorization, returned, changes = {}) {
      return client.token({
        grant_type: 'authorization_code',
        code: codeOf(returned),
        redirect_uri: authorization.redirectUri,
        code_verifier: authorization.verifier,
        resource: `${site.origin}/mcp`,
        ...changes,
      });
    },
    refresh: (refreshToken, changes = {}) =>
      client.token({ grant_type: 'refresh_token', refresh_token: refreshToken, ...changes }),
    revoke: (token, changes = {}) => post(REVOKE_PATH, { token, ...changes }),
    async token(parameters, headers) {
      const answer = await post(TOKEN_PATH, parameters, headers);
      const text = (name: string): string => {
        const value = answer.body[name];
        return typeof value === 'string' ? value : '';
      };
      return {
        ...answer,
        accessToken: text('access_token'),
        refreshToken: text('refresh_token'),
        error: text('error'),
      };
    },
  };
  return client;
}

/** Registers (RFC 7591); the answer as it came. */
export function register(
  site: Site,
  metadata: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(site, REGISTER_PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(metadata),
  });
}

/** Registers and makes the client that was registered. */
export async function registerClient(
  site: Site,
  metadata: Record<string, unknown> = CLI_METADATA,
  options: Partial<ClientOptions> = {},
): Promise<OAuthClient> {
  const { status, body, text } = await register(site, metadata);
  assert.equal(status, 201, text);
  const [redirectUri = ''] = body['redirect_uris'] as string[];
  const secret = body['client_secret'] as string | undefined;
  return createOAuthClient(site, {
    id: String(body['client_id']),
    redirectUri,
    secret,
    ...options,
  });
}

export interface Login {
  name?: string;
  password?: string;
  /** Only these are allowed; what is ticked without it. */
  privileges?: readonly string[];
  /** Changes of the authorization request. */
  changes?: Changes;
}

/** The whole way from the authorization request to the redirect with a code. */
export async function obtainCode(
  person: Person,
  client: OAuthClient,
  login: Login = {},
): Promise<{ authorization: Authorization; returned: URL }> {
  const authorization = client.authorize(login.changes);
  const { returned } = await passPages(person, authorization, login);
  return { authorization, returned };
}

/**
 * What a person does with an authorization request: logs in unless they are, and allows unless they
 * are not asked. The consent page is the one that was shown, if one was.
 */
export async function passPages(
  person: Person,
  { url }: Pick<Authorization, 'url'>,
  login: Omit<Login, 'changes'> = {},
): Promise<{ returned: URL; consent: Page | undefined }> {
  let page = await person.follow(url);
  if (page.url.pathname.includes('/interaction/') && page.html.includes('name="password"')) {
    page = await person.logIn(page, {
      name: login.name ?? 'walter',
      ...(login.password && { password: login.password }),
    });
  }
  const consent = page.leftFor === undefined ? page : undefined;
  if (consent !== undefined) {
    page = await person.allow(consent, login.privileges && { privileges: login.privileges });
  }
  return { returned: leftFor(page), consent };
}

/** The same, and the tokens for the code. */
export async function obtainTokens(
  person: Person,
  client: OAuthClient,
  login: Login = {},
): Promise<TokenAnswer> {
  const { authorization, returned } = await obtainCode(person, client, login);
  const answer = await client.redeem(authorization, returned);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

/** Where the browser left for; fails when it shows a page. */
export function leftFor(page: Page): URL {
  assert.ok(
    page.leftFor,
    `${page.status} ${page.url.href} is a page:\n${page.html.slice(0, 3_000)}`,
  );
  return page.leftFor;
}

/** The code in a redirect. */
export function codeOf(returned: URL): string {
  const code = returned.searchParams.get('code');
  assert.ok(code, `no code in ${returned.href}`);
  return code;
}

/** A call of a tool; `notes-list` without arguments unless told otherwise. */
export interface ToolCall {
  name?: string;
  arguments?: Record<string, unknown>;
}

interface ToolCallRequest extends RequestInit {
  headers: Record<string, string>;
}

/** Calls a tool as clients of the 2026-07-28 revision do. */
export function callTool(site: Site, accessToken: string, call: ToolCall = {}): Promise<Answer> {
  return send(site, '/mcp', toolCallRequest(accessToken, call));
}

/** The request with which they do. @param accessToken undefined for a client that has none yet. */
export function toolCallRequest(
  accessToken: string | undefined,
  call: ToolCall = {},
): ToolCallRequest {
  const { name = 'notes-list', arguments: args = {} } = call;
  const version = '2026-07-28';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    method: 'POST',
    headers: {
      ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, _meta: meta },
    }),
  };
}

/** One request; the answer's body as JSON where it is an object, else empty. */
export async function send(site: Site, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(new URL(path, site.url), { redirect: 'manual', ...init });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parse(text), text };
}

/** PKCE's S256. */
export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

function toForm(parameters: Changes): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of value === null ? [] : [value].flat()) form.append(name, one);
  }
  return form;
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
