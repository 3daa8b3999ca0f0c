import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { AppError, messageOf, systemCode } from '#src/errors.ts';
import type { CertificatePem } from './certificate.ts';
import type { ServerCertificate } from './server-certificate.ts';

/*
 * The listening socket: its limits, and its orderly end. A drain refuses new connections, lets running
 * requests finish, and closes what is idle. With a certificate it speaks TLS and nothing else: what
 * begins otherwise is closed.
 */

export interface Listener {
  server: Server;
  host: string;
  port: number;
  /** Stops listening and waits for running requests, at most `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 10_000;
/** A request with its body; slow ones end. Answers may take as long as they like. */
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** While more than half of the connections are in use. */
const CROWDED_KEEP_ALIVE_MS = 10_000;
const MAX_HEADER_BYTES = 32 * 1024;
const MAX_CONNECTIONS = 10_000;
const MAX_CONNECTIONS_PER_PEER = 1_000;

const LIMITS = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  noDelay: true,
};

export interface ListenOptions {
  /** HTTPS with this certificate and what takes its place; plain HTTP without one. */
  certificate?: ServerCertificate | undefined;
  /**
   * The name under which the connections of an address are counted; undefined for one that may have
   * any number. Without this, every address may.
   */
  peerOf?: (remoteAddress: string | undefined) => string | undefined;
  /** 10,000 unless told. */
  most?: number;
  /** 1,000 unless told. */
  mostPerPeer?: number;
}

/**
 * Starts listening.
 * @throws `port_in_use` when another program listens there, `config_invalid` when the address is not
 * one of this machine's.
 */
export async function listen(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  address: { host: string; port: number },
  options: ListenOptions = {},
): Promise<Listener> {
  const { certificate } = options;
  const server =
    certificate === undefined
      ? createServer(LIMITS, handler)
      : createSecureServer(certificate, handler);
  const sockets = limitConnections(server, options);
  await bind(server, address);
  const { port } = server.address() as AddressInfo;
  const listener = { server, sockets };
  return { server, host: address.host, port, drain: (graceMs) => drain(listener, graceMs) };
}

/** New connections get the certificate that is in use when they begin; the others keep theirs. */
function createSecureServer(
  certificate: ServerCertificate,
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const context = (pem: CertificatePem) => ({ ...pem, minVersion: 'TLSv1.2' as const });
  const options = {
    ...LIMITS,
    ...context(certificate.pem),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HEADERS_TIMEOUT_MS,
  };
  const server = createTlsServer(options, handler);
  certificate.onChange((pem) => server.setSecureContext(context(pem)));
  return server;
}

/**
 * No address takes all connections, and the more there are, the sooner an idle one ends.
 * @returns those that are open, always as of now; with TLS also those that are not through with it.
 */
function limitConnections(server: Server, limits: ListenOptions): ReadonlySet<Socket> {
  const { peerOf, most = MAX_CONNECTIONS, mostPerPeer = MAX_CONNECTIONS_PER_PEER } = limits;
  const perPeer = new Map<string, number>();
  const open = new Set<Socket>();
  const counted = (): void => {
    // Node reads it whenever a connection becomes idle.
    server.keepAliveTimeout = open.size * 2 > most ? CROWDED_KEEP_ALIVE_MS : KEEP_ALIVE_TIMEOUT_MS;
  };
  server.maxConnections = most;
  server.on('connection', (socket: Socket) => {
    const peer = peerOf?.(socket.remoteAddress);
    const others = peer === undefined ? 0 : (perPeer.get(peer) ?? 0);
    if (others >= mostPerPeer) {
      socket.destroy();
      return;
    }
    open.add(socket);
    counted();
    if (peer !== undefined) perPeer.set(peer, others + 1);
    socket.once('close', () => {
      open.delete(socket);
      counted();
      if (peer !== undefined) release(perPeer, peer);
    });
  });
  return open;
}

function release(perPeer: Map<string, number>, peer: string): void {
  const left = (perPeer.get(peer) ?? 1) - 1;
  if (left > 0) perPeer.set(peer, left);
  else perPeer.delete(peer);
}

async function bind(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (error) => reject(listenError(error, host, port)));
  server.listen(port, host, resolve);
  await promise;
  // A connection that could not be accepted (too many open files) is lost, and nothing else.
  server.on('error', () => {});
}

function listenError(error: Error, host: string, port: number): AppError {
  if (systemCode(error) === 'EADDRINUSE') {
    return new AppError('port_in_use', `Another program listens on ${host}:${port}`, {
      cause: error,
      hint: 'Stop it, or choose another port with --port N or listen.port.',
    });
  }
  return new AppError('config_invalid', `Cannot listen on ${host}:${port}: ${messageOf(error)}`, {
    cause: error,
    hint: 'Check listen.host and listen.port.',
  });
}

async function drain(
  { server, sockets }: { server: Server; sockets: ReadonlySet<Socket> },
  graceMs: number,
): Promise<void> {
  if (!server.listening) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeIdleConnections();
  // A connection that becomes idle later is not closed by `close`, so it is looked for again.
  const sweep = setInterval(() => server.closeIdleConnections(), 100);
  // Not `closeAllConnections`, which knows nothing of a TLS handshake that goes on.
  const end = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await promise;
  clearInterval(sweep);
  clearTimeout(end);
}
