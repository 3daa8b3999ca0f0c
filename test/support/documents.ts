import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { FetchPorts, ResolvedAddress } from '#src/oauth/pinned-fetch.ts';
import { makeCertificate } from './certificate.ts';

/*
 * The hosts of other people's apps: an HTTPS server that publishes Client ID Metadata Documents and
 * key sets under any name. The rules about addresses stay switched on: names resolve to an address
 * that looks public, and only the last step leads the connection here.
 */

/** Where names are, unless a test says otherwise: an address of nobody in particular. */
const PUBLIC_ADDRESS: ResolvedAddress = { address: '93.184.215.14', family: 4 };

/** What a path answers: a status, headers and a body, or whatever a function does. */
export type Answering =
  | { status?: number; headers?: Record<string, string>; body?: string | Buffer }
  | ((request: IncomingMessage, response: ServerResponse) => void);

export interface DocumentHosts extends AsyncDisposable {
  /** For `startTestApp`. */
  readonly ports: FetchPorts;
  /** Every request that arrived, as `host/path`. */
  readonly requests: string[];
  /** Every address that a connection went to. */
  readonly connections: ResolvedAddress[];
  /** Every name that was looked up. */
  readonly lookups: string[];
  /** Answers requests to an https URL. */
  answer(url: string, answering: Answering): void;
  /** Publishes a metadata document with the right `client_id`; returns that. */
  publish(url: string, metadata: Record<string, unknown>, headers?: Record<string, string>): string;
  /** What a name resolves to from now on; a function is asked at every lookup. */
  resolveTo(host: string, addresses: ResolvedAddress[] | (() => Promise<ResolvedAddress[]>)): void;
  /** Unreachable until `plugIn`. */
  unplug(): void;
  plugIn(): void;
}

/** A document as public clients publish it. */
export const DOCUMENT_METADATA = {
  client_name: 'Test Document App',
  redirect_uris: ['https://app.clients.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

/** The names that the certificate is good for. */
const NAMES = ['*.clients.example', 'claude.ai', 'chatgpt.com', 'vscode.dev'];
/** Nobody listens there. */
const CLOSED_PORT = 1;

/** Starts the hosts; leaving their scope closes them. */
export async function startDocumentHosts(): Promise<DocumentHosts> {
  const { certificate, key } = makeCertificate(NAMES);
  const answers = new Map<string, Answering>();
  const names = new Map<string, ResolvedAddress[] | (() => Promise<ResolvedAddress[]>)>();
  const requests: string[] = [];
  const connections: ResolvedAddress[] = [];
  const lookups: string[] = [];
  let isPlugged = true;
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const place = `${request.headers.host ?? ''}${request.url ?? ''}`;
    requests.push(place);
    reply(answers.get(place), request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const hosts: DocumentHosts = {
    ports: {
      async resolve(host) {
        lookups.push(host);
        const known = names.get(host) ?? [PUBLIC_ADDRESS];
        return typeof known === 'function' ? known() : known;
      },
      ca: certificate,
      route(pinned) {
        connections.push(pinned);
        return { address: '127.0.0.1', port: isPlugged ? port : CLOSED_PORT };
      },
    },
    requests,
    connections,
    lookups,
    answer(url, answering) {
      const { host, pathname } = new URL(url);
      answers.set(host + pathname, answering);
    },
    publish(url, metadata, headers = {}) {
      const body = JSON.stringify({ client_id: url, ...metadata });
      hosts.answer(url, { headers: { 'content-type': 'application/json', ...headers }, body });
      return url;
    },
    resolveTo: (host, addresses) => void names.set(host, addresses),
    unplug() {
      isPlugged = false;
    },
    plugIn() {
      isPlugged = true;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return hosts;
}

function reply(
  answering: Answering | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (typeof answering === 'function') answering(request, response);
  else if (answering === undefined) response.writeHead(404).end();
  else response.writeHead(answering.status ?? 200, answering.headers).end(answering.body ?? '');
}
