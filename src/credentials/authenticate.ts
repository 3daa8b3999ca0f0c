import type { Access } from '#src/access/access.ts';
import { decideAccess, type AccessDenial, type AccessRecord } from '#src/grants/grant.ts';
import type { Store } from '#src/storage/open.ts';
import { LAST_USE_INTERVAL_MS, recordGrantUse } from '#src/storage/grants.ts';
import { LRUCache } from 'lru-cache';
import type {
  AccessTokenClaims,
  AccessTokenVerifier,
  TokenProblem,
  VerifiedToken,
} from './access-token.ts';
import { principalsFor, type Principal } from './principal.ts';

/*
 * Header -> Principal. The signature names a grant; the store is asked about it at every request.
 * Outside all denials look alike; the reason is for the log.
 */

export type Denial =
  | 'no_credential'
  | 'malformed_header'
  | TokenProblem
  | AccessDenial
  /** The endpoint was switched off; a new request finds nothing. */
  | 'mcp_disabled'
  | 'no_privileges';

export type Authentication =
  | {
      ok: true;
      principal: Principal;
      /**
       * Why the grant no longer counts, or undefined while it does: for work that goes on after the
       * request was let in. Reads the store as the check of a new request does.
       * @throws `store_unavailable` when the store does not answer.
       */
      recheck: () => Promise<Denial | undefined>;
      /** The same, for what the grant amounts to by now; undefined when it no longer counts. */
      reread: () => Promise<Principal | undefined>;
    }
  | { ok: false; reason: Denial; credentialSent: boolean };

export interface Authenticator {
  /**
   * Whether the header holds a token that we signed and that has not expired. Cheap: the store, which
   * says whether it counts, is not asked. Decides only how much a request may send before it is.
   */
  looksGenuine(authorization: string | undefined): Promise<boolean>;
  /**
   * @throws `store_unavailable` when the store does not answer: the request then fails closed.
   */
  authenticate(authorization: string | undefined, address: string): Promise<Authentication>;
}

export interface TokenInspector {
  /**
   * The same decision about a bare token, for somebody who only asks: it is not noted as a use.
   * @throws `store_unavailable` as above.
   */
  inspect(token: string): Promise<Inspection>;
}

export type Inspection =
  | { ok: true; principal: Principal; claims: AccessTokenClaims }
  | { ok: false; reason: Denial };

export interface AuthenticatorParts {
  store: Store;
  verifier: AccessTokenVerifier;
  access: () => Access;
}

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
/** A credential of our scheme, be it well formed or not. Another scheme is like none (RFC 6750, 3.1). */
const SOME_BEARER = /^Bearer +[^ ]/i;
const REMEMBERED_USES = 10_000;

export function createAuthenticator(parts: AuthenticatorParts): Authenticator & TokenInspector {
  const { store, verifier } = parts;
  const toPrincipal = principalFactory(parts.access);
  const noteUse = useNotes(store);
  const read = async ({ claims, kid }: VerifiedToken): Promise<Reading> => {
    const record = await store.readAccess(claims.gid, kid);
    const denial = decideAccess(claims, record, store.clock.now());
    if (denial !== undefined || record === undefined) return { denial: denial ?? 'grant_unknown' };
    const principal = toPrincipal(record);
    // Nothing of what was consented to is left: a new login can ask for what there is now.
    const isEmpty = principal.granted.length > 0 && principal.effective.size === 0;
    return isEmpty ? { denial: 'no_privileges' } : { denial: undefined, record, principal };
  };
  return {
    async looksGenuine(authorization) {
      const token = BEARER.exec(authorization ?? '')?.[1];
      return token !== undefined && typeof (await verifier.verify(token)) !== 'string';
    },
    async authenticate(authorization, address) {
      if (authorization === undefined) return deny('no_credential', false);
      const token = BEARER.exec(authorization)?.[1];
      if (token === undefined) return deny('malformed_header', SOME_BEARER.test(authorization));
      const verified = await verifier.verify(token);
      if (typeof verified === 'string') return deny(verified, true);
      const reading = await read(verified);
      if (reading.denial !== undefined) return deny(reading.denial, true);
      if (!reading.record.isServing) return deny('mcp_disabled', true);
      noteUse(reading.record, address);
      const recheck = async (): Promise<Denial | undefined> => (await read(verified)).denial;
      const reread = async (): Promise<Principal | undefined> => {
        const now = await read(verified);
        return now.denial === undefined ? now.principal : undefined;
      };
      return { ok: true, principal: reading.principal, recheck, reread };
    },
    async inspect(token) {
      const verified = await verifier.verify(token);
      if (typeof verified === 'string') return { ok: false, reason: verified };
      const reading = await read(verified);
      if (reading.denial !== undefined) return { ok: false, reason: reading.denial };
      return { ok: true, principal: reading.principal, claims: verified.claims };
    },
  };
}

/** What the store says of a verified token's grant. */
type Reading =
  | { denial: AccessDenial | 'no_privileges' }
  | { denial: undefined; record: AccessRecord; principal: Principal };

function deny(reason: Denial, credentialSent: boolean): Authentication {
  return { ok: false, reason, credentialSent };
}

/** Rights compiled per roles.json, so that a reloaded file counts at the next request. */
function principalFactory(access: () => Access): (record: AccessRecord) => Principal {
  let compiled = access();
  let factory = principalsFor(compiled);
  return (record) => {
    if (access() !== compiled) {
      compiled = access();
      factory = principalsFor(compiled);
    }
    return factory(record);
  };
}

/** Writes last use behind the request, at most every 30 seconds per grant. */
function useNotes(store: Store): (record: AccessRecord, address: string) => void {
  const written = new LRUCache<string, number>({ max: REMEMBERED_USES });
  return (record, address) => {
    const at = store.clock.now();
    const last = Math.max(record.lastUsedAt ?? 0, written.get(record.grantId) ?? 0);
    if (at - last < LAST_USE_INTERVAL_MS) return;
    written.set(record.grantId, at);
    recordGrantUse(store.notes, { grantId: record.grantId, at, address }).catch(() => {
      // Last use is a note: the next request tries again.
      written.delete(record.grantId);
    });
  };
}
