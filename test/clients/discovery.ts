import assert from 'node:assert/strict';
import {
  AUTHORIZE_PATH,
  REGISTER_PATH,
  REVOKE_PATH,
  TOKEN_PATH,
  type Answer,
  type Send,
} from '../support/oauth-client.ts';
import type { Site } from '../support/person.ts';
import { pathOf } from './wire.ts';

/** From a 401 to the authorization server, through whichever well-known addresses a client knows. */

/** Where a client looks for the resource's metadata (RFC 9728); the older ones looked nowhere. */
export type ResourcePlace = 'challenge' | 'inserted' | 'root';

/** Where it looks for the authorization server's: RFC 8414 or OpenID style, by the issuer's path. */
export type ServerPlace = `${'oauth' | 'openid'} ${'inserted' | 'appended' | 'root'}`;

/** Where it looks, in its order. */
export interface Places {
  resource: ResourcePlace[];
  server: ServerPlace[];
}

/** What a client knows after discovery. */
export interface Found {
  challenge: Challenge;
  /** What the client sends as `resource`. */
  resource: string;
  server: Record<string, unknown>;
}

export interface Challenge {
  metadataUrl: string;
  scope: string | undefined;
  error: string | undefined;
}

/** Reads the challenge of a 401 as strictly as the strictest client does. */
export function readChallenge(answer: Answer): Challenge {
  assert.equal(answer.status, 401, answer.text);
  const header = answer.headers.get('www-authenticate') ?? '';
  assert.match(header, /^Bearer [a-z_]+="/);
  const parameters = [...header.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name, value]) => ({
    name,
    value,
  }));
  const named = (name: string): string[] =>
    parameters.filter((one) => one.name === name).map((one) => one.value ?? '');
  const [metadataUrl = '', ...more] = named('resource_metadata');
  assert.deepEqual(more, [], 'two resource_metadata parameters');
  return { metadataUrl, scope: named('scope')[0], error: named('error')[0] };
}

/**
 * Follows the challenge. A client stops at the first place that answers, but which places it knows
 * differs between its versions: all of them must hold the same.
 */
export async function discover(
  send: Send,
  site: Site,
  { challenge, looksFor, revision }: DiscoveryWishes,
): Promise<Found> {
  const read = (urls: string[]): Promise<Record<string, unknown>> =>
    readAlike(urls, async (url) => {
      const headers = { accept: 'application/json', 'mcp-protocol-version': revision };
      return send(pathOf(site, url), { headers });
    });
  const mcpUrl = `${site.origin}/mcp`;
  let issuer = mcpUrl;
  if (looksFor.resource.length > 0) {
    const found = await read(
      looksFor.resource.map((place) => resourceUrl(place, mcpUrl, challenge)),
    );
    assert.equal(found['resource'], mcpUrl);
    [issuer = ''] = found['authorization_servers'] as string[];
  }
  const server = await read(looksFor.server.map((place) => serverUrl(place, issuer)));
  assert.equal(server['issuer'], issuer, 'byte for byte');
  assert.deepEqual(server['code_challenge_methods_supported'], ['S256']);
  for (const [name, path] of ENDPOINTS) assert.equal(server[name], site.origin + path);
  return { challenge, resource: mcpUrl, server };
}

export interface DiscoveryWishes {
  challenge: Challenge;
  looksFor: Places;
  revision: string;
}

const ENDPOINTS = [
  ['authorization_endpoint', AUTHORIZE_PATH],
  ['token_endpoint', TOKEN_PATH],
  ['registration_endpoint', REGISTER_PATH],
  ['revocation_endpoint', REVOKE_PATH],
] as const;

async function readAlike(
  urls: string[],
  get: (url: string) => Promise<Answer>,
): Promise<Record<string, unknown>> {
  const answers: Answer[] = [];
  for (const url of urls) {
    const answer = await get(url);
    assert.equal(answer.status, 200, `${url}: ${answer.text}`);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/, url);
    answers.push(answer);
  }
  const [first] = answers;
  assert.ok(first);
  for (const answer of answers) assert.equal(answer.text, first.text);
  return first.body;
}

function resourceUrl(place: ResourcePlace, mcpUrl: string, challenge: Challenge): string {
  const { origin, pathname } = new URL(mcpUrl);
  switch (place) {
    case 'challenge':
      return challenge.metadataUrl;
    case 'inserted':
      return `${origin}/.well-known/oauth-protected-resource${pathname}`;
    case 'root':
      return `${origin}/.well-known/oauth-protected-resource`;
  }
}

function serverUrl(place: ServerPlace, issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  const [style = '', position] = place.split(' ');
  const name = style === 'oauth' ? 'oauth-authorization-server' : 'openid-configuration';
  switch (position) {
    case 'inserted':
      return `${origin}/.well-known/${name}${pathname}`;
    case 'appended':
      return `${origin}${pathname}/.well-known/${name}`;
    default:
      return `${origin}/.well-known/${name}`;
  }
}
