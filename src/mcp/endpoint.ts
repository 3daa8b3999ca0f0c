import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator, Denial } from '#src/credentials/authenticate.ts';
import type { Emit } from '#src/events.ts';
import { AppError, messageOf } from '#src/errors.ts';
import { decodeText, isSmallBody, readBody, type BodyBudget } from '#src/http/body.ts';
import type { Caller } from '#src/http/caller.ts';
import { isRepeated } from '#src/http/request-target.ts';
import { unauthorized } from './challenge.ts';
import { envelopeProblem, eraOf, noEra, unsupportedVersion } from './envelope.ts';
import { corsHeaders, decideTransport, type TransportRules } from './ladder.ts';
import { readMessage, type Incoming, type RpcRequest } from './message.ts';
import { answerModern, discover, type ModernParts } from './modern.ts';
import { Reply } from './reply.ts';
import { RPC, toRpcFailure, type RpcFailure } from './rpc-error.ts';

/*
 * `/mcp`. Owns the way of a request from the socket to the method that answers it, and the order of
 * the checks on that way (docs/request-cycle.md). Does not know OAuth, tools or SQL: it asks the
 * authenticator and hands the call to the tools' pipeline. Called by the router only.
 */

export interface EndpointParts {
  rules: TransportRules;
  maxBodyBytes: number;
  /** What the bodies of all requests may hold at once. */
  budgets: { strangers: BodyBudget; callers: BodyBudget };
  acceptBareRequests: boolean;
  authenticator: Authenticator;
  modern: ModernParts;
  emit: Emit;
}

export type McpHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
) => Promise<void>;

/** The largest body of a request without a token of ours; a login's first request is far smaller. */
const STRANGERS_BODY_BYTES = 64 * 1024;

/** One request with what the steps below need of it. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  caller: Caller;
  reply: Reply;
  requestId: string;
}

export function createMcpEndpoint(parts: EndpointParts): McpHandler {
  return async (request, response, caller) => {
    const requestId = randomBytes(8).toString('hex');
    const cors = corsHeaders(parts.rules, request);
    const reply = new Reply(response, {
      'x-request-id': requestId,
      'cache-control': 'no-store',
      ...cors,
    });
    const exchange = { request, response, caller, reply, requestId };
    try {
      await answer(parts, exchange);
    } catch (error) {
      reply.failure(explain(parts, exchange, error));
    }
  };
}

/** What a thrown value is answered, once it was told to whoever runs the server. */
function explain(parts: EndpointParts, exchange: Exchange, error: unknown): RpcFailure {
  const { caller, requestId } = exchange;
  const failure = toRpcFailure(error);
  if (error instanceof AppError && error.code === 'too_many_requests') {
    // Many at once are no fault of the server, and must not fill its log.
    const reason = 'too much is being sent at once';
    parts.emit({ type: 'request.denied', reason, address: caller.address, requestId });
  } else if (failure.status >= 500) {
    const stack = error instanceof Error ? error.stack : undefined;
    const where = `mcp ${requestId}`;
    parts.emit({ type: 'server.error', where, message: messageOf(error), stack });
  }
  return failure;
}

async function answer(parts: EndpointParts, exchange: Exchange): Promise<void> {
  const { request, caller, reply } = exchange;
  const transport = decideTransport(parts.rules, request, caller);
  switch (transport.kind) {
    case 'refuse':
      return reply.empty(transport.status, transport.headers);
    case 'preflight':
      return reply.empty(204);
    case 'failure':
      return reply.failure(transport.failure);
    case 'pass':
  }
  const incoming = await receive(parts, request);
  switch (incoming.kind) {
    case 'invalid':
      return reply.failure(incoming.failure);
    case 'notification':
      return reply.empty(202);
    case 'request':
      reply.answers(incoming.request.id);
      return answerRequest(parts, exchange, incoming.request);
  }
}

/**
 * The message in the body. The credential is looked at again when it counts; here it only says how
 * much may be sent, because whoever has none could otherwise fill the memory.
 */
async function receive(parts: EndpointParts, request: IncomingMessage): Promise<Incoming> {
  const { budgets, maxBodyBytes } = parts;
  const isKnown =
    !isSmallBody(request) && (await parts.authenticator.looksGenuine(authorizationOf(request)));
  const limit = isKnown ? maxBodyBytes : Math.min(maxBodyBytes, STRANGERS_BODY_BYTES);
  using share = (isKnown ? budgets.callers : budgets.strangers).share();
  return readMessage(decodeText(await readBody(request, limit, share)));
}

async function answerRequest(
  parts: EndpointParts,
  exchange: Exchange,
  message: RpcRequest,
): Promise<void> {
  const { request, reply } = exchange;
  switch (eraOf(message, request.headers)) {
    case 'session':
      return refuseSession(request, reply, message);
    case 'unknown':
      return reply.failure(noEra());
    case 'bare':
      if (!parts.acceptBareRequests) return reply.failure(noEra());
      break;
    case 'modern':
  }
  const problem = envelopeProblem(message, request.headers, parts.acceptBareRequests);
  if (problem !== undefined) return reply.failure(problem);
  if (message.method === 'server/discover') return reply.result(discover(parts.modern));
  return answerAuthenticated(parts, exchange, message);
}

async function answerAuthenticated(
  parts: EndpointParts,
  exchange: Exchange,
  message: RpcRequest,
): Promise<void> {
  const { request, caller, reply, requestId } = exchange;
  const authentication = await parts.authenticator.authenticate(
    authorizationOf(request),
    caller.address,
  );
  if (!authentication.ok) return deny(parts, exchange, authentication);
  const { principal, recheck } = authentication;
  const signal = goneSignal(exchange.response);
  const call = { request: message, principal, reply, requestId, signal, recheck };
  const reason = await answerModern(parts.modern, call);
  if (reason !== undefined) deny(parts, exchange, { reason, credentialSent: true });
}

function deny(
  parts: EndpointParts,
  { caller, reply, requestId }: Exchange,
  { reason, credentialSent }: { reason: Denial; credentialSent: boolean },
): void {
  parts.emit({ type: 'request.denied', reason, address: caller.address, requestId });
  reply.failure(unauthorized(parts.modern.metadataUrl, credentialSent));
}

/** Sessions are not served yet: an unknown one is 404, a new one learns which version to speak. */
function refuseSession(request: IncomingMessage, reply: Reply, message: RpcRequest): void {
  if (request.headers['mcp-session-id'] !== undefined) {
    reply.failure({ status: 404, code: RPC.unauthorized, message: 'Session not found' });
    return;
  }
  reply.failure(unsupportedVersion(message.params['protocolVersion']));
}

/** Two credentials are put side by side, which is none: a proxy may have checked the other one. */
function authorizationOf(request: IncomingMessage): string | undefined {
  if (!isRepeated(request, 'authorization')) return request.headers.authorization;
  return request.headersDistinct['authorization']?.join(', ');
}

/** Aborted when the connection closes before the answer was sent. */
function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const leave = (): void => {
    if (!response.writableFinished) controller.abort(new Error('the caller has gone'));
  };
  // It may have closed while the credential was checked.
  if (response.destroyed) leave();
  else response.once('close', leave);
  return controller.signal;
}
