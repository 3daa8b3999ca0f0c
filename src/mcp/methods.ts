import type { Access } from '#src/access/access.ts';
import type { Principal } from '#src/credentials/principal.ts';
import type { ToolContext } from '#src/tools/define.ts';
import type { AtOnce } from '#src/limits/at-once.ts';
import type { InvokeParts } from '#src/tools/invoke.ts';
import type { BinaryParts } from './binaries.ts';
import { isObject, type RpcRequest } from './message.ts';
import type { Reply } from './reply.ts';
import { RPC, type RpcFailure } from './rpc-error.ts';

/** What the methods of both eras have in common. */

interface ServerIdentity {
  name: string;
  version: string;
  instructions: string;
}

/** What methods of either era need. */
export interface MethodParts {
  identity: ServerIdentity;
  /** undefined while OAuth is off. */
  metadataUrl: string | undefined;
  access: () => Access;
  invoke: InvokeParts;
  binaries: BinaryParts;
  /** Streams that stay open, of one person in one client. */
  streams: AtOnce;
  /** Aborted when the server is ending: streams that stay open end then. */
  closing: AbortSignal;
}

/** Whose streams and calls are counted together. */
export function callerKey({ user, client }: Principal): string {
  return `${user.id} ${client.id}`;
}

/** Too much at once of what one caller may have; it can be tried again. */
export function tooMany(what: string): RpcFailure {
  const headers = { 'retry-after': '5' };
  return { status: 429, code: RPC.unavailable, message: `Too many ${what} at once`, headers };
}

/** What both eras say that they can do: tools, and telling when those change. */
export const CAPABILITIES = { tools: { listChanged: true } } as const;

/** What a method refuses is an answer of its own: only the envelope's problems have an HTTP status. */
export function invalidParams(why: string): RpcFailure {
  return { status: 200, code: RPC.invalidParams, message: `Invalid params: ${why}` };
}

const LONGEST_NAME = 128;

/** A tool that is not there, or not for this person. */
export function unknownTool(name: string): RpcFailure {
  const message = `Unknown tool: ${name.slice(0, LONGEST_NAME)}`;
  return { status: 200, code: RPC.invalidParams, message };
}

/** Sends progress when the caller gave a token for it, and only numbers that grow. */
export function progressReporter(request: RpcRequest, reply: Reply): ToolContext['progress'] {
  const meta = request.params['_meta'];
  const token = isObject(meta) ? meta['progressToken'] : undefined;
  let last = Number.NEGATIVE_INFINITY;
  return async (done, total, message) => {
    if (!Number.isFinite(done) || done <= last) return;
    last = done;
    if (typeof token !== 'string' && !Number.isSafeInteger(token)) return;
    // A tool that does not wait for a slow reader must not fill the memory: what comes between is dropped.
    if (reply.isCongested) return reply.drained();
    await reply.notify('notifications/progress', {
      progressToken: token,
      progress: done,
      total: Number.isFinite(total) ? total : undefined,
      message: typeof message === 'string' ? message : undefined,
    });
  };
}
