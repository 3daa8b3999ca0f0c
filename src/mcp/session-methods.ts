import type { Denial } from '#src/credentials/authenticate.ts';
import type { Principal } from '#src/credentials/principal.ts';
import type { AtOnce } from '#src/limits/at-once.ts';
import type { ProtocolSession } from '#src/sessions/protocol-session.ts';
import { invoke, type Outcome } from '#src/tools/invoke.ts';
import { publishBinary } from './binaries.ts';
import { catalogPage } from './catalog.ts';
import { insufficientScope } from './challenge.ts';
import { watchGrant, type WatchedGrant } from './grant-watch.ts';
import type { RequestIdValue, RpcRequest } from './message.ts';
import {
  callerKey,
  invalidParams,
  progressReporter,
  tooMany,
  unknownTool,
  type MethodParts,
} from './methods.ts';
import type { Reply } from './reply.ts';
import { RPC, type RpcFailure } from './rpc-error.ts';
import { SessionAsker, type SessionAskParts } from './session-ask.ts';
import type { SessionStorage } from './session-storage.ts';

/*
 * The methods of the session era. The session stands and the caller is known before anything here
 * runs. A call goes on when its connection closes; `notifications/cancelled` ends it.
 */

export interface SessionMethodParts extends MethodParts {
  ask: SessionAskParts;
  /** Calls that run, of one person in one client: they go on when their connections close. */
  calls: AtOnce;
}

export interface SessionCall {
  session: ProtocolSession;
  principal: Principal;
  reply: Reply;
  requestId: string;
  storage: SessionStorage;
  /** Counts one more request of a batch; why it may not be served, if so. */
  charge: () => Promise<RpcFailure | undefined>;
  recheck: WatchedGrant['recheck'];
  /** What the grant amounts to by now; undefined when it no longer counts. */
  reread: () => Promise<Principal | undefined>;
}

export type Answered =
  | { kind: 'result'; result: Record<string, unknown> }
  | { kind: 'failure'; failure: RpcFailure }
  /** The grant has stopped counting meanwhile. */
  | { kind: 'denied'; denial: Denial }
  /** The client wants no answer any more. */
  | { kind: 'cancelled' };

/** Under which name a session's mail says that a call was cancelled. */
export function cancelRef(id: RequestIdValue): string {
  return `cancel ${JSON.stringify(id)}`;
}

export async function answerMethod(
  parts: SessionMethodParts,
  call: SessionCall,
  request: RpcRequest,
): Promise<Answered> {
  switch (request.method) {
    case 'ping':
      return result({});
    case 'tools/list':
      return listTools(parts, call, request);
    case 'tools/call':
      return callTool(parts, call, request);
    // Some clients ask although nothing was announced, and fail without an answer.
    case 'resources/list':
      return result({ resources: [] });
    case 'resources/templates/list':
      return result({ resourceTemplates: [] });
    case 'prompts/list':
      return result({ prompts: [] });
    case 'initialize':
      return failure(RPC.invalidRequest, 'Invalid Request: this session is open already');
    default:
      return failure(RPC.methodNotFound, `Method not found: ${request.method}`);
  }
}

function listTools(
  parts: SessionMethodParts,
  { principal }: SessionCall,
  { params: { cursor } }: RpcRequest,
): Answered {
  const page =
    cursor === undefined || typeof cursor === 'string'
      ? catalogPage({ tools: parts.invoke.tools(), access: parts.access(), principal }, cursor)
      : undefined;
  return page === undefined
    ? { kind: 'failure', failure: invalidParams('unknown cursor') }
    : result({ ...page });
}

async function callTool(
  parts: SessionMethodParts,
  call: SessionCall,
  request: RpcRequest,
): Promise<Answered> {
  const { session, principal, reply, requestId, recheck, reread, storage } = call;
  const { name, arguments: args } = request.params;
  if (typeof name !== 'string')
    return { kind: 'failure', failure: invalidParams('name is the name of a tool') };
  using running = parts.calls.enter(callerKey(principal));
  if (running === undefined) return { kind: 'failure', failure: tooMany('calls') };
  const control = new AbortController();
  using cancelled = parts.ask.mailbox.wait({ session: session.digest, ref: cancelRef(request.id) });
  void cancelled.arrived.then(() => control.abort(new Error('the client cancelled the call')));
  const gone = control.signal;
  using watch = watchGrant({ recheck, clock: parts.invoke.clock, gone });
  const { signal } = watch;
  const mayGoOn = async (): Promise<boolean> => {
    const now = await reread();
    return now !== undefined && parts.access().mayExecute(name, now.effective);
  };
  const outcome = await invoke(parts.invoke, {
    name,
    arguments: args,
    principal,
    requestId,
    session: { storage },
    publish: (binary) => publishBinary(parts.binaries, principal.grantId, binary),
    signal,
    progress: progressReporter(request, reply),
    asker: (_args, isOver) => new SessionAsker(parts.ask, { session, reply, isOver, mayGoOn }),
  });
  if (gone.aborted) return { kind: 'cancelled' };
  const denial = await watch.verdict();
  return denial === undefined
    ? fromOutcome(parts, principal, { name, outcome })
    : { kind: 'denied', denial };
}

function fromOutcome(
  parts: SessionMethodParts,
  principal: Principal,
  { name, outcome }: { name: string; outcome: Outcome },
): Answered {
  switch (outcome.kind) {
    case 'unknown':
      return { kind: 'failure', failure: unknownTool(name) };
    case 'insufficient': {
      const wider = insufficientScope(parts.metadataUrl, principal, outcome.missing);
      return { kind: 'failure', failure: wider };
    }
    case 'result':
      return result({ ...outcome.result });
    case 'asks':
    case 'mismatch':
    case 'cancelled':
      // In this era a question is answered within the call, and no header repeats an argument.
      return { kind: 'cancelled' };
  }
}

function result(value: Record<string, unknown>): Answered {
  return { kind: 'result', result: value };
}

/** An error of the method, not of the transport: the status is 200. */
function failure(code: number, message: string): Answered {
  return { kind: 'failure', failure: { status: 200, code, message } };
}
