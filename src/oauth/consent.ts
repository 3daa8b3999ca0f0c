import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Access, PrivilegeText } from '#src/access/access.ts';
import { SECOND } from '#src/clock.ts';
import type { Config } from '#src/config.ts';
import type { Emit } from '#src/events.ts';
import type { Grant } from '#src/grants/grant.ts';
import type { OfferedPrivilege, OfferedTool } from '#src/http/render.ts';
import { displayName, returnTarget } from '#src/http/client-display.ts';
import { digest, type ClientId, type UserId } from '#src/ids.ts';
import { claimArtifact } from '#src/storage/browser-sessions.ts';
import { insertClient } from '#src/storage/clients.ts';
import { createGrant, findRememberedGrant, lockActiveGrant } from '#src/storage/grants.ts';
import type { Store, Work } from '#src/storage/open.ts';
import { findUser, lockActiveUser } from '#src/storage/users.ts';
import type { Tool } from '#src/tools/define.ts';
import type { ToolSet } from '#src/tools/tool-set.ts';
import type { User } from '#src/users/user.ts';
import { requestedPrivileges } from './authorize-request.ts';
import { lookUpClient, type KnownClient } from './clients.ts';
import type { DocumentReader } from './metadata-document.ts';

/*
 * Consent: what is offered to a person, and the grant that comes of it. One authorization makes one
 * grant, also when the page was not shown because the same was allowed before.
 */

export interface ConsentParts {
  store: Store;
  documents: DocumentReader;
  access: () => Access;
  tools: () => ToolSet;
  config: Config['oauth'];
  emit: Emit;
}

export interface GrantRequest {
  user: User;
  client: KnownClient;
  redirectUri: string;
  privileges: string[];
  offered: string[];
  /** When the person logged in, in milliseconds: the grant's life counts from there. */
  loggedInAt: number;
}

const INTERACTION_MS = 3_600_000;

/** What the consent page offers this person for this request. */
export function offerFor(
  parts: ConsentParts,
  user: User,
  requested: readonly string[],
): PrivilegeText[] {
  return parts.access().offer(user, requested);
}

/** The offer with the tools behind each privilege, as the page shows it. */
export function describeOffer(
  parts: ConsentParts,
  offer: readonly PrivilegeText[],
  isTicked: (name: string) => boolean,
): OfferedPrivilege[] {
  const access = parts.access();
  return offer.map((privilege) => {
    const effective = access.closure([privilege.name]);
    const tools = parts
      .tools()
      .sorted.filter(
        ({ tool }) => access.mayExecute(tool.name, effective) && !isOpen(access, tool),
      );
    return {
      id: privilege.name,
      on: isTicked(privilege.name),
      title: privilege.title,
      text: privilege.description,
      changes: tools.some(({ tool }) => tool.annotations?.readOnlyHint !== true),
      tools: tools.map(({ tool }) => offeredTool(tool)),
    };
  });
}

/** The tools that need no privilege: they cannot be unticked, so the page says them apart. */
export function describeOpenTools(parts: ConsentParts): OfferedTool[] {
  const access = parts.access();
  const open = parts.tools().sorted.filter(({ tool }) => isOpen(access, tool));
  return open.map(({ tool }) => offeredTool(tool));
}

function isOpen(access: Access, tool: Tool): boolean {
  return access.mayExecute(tool.name, new Set());
}

function offeredTool(tool: Tool): OfferedTool {
  return {
    name: tool.name,
    does: tool.annotations?.title ?? firstSentence(tool.description ?? ''),
  };
}

/** When a grant made now would end. */
export function grantEnd(config: Config['oauth'], loggedInAt: number): number {
  return loggedInAt + config.grantTtlSeconds * SECOND;
}

/**
 * Makes the grant that an answered consent page asks for.
 * @param interaction the page's id: its answer counts once.
 * @returns undefined when the page was answered before, or the account was disabled meanwhile.
 */
export async function grantOnce(
  parts: ConsentParts,
  interaction: string,
  request: GrantRequest,
): Promise<Grant | undefined> {
  const grant = await parts.store.transaction(async (work) => {
    const isFirst = await claimArtifact(work.db, {
      kind: 'consent',
      digest: digest(interaction),
      expiresAt: work.now + INTERACTION_MS,
    });
    if (!isFirst || !(await lockActiveUser(work, request.user.id))) return undefined;
    return makeGrant(parts, work, request);
  });
  if (grant !== undefined) {
    parts.emit({
      type: 'consent.given',
      grantId: grant.id,
      clientId: grant.clientId,
      userId: grant.userId,
    });
  }
  return grant;
}

/**
 * A new grant like one that is still active, when the person allowed the same client, at the same
 * https address, the same offer. Anything on this device could catch another kind of redirect, so
 * those are always asked about.
 */
export async function rememberedGrant(
  parts: ConsentParts,
  ctx: KoaContextWithOIDC,
): Promise<string | undefined> {
  const { session, client, params } = ctx.oidc;
  const redirectUri = params?.['redirect_uri'];
  if (!session?.accountId || client === undefined || typeof redirectUri !== 'string')
    return undefined;
  if (returnTarget(redirectUri).kind !== 'web') return undefined;
  const userId = session.accountId as UserId;
  const earlier = await findRememberedGrant(parts.store.db, {
    userId,
    clientId: client.clientId as ClientId,
    redirectUri,
    now: parts.store.clock.now(),
  });
  const user = await findUser(parts.store.db, userId);
  if (earlier === undefined || user === undefined) return undefined;
  const offered = offerFor(parts, user, requestedPrivileges(params ?? {})).map((one) => one.name);
  if (!sameNames(offered, earlier.offered)) return undefined;
  const known = await lookUpClient(parts, client.clientId);
  if (known === undefined) return undefined;
  const loggedInAt = (session.loginTs ?? 0) * SECOND;
  const request = {
    user,
    client: known,
    redirectUri,
    privileges: earlier.privileges,
    offered,
    loggedInAt,
  };
  return parts.store.transaction(async (work) => {
    // Both may have changed since they were read: what was revoked meanwhile is no consent.
    const stands =
      (await lockActiveUser(work, userId)) && (await lockActiveGrant(work, earlier.id));
    return stands ? (await makeGrant(parts, work, request)).id : undefined;
  });
}

async function makeGrant(parts: ConsentParts, work: Work, request: GrantRequest): Promise<Grant> {
  const { user, client, redirectUri } = request;
  const name = displayName(client.name, URL.parse(client.id)?.host ?? client.id);
  if (client.kind === 'document') {
    // The grant refers to it; the document itself stays in its cache.
    await insertClient(work, {
      id: client.id,
      kind: 'document',
      name,
      metadata: {},
      secretDigest: null,
    });
  }
  return createGrant(work, {
    userId: user.id,
    userName: user.name,
    clientId: client.id,
    clientName: name,
    redirectUri,
    redirectHost: returnTarget(redirectUri).place,
    privileges: request.privileges,
    offered: request.offered,
    expiresAt: grantEnd(parts.config, request.loggedInAt),
  });
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && new Set(a).symmetricDifference(new Set(b)).size === 0;
}

function firstSentence(text: string): string {
  const [sentence = ''] = text.split(/(?<=[.!?])\s/);
  return sentence.length > 140 ? `${sentence.slice(0, 139)}…` : sentence;
}
