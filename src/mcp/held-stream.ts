import { SECOND } from '#src/clock.ts';
import type { WatchedGrant } from './grant-watch.ts';
import type { MethodParts } from './methods.ts';
import type { Reply } from './reply.ts';

/*
 * A stream that stays open to tell its caller when the tools have changed. It looks twice a second:
 * at the tools and roles of this process, at the caller's grant, and at whether the server is ending.
 */

export interface HeldStream {
  parts: Pick<MethodParts, 'access' | 'invoke' | 'closing'>;
  reply: Reply;
  recheck: WatchedGrant['recheck'];
  /** Whether it may go on, beside the grant. */
  stands: () => Promise<boolean>;
  /** What its notifications say; undefined when it has none. */
  changed: Record<string, unknown> | undefined;
}

const LOOK_EVERY_MS = SECOND / 2;

/** Resolves when the stream may not go on, or its caller has left. Whoever opened it ends it. */
export async function holdOpen(stream: HeldStream): Promise<void> {
  const { parts, reply, recheck, stands, changed } = stream;
  const catalog = (): [unknown, unknown] => [parts.invoke.tools(), parts.access()];
  let seen = catalog();
  while (reply.mayStream && !parts.closing.aborted) {
    await reply.closedWithin(LOOK_EVERY_MS);
    if (!reply.mayStream) return;
    if ((await recheck()) !== undefined || !(await stands())) return;
    const now = catalog();
    if (now.every((part, at) => part === seen[at])) continue;
    seen = now;
    if (changed !== undefined) await reply.notify('notifications/tools/list_changed', changed);
  }
}
