import { timingSafeEqual } from 'node:crypto';
import type { ClientMetadata as ProviderClient } from 'oidc-provider';
import { AppError } from '#src/errors.ts';
import type { DisplayedClient } from '#src/http/client-display.ts';
import { digest, type ClientId } from '#src/ids.ts';
import { findClient, type StoredClient } from '#src/storage/clients.ts';
import type { Store } from '#src/storage/open.ts';
import type { ClientMetadata } from './client-metadata.ts';
import type { KeySet } from './key-set.ts';
import { isDocumentUrl, type DocumentReader } from './metadata-document.ts';

/** Clients of every kind, looked up by id: registered here, or described by their own document. */

export interface KnownClient {
  id: ClientId;
  kind: StoredClient['kind'];
  name: string | undefined;
  metadata: ClientMetadata;
  /** How it may prove itself, the best way first. */
  authMethods: AuthMethod[];
  secretDigest: string | null;
  /** When it registered; undefined for a document that nobody has consented to yet. */
  createdAt: number | undefined;
}

export interface ClientLookup {
  store: Store;
  documents: DocumentReader;
}

type AuthMethod = ClientMetadata['token_endpoint_auth_method'];

/** Ids are of our making or URLs: nothing else needs to reach the database. */
const PLAIN_ID = /^[\x21-\x7e]{1,500}$/;

export function isPlainId(id: string): boolean {
  return PLAIN_ID.test(id);
}

/**
 * The client with this id, or undefined when there is none.
 * @param address who asks, when that is known.
 * @throws `client_blocked`, and what the document reader throws.
 */
export async function lookUpClient(
  { store, documents }: ClientLookup,
  id: string,
  address?: string,
): Promise<KnownClient | undefined> {
  if (!isPlainId(id)) return undefined;
  const stored = await findClient(store.db, id);
  // One that only asks about tokens is no client to anything else here.
  if (stored?.kind === 'resource-server') return undefined;
  if (stored?.status === 'blocked')
    throw new AppError('client_blocked', 'The administrator has blocked this client');
  if (stored !== undefined && stored.kind !== 'document') {
    const metadata = stored.metadata as unknown as ClientMetadata;
    return {
      id: stored.id,
      kind: stored.kind,
      name: stored.name,
      metadata,
      authMethods: [metadata.token_endpoint_auth_method],
      secretDigest: stored.secretDigest,
      createdAt: stored.createdAt,
    };
  }
  if (!isDocumentUrl(id)) return undefined;
  const { metadata, authMethods } = await documents.read(id, address);
  return {
    id: id as ClientId,
    kind: 'document',
    name: metadata.client_name,
    metadata,
    authMethods,
    secretDigest: null,
    createdAt: stored?.createdAt,
  };
}

/** What a person is told about the client; where the answer goes is part of it. */
export function displayedClient(client: KnownClient, redirectUri: string): DisplayedClient {
  return {
    claimedName: client.name,
    documentHost: client.kind === 'document' ? new URL(client.id).host : undefined,
    registeredAt: client.kind === 'registered' ? client.createdAt : undefined,
    redirectUri,
  };
}

export interface ProviderClientOptions {
  /** The way in which this request proves the client. */
  method: AuthMethod;
  /** What `jwks_uri` leads to, for clients that have one. */
  keys: KeySet | undefined;
}

/**
 * The client as oidc-provider wants it. In place of the secret it gets the secret's digest, in place
 * of the address of its keys the keys: the provider would fetch them without our rules.
 */
export function toProviderClient(
  client: KnownClient,
  { method, keys }: ProviderClientOptions,
): ProviderClient {
  const { metadata, secretDigest } = client;
  return {
    client_id: client.id,
    ...(client.name === undefined ? {} : { client_name: client.name }),
    redirect_uris: metadata.redirect_uris,
    grant_types: metadata.grant_types,
    response_types: metadata.response_types,
    token_endpoint_auth_method: method,
    // Which redirect URIs count is decided in redirect-uri.ts; this keeps the provider from a second opinion.
    application_type: 'native',
    ...(secretDigest === null ? {} : { client_secret: secretDigest }),
    ...(method === 'private_key_jwt' ? { jwks: keys ?? metadata.jwks ?? { keys: [] } } : {}),
  };
}

/** Whether a presented secret is the one with this digest, in constant time. */
export function secretMatches(secretDigest: string | undefined, presented: string): boolean {
  const expected = Buffer.from(secretDigest ?? '');
  const actual = Buffer.from(digest(presented));
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
