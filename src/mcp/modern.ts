import type { IncomingHttpHeaders } from 'node:http';
import type { Denial } from '#src/credentials/authenticate.ts';
import type { Principal } from '#src/credentials/principal.ts';
import { isMcpOn } from '#src/storage/settings.ts';
import { invoke, type Outcome } from '#src/tools/invoke.ts';
import { publishBinary } from './binaries.ts';
import { catalogPage } from './catalog.ts';
import { insufficientScope } from './challenge.ts';
import { showsForms } from './elicitation.ts';
import { headerMismatch, isBare, META, MODERN_VERSION } from './envelope.ts';
import { holdOpen } from './held-stream.ts';
import { watchGrant, type WatchedGrant } from './grant-watch.ts';
import { isObject, type RpcRequest } from './message.ts';
import {
  CAPABILITIES,
  callerKey,
  invalidParams,
  progressReporter,
  tooMany,
  unknownTool,
  type MethodParts,
} from './methods.ts';
import {
  isFailure,
  ModernAsker,
  readResumption,
  type ModernAskParts,
  type OpenQuestion,
} from './modern-ask.ts';
import { paramHeaderThatDiffers } from './param-headers.ts';
import type { Reply } from './reply.ts';
import type { SessionStorage } from './session-storage.ts';

/*
 * The methods of the modern era. Each request stands alone: no session, no state from one to the
 * next. The envelope and the credential were checked before anything here runs.
 */

export interface ModernParts extends MethodParts {
  ask: ModernAskParts;
  /** Tools change under the hands of a developer: lists are not to be kept. */
  isDeveloping: boolean;
}

const DISCOVER_TTL_MS = 3_600_000;
const LIST_TTL_MS = 300_000;

export interface ModernCall {
  request: RpcRequest;
  headers: IncomingHttpHeaders;
  principal: Principal;
  reply: Reply;
  requestId: string;
  storage: SessionStorage;
  /** Aborted when the caller has gone. */
  signal: AbortSignal;
  recheck: WatchedGrant['recheck'];
}

/** Answers `server/discover`, the one method that needs no credential. */
export function discover({ identity }: ModernParts): Record<string, unknown> {
  return envelope(identity, {
    supportedVersions: [MODERN_VERSION],
    capabilities: CAPABILITIES,
    ...(identity.instructions === '' ? {} : { instructions: identity.instructions }),
    ttlMs: DISCOVER_TTL_MS,
    cacheScope: 'public',
  });
}

/**
 * Answers a request of an authenticated caller.
 * @returns why the caller's grant has stopped counting meanwhile; then nothing was answered.
 */
export async function answerModern(
  parts: ModernParts,
  call: ModernCall,
): Promise<Denial | undefined> {
  switch (call.request.method) {
    case 'tools/list':
      listTools(parts, call);
      return undefined;
    case 'tools/call':
      return callTool(parts, call);
    case 'subscriptions/listen':
      await subscribe(parts, call);
      return undefined;
    default:
      // `ping`, which only the configuration can let through.
      call.reply.result(envelope(parts.identity, {}));
      return undefined;
  }
}

function listTools(parts: ModernParts, { request, principal, reply }: ModernCall): void {
  const { cursor } = request.params;
  const page =
    cursor === undefined || typeof cursor === 'string'
      ? catalogPage({ tools: parts.invoke.tools(), access: parts.access(), principal }, cursor)
      : undefined;
  if (page === undefined) {
    reply.failure(invalidParams('unknown cursor'));
    return;
  }
  const ttlMs = parts.isDeveloping ? 0 : LIST_TTL_MS;
  reply.result(envelope(parts.identity, { ...page, ttlMs, cacheScope: 'private' }));
}

async function callTool(parts: ModernParts, call: ModernCall): Promise<Denial | undefined> {
  const { request, principal, reply, requestId, recheck, signal: gone } = call;
  const { name, arguments: args } = request.params;
  if (typeof name !== 'string') {
    reply.failure(invalidParams('name is the name of a tool'));
    return undefined;
  }
  const resumption = readResumption(parts.ask.codec, request);
  if (isFailure(resumption)) {
    reply.failure(resumption);
    return undefined;
  }
  using watch = watchGrant({ recheck, clock: parts.invoke.clock, gone });
  const { grantId } = principal;
  const asked = { grantId, tool: name, sent: args, canAsk: canAsk(request), resumption };
  const sent = { headers: call.headers, mayBeMissing: isBare(request) };
  let asker: ModernAsker | undefined;
  const outcome = await invoke(parts.invoke, {
    name,
    arguments: args,
    principal,
    requestId,
    session: { storage: call.storage },
    publish: (binary) => publishBinary(parts.binaries, principal.grantId, binary),
    signal: watch.signal,
    progress: progressReporter(request, reply),
    differing: (fields) => paramHeaderThatDiffers(fields, args, sent),
    asker: (read) => (asker = new ModernAsker(parts.ask, asked, read)),
  });
  // Nobody reads the answer.
  if (gone.aborted) return undefined;
  const denial = await watch.verdict();
  if (denial !== undefined) return denial;
  answerOutcome(parts, call, { name, outcome, open: asker?.openQuestion });
  return undefined;
}

/**
 * Tells the caller when the tools change, until they leave or may not hear it any more. What else a
 * subscription may ask for there is not here, and is not acknowledged.
 */
async function subscribe(parts: ModernParts, call: ModernCall): Promise<void> {
  const { request, reply, recheck } = call;
  const { notifications } = request.params;
  if (!isObject(notifications)) {
    reply.failure(invalidParams('notifications says what to hear of'));
    return;
  }
  using running = parts.streams.enter(callerKey(call.principal));
  if (running === undefined) {
    reply.failure(tooMany('streams'));
    return;
  }
  const ofThis = { [META.subscriptionId]: request.id };
  if (notifications['toolsListChanged'] === true && reply.mayStream) {
    const acknowledged = { notifications: { toolsListChanged: true }, _meta: ofThis };
    await reply.notify('notifications/subscriptions/acknowledged', acknowledged);
    const stands = (): Promise<boolean> => isMcpOn(parts.binaries.store.db);
    await holdOpen({ parts, reply, recheck, stands, changed: { _meta: ofThis } });
  } else if (reply.mayStream) {
    const acknowledged = { notifications: {}, _meta: ofThis };
    await reply.notify('notifications/subscriptions/acknowledged', acknowledged);
  }
  const ended = envelope(parts.identity, {});
  reply.result({ ...ended, _meta: { ...(ended['_meta'] as object), ...ofThis } });
}

function answerOutcome(
  parts: ModernParts,
  call: ModernCall,
  { name, outcome, open }: { name: string; outcome: Outcome; open: OpenQuestion | undefined },
): void {
  switch (outcome.kind) {
    case 'unknown':
      call.reply.failure(unknownTool(name));
      return;
    case 'insufficient':
      call.reply.failure(insufficientScope(parts.metadataUrl, call.principal, outcome.missing));
      return;
    case 'mismatch':
      call.reply.failure(headerMismatch(outcome.header));
      return;
    case 'result':
      call.reply.result(envelope(parts.identity, { ...outcome.result }));
      return;
    case 'asks':
      call.reply.result(envelope(parts.identity, { ...open }, 'input_required'));
      return;
    case 'cancelled':
      // The connection is closed; there is nobody to answer.
      return;
  }
}

/** Whether the client said that it can show a form. */
function canAsk(request: RpcRequest): boolean {
  const meta = request.params['_meta'];
  const capabilities = isObject(meta) ? meta[META.clientCapabilities] : undefined;
  return isObject(capabilities) && showsForms(capabilities['elicitation']);
}

/** What every result of the era carries. */
function envelope(
  identity: MethodParts['identity'],
  result: Record<string, unknown>,
  resultType: 'complete' | 'input_required' = 'complete',
): Record<string, unknown> {
  const serverInfo = { name: identity.name, version: identity.version };
  return { ...result, resultType, _meta: { [META.serverInfo]: serverInfo } };
}
