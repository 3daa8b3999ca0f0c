import type { Access } from '#src/access/access.ts';
import { decideAccess, type AccessDenial, type AccessRecord } from '#src/grants/grant.ts';
import type { Store } from '#src/storage/open.ts';
import { LAST_USE_INTERVAL_MS, recordGrantUse } from '#src/storage/grants.ts';
import { LRUCache } from 'lru-cache';
import type { AccessTokenVerifier, TokenProblem } from './access-token.ts';
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
  | 'no_privileges';

export type Authentication =
  | { ok: true; principal: Principal }
  | { ok: false; reason: Denial; credentialSent: boolean };

export interface Authenticator {
  /**
   * @throws `store_unavailable` when the store does not answer: the request then fails closed.
   */
  authenticate(authorization: string | undefined, address: string): Promise<Authentication>;
}

export interface AuthenticatorParts {
  store: Store;
  verifier: AccessTokenVerifier;
  access: () => Access;
}

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;
/** A credential of our scheme, be it well formed or not. Another scheme is like none (RFC 6750, 3.1). */
const SOME_BEARER = /^Bearer +[^ ]/i;
const REMEMBERED_USES = 10_000;

export function createAuthenticator(parts: AuthenticatorParts): Authenticator {
  const { store, verifier } = parts;
  const toPrincipal = principalFactory(parts.access);
  const noteUse = useNotes(store);
  return {
    async authenticate(authorization, address) {
      if (authorization === undefined) return deny('no_credential', false);
      const token = BEARER.exec(authorization)?.[1];
      if (token === undefined) return deny('malformed_header', SOME_BEARER.test(authorization));
      const verified = await verifier.verify(token);
      if (typeof verified === 'string') return deny(verified, true);
      const record = await store.readAccess(verified.claims.gid, verified.kid);
      const denial = decideAccess(verified.claims, record, store.clock.now());
      if (denial !== undefined || record === undefined)
        return deny(denial ?? 'grant_unknown', true);
      const principal = toPrincipal(record);
      // Nothing of what was consented to is left: a new login can ask for what there is now.
      if (principal.granted.length > 0 && principal.effective.size === 0)
        return deny('no_privileges', true);
      noteUse(record, address);
      return { ok: true, principal };
    },
  };
}

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
