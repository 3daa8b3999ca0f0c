import { isIP } from 'node:net';
import { BASE_SCOPE } from '#src/access/roles.ts';
import type { Config } from '#src/config.ts';
import { AppError } from '#src/errors.ts';
import { readClientMetadata, type ClientMetadata } from './client-metadata.ts';
import { invalidDocument, type DocumentCache } from './document-cache.ts';
import { readKeySet, type KeySet } from './key-set.ts';
import { AUTH_METHODS } from './server-metadata.ts';

/*
 * Client ID Metadata Documents: a client whose id is the https URL of its metadata. What may be
 * fetched and how, the cache decides; this is what a document has to say.
 */

const DOCUMENT_LIMIT = 5 * 1024;
const KEY_SET_LIMIT = 32 * 1024;
const MAX_URL_LENGTH = 500;

type AuthMethod = ClientMetadata['token_endpoint_auth_method'];

export interface DocumentParts {
  cache: DocumentCache;
  config: Pick<Config['oauth'], 'privateUseSchemes' | 'metadataDocuments'>;
}

/** A client as its document describes it. */
export interface DocumentClient {
  metadata: ClientMetadata;
  /** How it may prove itself; with several, each request chooses. */
  authMethods: AuthMethod[];
}

export interface DocumentReader {
  /**
   * The client with this id.
   * @param address who sent us there, when that is known.
   * @throws what the cache throws, and `client_blocked` when the configuration does not allow it.
   */
  read(clientId: string, address?: string): Promise<DocumentClient>;
  /** The client's keys as they were fetched last; none when they never were. */
  knownKeys(url: string): Promise<KeySet>;
  /** Makes sure that the keys are fresh, and that one with this id is looked for. @throws as `read`. */
  refreshKeys(url: string, kid: string | undefined): Promise<void>;
}

/** Whether a client id is the URL of a metadata document. */
export function isDocumentUrl(clientId: string): boolean {
  if (clientId.length > MAX_URL_LENGTH || !/^https:\/\/[\x21-\x7e]+$/.test(clientId)) return false;
  const url = URL.parse(clientId);
  // Written in its normal form, with a path and nothing after it.
  return url !== null && url.href === clientId && url.pathname !== '/' && !/[?#]/.test(clientId);
}

export function createDocumentReader({ cache, config }: DocumentParts): DocumentReader {
  const { pinned, allow, block } = config.metadataDocuments;
  const rules = { privateUseSchemes: config.privateUseSchemes, scopes: new Set([BASE_SCOPE]) };
  return {
    async read(clientId, address) {
      if (block.includes(clientId) || (allow.length > 0 && !allow.includes(clientId))) {
        throw new AppError(
          'client_blocked',
          'The configuration of this server does not allow this client',
        );
      }
      const parse = (text: string): DocumentClient => parseDocument(text, clientId, rules);
      const pinnedDocument = Object.hasOwn(pinned, clientId) ? pinned[clientId] : undefined;
      if (pinnedDocument !== undefined)
        return parse(JSON.stringify({ ...pinnedDocument, client_id: clientId }));
      // Nothing is stored about an address that is never asked.
      if (!hasPublicName(clientId)) throw invalidDocument('its host is not a public name');
      return cache.read({ url: clientId, limit: DOCUMENT_LIMIT, parse, address });
    },
    knownKeys: async (url) => (await cache.peek(url, parseKeySet)) ?? { keys: [] },
    async refreshKeys(url, kid) {
      await cache.read({
        url,
        limit: KEY_SET_LIMIT,
        parse: parseKeySet,
        isOutdated: ({ keys }) => kid !== undefined && !keys.some((key) => key['kid'] === kid),
      });
    },
  };
}

function hasPublicName(clientId: string): boolean {
  const { hostname, port, username, password } = new URL(clientId);
  const isPlain = port === '' && username === '' && password === '';
  const isName =
    isIP(hostname.replaceAll(/^\[|\]$/g, '')) === 0 &&
    hostname.includes('.') &&
    !hostname.endsWith('.');
  return isPlain && isName;
}

/** @throws `client_document_invalid` */
function parseDocument(
  text: string,
  url: string,
  rules: Parameters<typeof readClientMetadata>[1],
): DocumentClient {
  const document = parseObject(text);
  if (document['client_id'] !== url) throw invalidDocument('its client_id is not its own URL');
  if ('client_secret' in document) throw invalidDocument('it holds a secret');
  const authMethods = chooseAuthMethods(document);
  const [preferred = 'none'] = authMethods;
  try {
    return {
      metadata: readClientMetadata({ ...document, token_endpoint_auth_method: preferred }, rules),
      authMethods,
    };
  } catch (error) {
    if (error instanceof AppError && error.code === 'client_metadata_invalid')
      throw invalidDocument(error.message);
    throw error;
  }
}

/** What the document names, in one field or several; keys count before `none`, shared secrets never. */
function chooseAuthMethods(document: Record<string, unknown>): AuthMethod[] {
  const named = [
    'token_endpoint_auth_method',
    'token_endpoint_auth_methods',
    'token_endpoint_auth_methods_supported',
  ]
    .flatMap((field) => document[field] ?? [])
    .filter((one) => one !== '');
  if (named.length === 0) return ['none'];
  const known = AUTH_METHODS.filter((method) => named.includes(method));
  const hasKeys = Boolean(document['jwks_uri'] ?? document['jwks']);
  const methods: AuthMethod[] = [];
  if (known.includes('private_key_jwt') && (hasKeys || !known.includes('none')))
    methods.push('private_key_jwt');
  if (known.includes('none')) methods.push('none');
  if (methods.length > 0) return methods;
  throw invalidDocument(
    known.length > 0 ? 'it asks for a shared secret' : 'its token_endpoint_auth_method is unknown',
  );
}

/** @throws `client_document_invalid` */
function parseKeySet(text: string): KeySet {
  const keySet = readKeySet(parseObject(text));
  if (typeof keySet === 'string') throw invalidDocument(`it ${keySet}`);
  return keySet;
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidDocument('it is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidDocument('it is not a JSON object');
  }
  return value as Record<string, unknown>;
}
