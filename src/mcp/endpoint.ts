import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator } from '#src/credentials/authenticate.ts';
import type { Emit } from '#src/events.ts';
import { messageOf } from '#src/errors.ts';
import { decodeText, readBody } from '#src/http/body.ts';
import type { Caller } from '#src/http/caller.ts';
import { unauthorized } from './challenge.ts';
import { envelopeProblem, eraOf, noEra, unsupportedVersion } from './envelope.ts';
import { corsHeaders, decideTransport, isRepeated, type TransportRules } from './ladder.ts';
import { readMessage, type RpcRequest } from './message.ts';
import { answerModern, discover, type ModernParts } from './modern.ts';
import { Reply } from './reply.ts';
import { RPC, toRpcFailure } from './rpc-error.ts';

/*
 * `/mcp`. Owns the way of a request from the socket to the method that answers it, and the order of
 * the checks on that way (docs/request-cycle.md). Does not know OAuth, tools or SQL: it asks the
 * authenticator and hands the call to the tools' pipeline. Called by the router only.
 */

export interface EndpointParts {
  rules: TransportRules;
  maxBodyBytes: number;
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
      const failure = toRpcFailure(error);
      if (failure.status >= 500) {
        const stack = error instanceof Error ? error.stack : undefined;
        parts.emit({
          type: 'server.error',
          where: `mcp ${requestId}`,
          message: messageOf(error),
          stack,
        });
      }
      reply.failure(failure);
    }
  };
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
  const incoming = readMessage(decodeText(await readBody(request, parts.maxBodyBytes)));
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
  if (!authentication.ok) {
    parts.emit({
      type: 'request.denied',
      reason: authentication.reason,
      address: caller.address,
      requestId,
    });
    return reply.failure(unauthorized(parts.modern.metadataUrl, authentication.credentialSent));
  }
  const { principal } = authentication;
  const signal = goneSignal(exchange.response);
  return answerModern(parts.modern, { request: message, principal, reply, requestId, signal });
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
