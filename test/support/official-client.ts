import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client';

/** The official MCP client, as an app on somebody's computer would use it. */

export type Negotiation = 'auto' | { pin: string };

/** What an app keeps between its requests. */
export class AppMemory implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadataUrl?: string;
  /** Where the person has to go; set when the client wants a login. */
  authorizationUrl: URL | undefined;
  stored: StoredOAuthTokens | undefined;
  #client: StoredOAuthClientInformation | undefined;
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;

  constructor(redirectUrl: string, documentUrl?: string) {
    this.redirectUrl = redirectUrl;
    if (documentUrl !== undefined) this.clientMetadataUrl = documentUrl;
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'Flow client',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  get clientId(): string | undefined {
    return this.#client?.client_id;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.stored;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.stored = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'tokens') this.stored = undefined;
    if (scope === 'all' || scope === 'client') this.#client = undefined;
  }
}

/** A connected client with what it saw on the wire. */
export interface ConnectedClient extends AsyncDisposable {
  client: Client;
  transport: StreamableHTTPClientTransport;
  /** Status and challenge of every answer of `/mcp`. */
  answers: { status: number; challenge: string | null }[];
}

export async function connectClient(
  url: string,
  memory: AppMemory,
  mode: Negotiation,
): Promise<ConnectedClient> {
  const answers: ConnectedClient['answers'] = [];
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    authProvider: memory,
    fetch: async (target, init) => {
      const response = await fetch(target, init);
      if (new URL(String(target)).pathname === '/mcp') {
        answers.push({
          status: response.status,
          challenge: response.headers.get('www-authenticate'),
        });
      }
      return response;
    },
  });
  const client = new Client(
    { name: 'flow-client', version: '1.0.0' },
    { versionNegotiation: { mode } },
  );
  await client.connect(transport);
  return { client, transport, answers, [Symbol.asyncDispose]: () => client.close() };
}

/** Whether a call ended in the client asking for a login. */
export async function wantsLogin(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (error) {
    if (error instanceof UnauthorizedError) return true;
    throw error;
  }
}

/** The app's own little server that the login comes back to (RFC 8252). */
export interface Callback extends AsyncDisposable {
  url: string;
  /** The parameters of the next visit. */
  next(): Promise<URLSearchParams>;
}

export async function listenForCallback(): Promise<Callback> {
  let arrival = Promise.withResolvers<URLSearchParams>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname === '/callback') arrival.resolve(url.searchParams);
    response.writeHead(url.pathname === '/callback' ? 200 : 404, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>Back in the app</title><p>You can close this window.');
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://localhost:${port}/callback`,
    async next() {
      const parameters = await arrival.promise;
      arrival = Promise.withResolvers();
      return parameters;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
}
