import { needsTouch } from '#src/sessions/protocol-session.ts';
import { findProtocolSession, touchProtocolSession } from '#src/storage/protocol-sessions.ts';
import { holdOpen } from './held-stream.ts';
import { callerKey, tooMany } from './methods.ts';
import { RPC } from './rpc-error.ts';
import { noSession, openSession, type SessionExchange, type SessionParts } from './session-era.ts';

/*
 * The stream that a client opens with GET to hear what belongs to no request: that the tools have
 * changed. It keeps its session alive and ends with it, and with the caller's grant.
 */

/** Holds the stream open until the client leaves, the session ends, or the grant counts no more. */
export async function listen(parts: SessionParts, exchange: SessionExchange): Promise<void> {
  const { reply, recheck } = exchange;
  const session = await openSession(parts, exchange);
  if (session === undefined) return reply.failure(noSession());
  if (!reply.mayStream) {
    const message = 'Not Acceptable: a stream is text/event-stream';
    return reply.failure({ status: 406, code: RPC.unavailable, message });
  }
  using running = parts.methods.streams.enter(callerKey(exchange.principal));
  if (running === undefined) return reply.failure(tooMany('streams'));
  reply.openOnly();
  const { digest } = session;
  const stands = (): Promise<boolean> => keep(parts, digest);
  await holdOpen({ parts: parts.methods, reply, recheck, stands, changed: {} });
  reply.close();
}

/** Whether the session is still there; a stream that is open counts as a use. */
async function keep({ store, idleMs }: SessionParts, digest: string): Promise<boolean> {
  const session = await findProtocolSession(store.db, digest);
  const now = store.clock.now();
  if (session === undefined || session.expiresAt <= now) return false;
  const { grantId } = session;
  if (needsTouch(session, grantId, { now, idleMs }))
    await touchProtocolSession(store.db, { digest, grantId, expiresAt: now + idleMs });
  return true;
}
