import type { IncomingMessage } from 'node:http';
import type { Denial } from '#src/credentials/authenticate.ts';
import { digest, newSecret } from '#src/ids.ts';
import { needsTouch, sessionStands, type ProtocolSession } from '#src/sessions/protocol-session.ts';
import type { Store } from '#src/storage/open.ts';
import {
  deleteProtocolSession,
  findProtocolSession,
  insertProtocolSession,
  touchProtocolSession,
} from '#src/storage/protocol-sessions.ts';
import {
  isObject,
  isRequestId,
  type Incoming,
  type Message,
  type RequestIdValue,
  type RpcRequest,
} from './message.ts';
import { showsForms } from './elicitation.ts';
import { CAPABILITIES } from './methods.ts';
import { RPC, type RpcFailure } from './rpc-error.ts';
import { questionRef } from './session-ask.ts';
import {
  answerMethod,
  cancelRef,
  type Answered,
  type SessionCall,
  type SessionMethodParts,
} from './session-methods.ts';
import { hasBatches, isSessionVersion, negotiate } from './session-versions.ts';

/*
 * The session era, MCP 2024-11-05 to 2025-11-25: `initialize` opens a session, which is a row in the
 * store, so that any process serves any of its requests. Owns sessions and the messages in them; that
 * the caller is known was checked before.
 */

export interface SessionParts {
  store: Store;
  /** A session that nobody uses this long is over. */
  idleMs: number;
  methods: SessionMethodParts;
}

/** One request of a caller who is known. */
export interface SessionExchange extends Omit<SessionCall, 'session'> {
  request: IncomingMessage;
}

/** Opens a session and agrees on a version; one that is not known here is no reason to refuse. */
export async function initialize(
  parts: SessionParts,
  exchange: SessionExchange,
  { params }: RpcRequest,
): Promise<void> {
  const { store, idleMs, methods } = parts;
  const { identity } = methods;
  const { principal, reply } = exchange;
  const id = newSecret(store.random);
  const version = negotiate(params['protocolVersion']);
  const now = store.clock.now();
  await insertProtocolSession(store.db, {
    digest: digest(id),
    userId: principal.user.id,
    clientId: principal.client.id,
    grantId: principal.grantId,
    version,
    capabilities: usedCapabilities(params['capabilities']),
    now,
    expiresAt: now + idleMs,
  });
  reply.header('mcp-session-id', id);
  reply.result({
    protocolVersion: version,
    capabilities: CAPABILITIES,
    serverInfo: { name: identity.name, version: identity.version },
    ...(identity.instructions === '' ? {} : { instructions: identity.instructions }),
  });
}

/** Of what a client says that it can do, what is asked about here: a client may say anything. */
function usedCapabilities(said: unknown): Record<string, unknown> {
  return isObject(said) && showsForms(said['elicitation']) ? { elicitation: {} } : {};
}

/** Answers a POST under a session. @returns why the caller's grant stopped counting meanwhile. */
export async function answerInSession(
  parts: SessionParts,
  exchange: SessionExchange,
  incoming: Incoming,
): Promise<Denial | undefined> {
  const { reply } = exchange;
  if (incoming.kind === 'request') reply.answers(incoming.request.id);
  const session = await openSession(parts, exchange);
  if (session === undefined) {
    reply.failure(noSession());
    return undefined;
  }
  const problem = versionProblem(exchange.request);
  if (problem !== undefined) {
    reply.failure(problem);
    return undefined;
  }
  const call: SessionCall = { ...exchange, session };
  if (incoming.kind === 'request') return answerOne(parts, call, incoming.request);
  if (incoming.kind === 'batch') return answerBatch(parts, call, incoming.messages);
  if (incoming.kind === 'invalid') reply.failure(incoming.failure);
  else {
    await take(parts, session, incoming);
    reply.empty(202);
  }
  return undefined;
}

/** Ends a session. */
export async function endSession(parts: SessionParts, exchange: SessionExchange): Promise<void> {
  const session = await openSession(parts, exchange);
  if (session === undefined) {
    exchange.reply.failure(noSession());
    return;
  }
  await deleteProtocolSession(parts.store.db, session.digest);
  exchange.reply.empty(204);
}

/** The session that the request names, if it is this caller's, with the use noted. */
export async function openSession(
  { store, idleMs }: SessionParts,
  { request, principal }: SessionExchange,
): Promise<ProtocolSession | undefined> {
  const id = request.headers['mcp-session-id'];
  if (typeof id !== 'string' || id === '') return undefined;
  const session = await findProtocolSession(store.db, digest(id));
  const now = store.clock.now();
  if (!sessionStands(session, principal, now)) return undefined;
  const { grantId } = principal;
  if (needsTouch(session, grantId, { now, idleMs }))
    await touchProtocolSession(store.db, {
      digest: session.digest,
      grantId,
      expiresAt: now + idleMs,
    });
  return session;
}

/** Unknown, over or somebody else's: a client opens a new one when it hears 404. */
export function noSession(): RpcFailure {
  return { status: 404, code: RPC.unauthorized, message: 'Session not found' };
}

/** The header may be left out, as it was before 2025-06-18. */
function versionProblem({ headers }: IncomingMessage): RpcFailure | undefined {
  const version = headers['mcp-protocol-version'];
  if (version === undefined || isSessionVersion(String(version).trim())) return undefined;
  const message = 'Bad Request: unsupported MCP-Protocol-Version for a session';
  return { status: 400, code: RPC.unavailable, message };
}

async function answerOne(
  { methods }: SessionParts,
  call: SessionCall,
  request: RpcRequest,
): Promise<Denial | undefined> {
  const answered = await answerMethod(methods, call, request);
  switch (answered.kind) {
    case 'result':
      call.reply.result(answered.result);
      return undefined;
    case 'failure':
      call.reply.failure(answered.failure);
      return undefined;
    case 'denied':
      return answered.denial;
    case 'cancelled':
      call.reply.drop();
      return undefined;
  }
}

async function answerBatch(
  parts: SessionParts,
  call: SessionCall,
  messages: readonly Message[],
): Promise<Denial | undefined> {
  const { reply, session } = call;
  if (!hasBatches(session.version)) {
    const message = `Invalid Request: ${session.version} has no batches`;
    reply.failure({ status: 400, code: RPC.invalidRequest, message });
    return undefined;
  }
  // The first request was counted when the body came.
  let isCounted = true;
  const answers = await Promise.all(
    messages.map(async (one) => {
      if (one.kind === 'request') {
        const refused = isCounted ? undefined : call.charge();
        isCounted = false;
        const failure = await refused;
        const answered =
          failure === undefined
            ? await answerMethod(parts.methods, call, one.request)
            : { kind: 'failure' as const, failure };
        return { id: one.request.id, answered };
      }
      if (one.kind === 'invalid')
        return { id: undefined, answered: { kind: 'failure' as const, failure: one.failure } };
      await take(parts, session, one);
      return undefined;
    }),
  );
  const given = answers.filter((one) => one !== undefined);
  const denied = given.find((one) => one.answered.kind === 'denied')?.answered;
  if (denied?.kind === 'denied') return denied.denial;
  const bodies = given.flatMap(({ id, answered }) => bodyOf(id, answered));
  if (bodies.length === 0) reply.empty(202);
  else reply.batch(bodies);
  return undefined;
}

function bodyOf(id: RequestIdValue | undefined, answered: Answered): Record<string, unknown>[] {
  if (answered.kind === 'result') return [{ jsonrpc: '2.0', id, result: answered.result }];
  if (answered.kind !== 'failure') return [];
  const { code, message, data } = answered.failure;
  return [
    { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } },
  ];
}

/** Takes what needs no answer to whoever waits for it. */
async function take(
  { methods }: SessionParts,
  { digest: session }: ProtocolSession,
  message: Extract<Message, { kind: 'notification' | 'response' }>,
): Promise<void> {
  const { mailbox } = methods.ask;
  if (message.kind === 'response') {
    if (typeof message.id !== 'string') return;
    const payload = JSON.stringify(message.result ?? { action: 'cancel' });
    await mailbox.answer({ session, ref: questionRef(message.id) }, payload);
    return;
  }
  const { method, params } = message;
  if (method !== 'notifications/cancelled') return;
  const id = params['requestId'];
  if (isRequestId(id)) await mailbox.leave({ session, ref: cancelRef(id) });
}
