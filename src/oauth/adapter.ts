import type { Adapter, AdapterPayload } from 'oidc-provider';
import { errors } from 'oidc-provider';
import { SECOND, toSeconds } from '#src/clock.ts';
import { BASE_SCOPE } from '#src/access/roles.ts';
import { AppError } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import { grantStatus } from '#src/grants/grant.ts';
import { digest, type UserId } from '#src/ids.ts';
import { loginCounts } from '#src/users/user.ts';
import {
  claimArtifact,
  deleteArtifact,
  deleteBrowserSession,
  findArtifact,
  findBrowserSession,
  findBrowserSessionByUid,
  saveArtifact,
  saveBrowserSession,
} from '#src/storage/browser-sessions.ts';
import { findGrant } from '#src/storage/grants.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import type { Store } from '#src/storage/open.ts';
import { findUser } from '#src/storage/users.ts';
import { consumeToken, findToken, insertToken } from '#src/storage/tokens.ts';
import { lookUpClient, toProviderClient, type ClientLookup } from './clients.ts';
import { carryingErrors } from './provider-errors.ts';

/*
 * oidc-provider's storage. Its models are rows of ours: whatever a bearer could use is kept as a
 * digest, and what changes access goes through the same functions as the commands.
 */

export interface AdapterParts extends ClientLookup {
  resource: string;
  emit: Emit;
  /** Who is calling, when the provider is serving a request. */
  currentCaller(): { address: string | undefined; showsAssertion: boolean };
}

/** The adapter for one of the provider's models. */
export function createAdapter(model: string, parts: AdapterParts): Adapter {
  switch (model) {
    case 'Client':
      return adapter({ find: (id) => findProviderClient(parts, id) });
    case 'Grant':
      return grantAdapter(parts);
    case 'AuthorizationCode':
      return codeAdapter(parts);
    case 'RefreshToken':
      return tokenAdapter(parts, 'refresh');
    case 'AccessToken':
      return tokenAdapter(parts, 'access');
    case 'Session':
      return sessionAdapter(parts.store);
    case 'Interaction':
      return interactionAdapter(parts.store);
    case 'ReplayDetection':
      return replayAdapter(parts.store);
    default:
      return adapter({});
  }
}

/** What is not given must never be called; a model of which nothing is given is not in use. */
function adapter(methods: Partial<Adapter>): Adapter {
  const unused = (name: string) => async (): Promise<never> => {
    throw new AppError('internal', `oidc-provider called ${name} on a model that is not in use`);
  };
  const all: Adapter = {
    upsert: unused('upsert'),
    find: unused('find'),
    findByUserCode: unused('findByUserCode'),
    findByUid: unused('findByUid'),
    consume: unused('consume'),
    destroy: unused('destroy'),
    // Revoking a grant deletes all its tokens at once, so there is nothing left to do by model.
    revokeByGrantId: async () => {},
    ...methods,
  };
  return {
    upsert: (...args) => carryingErrors(() => all.upsert(...args) as Promise<void>),
    find: (id) => carryingErrors(() => all.find(id) as Promise<AdapterPayload | undefined>),
    findByUserCode: (code) => all.findByUserCode(code),
    findByUid: (uid) =>
      carryingErrors(() => all.findByUid(uid) as Promise<AdapterPayload | undefined>),
    consume: (id) => carryingErrors(() => all.consume(id) as Promise<void>),
    destroy: (id) => carryingErrors(() => all.destroy(id) as Promise<void>),
    revokeByGrantId: (id) => all.revokeByGrantId(id),
  };
}

/** A client as this request may use it; nothing is fetched but a metadata document. */
async function findProviderClient(
  parts: AdapterParts,
  id: string,
): Promise<AdapterPayload | undefined> {
  const { address, showsAssertion } = parts.currentCaller();
  const client = await lookUpClient(parts, id, address);
  if (client === undefined) return undefined;
  const [preferred = 'none'] = client.authMethods;
  // With several methods, a request without an assertion has chosen the other one.
  const method = showsAssertion ? preferred : (client.authMethods.at(-1) ?? preferred);
  const keysUrl = client.metadata.jwks_uri;
  const keys =
    method === 'private_key_jwt' && keysUrl !== undefined
      ? await parts.documents.knownKeys(keysUrl)
      : undefined;
  return toProviderClient(client, { method, keys });
}

/** Grants are made at consent, by us; the provider reads them and may end them. */
function grantAdapter({ store, resource, emit }: AdapterParts): Adapter {
  return adapter({
    async find(id) {
      const grant = await findGrant(store.db, id);
      if (grant === undefined || grantStatus(grant, store.clock.now()) !== 'active')
        return undefined;
      return {
        jti: grant.id,
        kind: 'Grant',
        accountId: grant.userId,
        clientId: grant.clientId,
        iat: toSeconds(grant.createdAt),
        exp: toSeconds(grant.expiresAt),
        resources: { [resource]: BASE_SCOPE },
      };
    },
    // The only way here is a code that was redeemed twice: revocation has its own path.
    destroy: (id) => endGrant({ store, emit }, id, 'code_reuse'),
  });
}

/** In seconds since the epoch. */
const NEVER = 32_503_680_000;
const LONG_AGO = 1;

function codeAdapter({ store, emit }: AdapterParts): Adapter {
  return adapter({
    async upsert(id, payload, expiresIn) {
      const now = store.clock.now();
      await insertToken(store.db, now, {
        digest: digest(id),
        kind: 'code',
        grantId: payload.grantId ?? '',
        clientId: payload.clientId ?? '',
        payload: withoutId(payload),
        expiresAt: expiry(now, expiresIn),
      });
    },
    async find(id) {
      const code = await findToken(store.db, 'code', digest(id));
      if (code === undefined) return undefined;
      // A used one never counts as expired, or showing it again would go unnoticed.
      if (code.usedAt !== null)
        return { ...code.payload, jti: id, exp: NEVER, consumed: toSeconds(code.usedAt) };
      // Whether it has expired, the store's time decides; the provider goes by this machine's.
      return {
        ...code.payload,
        jti: id,
        exp: code.expiresAt > store.clock.now() ? NEVER : LONG_AGO,
      };
    },
    async consume(id) {
      const first = await store.transaction(async (work) => {
        const code = await findToken(work.db, 'code', digest(id));
        if (code === undefined || !(await consumeToken(work, digest(id)))) return false;
        await work.audit({
          actor: `client:${code.clientId}`,
          action: 'code.redeemed',
          clientId: code.clientId,
          grantId: code.grantId,
        });
        return true;
      });
      if (first) return;
      // Two redeemed it at the same moment: one of them stole it, so what it gave ends.
      const code = await findToken(store.db, 'code', digest(id));
      if (code !== undefined) await endGrant({ store, emit }, code.grantId, 'code_reuse');
      throw new errors.InvalidGrant('authorization code already consumed');
    },
  });
}

/** Tokens as the code exchange saves them and as revocation looks them up. Rotation is in refresh.ts. */
function tokenAdapter({ store, emit }: AdapterParts, kind: 'access' | 'refresh'): Adapter {
  return adapter({
    async upsert(id, payload, expiresIn) {
      const now = store.clock.now();
      await insertToken(store.db, now, {
        digest: digest(id),
        kind,
        grantId: payload.grantId ?? '',
        clientId: payload.clientId ?? '',
        expiresAt: expiry(now, expiresIn),
      });
    },
    async find(id) {
      const token = await findToken(store.db, kind, digest(id));
      if (token === undefined || token.expiresAt <= store.clock.now()) return undefined;
      return {
        jti: id,
        kind: kind === 'access' ? 'AccessToken' : 'RefreshToken',
        grantId: token.grantId,
        clientId: token.clientId,
        iat: toSeconds(token.issuedAt),
        exp: toSeconds(token.expiresAt),
      };
    },
    // Called by revocation only (RFC 7009), for the client that owns the token: its grant ends.
    async destroy(id) {
      const token = await findToken(store.db, kind, digest(id));
      if (token !== undefined) await endGrant({ store, emit }, token.grantId, 'client_revoked');
    },
  });
}

function sessionAdapter(store: Store): Adapter {
  return adapter({
    async upsert(id, payload, expiresIn) {
      const now = store.clock.now();
      await saveBrowserSession(store.db, {
        digest: digest(id),
        uidDigest: digest(payload.uid ?? ''),
        userId: payload.accountId ?? null,
        // The provider saves it at every use.
        payload: { ...withoutId(payload), savedAt: now },
        expiresAt: expiry(now, expiresIn),
      });
    },
    async find(id) {
      const payload = await findBrowserSession(store.db, digest(id), store.clock.now());
      return payload && (await loginStands(store, payload)) ? { ...payload, jti: id } : undefined;
    },
    async findByUid(uid) {
      const payload = await findBrowserSessionByUid(store.db, digest(uid), store.clock.now());
      return payload && (await loginStands(store, payload)) ? payload : undefined;
    },
    destroy: (id) => deleteBrowserSession(store.db, digest(id)),
  });
}

/**
 * Whether the login behind a session still counts. Asked at every use: a request that was under way when
 * the password changed saves its session once more, and must not bring it back to life.
 */
async function loginStands(store: Store, { accountId, loginTs }: AdapterPayload): Promise<boolean> {
  if (accountId === undefined) return true;
  const user = await findUser(store.db, accountId as UserId);
  return user !== undefined && loginCounts(user, (loginTs ?? 0) * SECOND);
}

const INTERACTION = 'interaction';
/** Stands in a stored interaction where its id was: the id is what its cookie holds. */
const ID_PLACE = '{uid}';

function interactionAdapter(store: Store): Adapter {
  return adapter({
    async upsert(id, payload, expiresIn) {
      const { session, returnTo, ...rest } = withoutId(payload);
      const { cookie: _, ...sessionWithoutCookie } = (session ?? {}) as Record<string, unknown>;
      await saveArtifact(store.db, {
        kind: INTERACTION,
        digest: digest(id),
        payload: {
          ...rest,
          ...(session === undefined ? {} : { session: sessionWithoutCookie }),
          returnTo: String(returnTo).replace(id, ID_PLACE),
        },
        expiresAt: expiry(store.clock.now(), expiresIn),
      });
    },
    async find(id) {
      const found = await findArtifact(store.db, {
        kind: INTERACTION,
        digest: digest(id),
        now: store.clock.now(),
      });
      if (found === undefined) return undefined;
      return { ...found, jti: id, returnTo: String(found['returnTo']).replace(ID_PLACE, id) };
    },
    destroy: (id) => deleteArtifact(store.db, INTERACTION, digest(id)),
  });
}

/** One-time marks: an assertion's `jti` may be shown once (RFC 7523). */
function replayAdapter(store: Store): Adapter {
  return adapter({
    async upsert(id, _payload, expiresIn) {
      const expiresAt = expiry(store.clock.now(), expiresIn);
      const isFirst = await claimArtifact(store.db, {
        kind: 'replay',
        digest: digest(id),
        expiresAt,
      });
      if (!isFirst) throw new errors.InvalidClientAuth('client assertion was used before');
    },
    async find(id) {
      const found = await findArtifact(store.db, {
        kind: 'replay',
        digest: digest(id),
        now: store.clock.now(),
      });
      return found && { jti: id };
    },
  });
}

async function endGrant(
  { store, emit }: Pick<AdapterParts, 'store' | 'emit'>,
  id: string,
  reason: 'code_reuse' | 'client_revoked',
): Promise<void> {
  const ended = await store.transaction((work) =>
    revokeGrants(work, { actor: 'server', reason, where: { ids: [id] } }),
  );
  for (const { grantId } of ended) emit({ type: 'grant.revoked', grantId, reason });
}

/** The provider leaves out a lifetime only for what lives for ever; nothing that it stores here does. */
function expiry(now: number, expiresIn: number | undefined): number {
  if (expiresIn === undefined) throw new AppError('internal', 'oidc-provider gave no lifetime');
  // An assertion's `exp` is the client's choice, and may be a fraction.
  return Math.ceil(now + expiresIn * SECOND);
}

/** The payload without what the cookie or the client holds. */
function withoutId(payload: AdapterPayload): Record<string, unknown> {
  const { jti: _, ...rest } = payload;
  return rest;
}
