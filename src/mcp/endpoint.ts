import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator, Denial } from '#src/credentials/authenticate.ts';
import type { Emit } from '#src/events.ts';
import { AppError, messageOf } from '#src/errors.ts';
import { decodeText, isSmallBody, readBody, type BodyBudget } from '#src/http/body.ts';
import type { Caller } from '#src/http/caller.ts';
import { isRepeated } from '#src/http/request-target.ts';
import { unauthorized } from './challenge.ts';
import { envelopeProblem, eraOf, noEra } from './envelope.ts';
import { corsHeaders, decideTransport, type TransportRules } from './ladder.ts';
import { notOneRequest, readIncoming, type Incoming, type RpcRequest } from './message.ts';
import { answerModern, discover, type ModernParts } from './modern.ts';
import { acceptedForms, Reply } from './reply.ts';
import { toRpcFailure, type RpcFailure } from './rpc-error.ts';
import {
  answerInSession,
  endSession,
  initialize,
  type SessionExchange,
  type SessionParts,
} from './session-era.ts';
import type { Seats } from './seats.ts';
import { listen } from './session-stream.ts';

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
  sessions: SessionParts;
  seats: Seats;
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
      common: { 'x-request-id': requestId, 'cache-control': 'no-store', ...cors },
      accepted: acceptedForms(request.headers.accept),
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
    case 'session': {
      const serve = transport.method === 'GET' ? listen : endSession;
      return asKnown(parts, exchange, async (known) => serve(parts.sessions, known));
    }
    case 'pass':
  }
  const incoming = await receive(parts, request);
  if (request.headers['mcp-session-id'] !== undefined)
    return asKnown(parts, exchange, (known) => answerInSession(parts.sessions, known, incoming));
  switch (incoming.kind) {
    case 'invalid':
      return reply.failure(incoming.failure);
    case 'batch':
    case 'response':
      return reply.failure(notOneRequest());
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
  return readIncoming(decodeText(await readBody(request, limit, share)));
}

async function answerRequest(
  parts: EndpointParts,
  exchange: Exchange,
  message: RpcRequest,
): Promise<void> {
  const { request, reply } = exchange;
  switch (eraOf(message, request.headers)) {
    case 'session':
      return asKnown(parts, exchange, async (known) => initialize(parts.sessions, known, message));
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
  return asKnown(parts, exchange, (known) => {
    const signal = goneSignal(exchange.response);
    const { headers } = request;
    return answerModern(parts.modern, { ...known, request: message, headers, signal });
  });
}

/**
 * Lets a request of a known caller be served.
 * @param serve returns why the caller's grant stopped counting meanwhile.
 */
async function asKnown(
  parts: EndpointParts,
  exchange: Exchange,
  serve: (known: SessionExchange) => Promise<Denial | undefined | void>,
): Promise<void> {
  const { request, caller, reply, requestId } = exchange;
  const authentication = await parts.authenticator.authenticate(
    authorizationOf(request),
    caller.address,
  );
  if (!authentication.ok) return deny(parts, exchange, authentication);
  const { principal, recheck, reread } = authentication;
  const admission = await parts.seats.admit(principal, caller.address);
  if (!admission.ok || principal.session?.id !== admission.session || !principal.session.isOpen) {
    // A session had to be opened, which may have taken its time.
    const denial = await recheck();
    if (denial !== undefined)
      return deny(parts, exchange, { reason: denial, credentialSent: true });
  }
  if (!admission.ok) return reply.failure(admission.failure);
  const { storage, charge } = admission;
  const known = { request, principal, reply, requestId, recheck, reread, storage, charge };
  const reason = await serve(known);
  if (reason !== undefined) deny(parts, exchange, { reason, credentialSent: true });
}

function deny(
  parts: EndpointParts,
  { caller, reply, requestId }: Exchange,
  { reason, credentialSent }: { reason: Denial; credentialSent: boolean },
): void {
  parts.emit({ type: 'request.denied', reason, address: caller.address, requestId });
  if (reason === 'mcp_disabled') return reply.empty(404);
  reply.failure(unauthorized(parts.modern.metadataUrl, credentialSent));
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
