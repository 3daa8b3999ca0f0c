import { BASE_SCOPE } from '#src/access/roles.ts';
import { DAY, HOUR, toSeconds } from '#src/clock.ts';
import type { Config } from '#src/config.ts';
import type { Emit } from '#src/events.ts';
import { throttleAddress } from '#src/http/caller.ts';
import { displayName } from '#src/http/client-display.ts';
import { digest, newId, newSecret, type ClientId } from '#src/ids.ts';
import { decideThrottle } from '#src/limits/throttle.ts';
import {
  countRegisteredClients,
  findClient,
  insertClient,
  reapIdleClients,
} from '#src/storage/clients.ts';
import type { Store } from '#src/storage/open.ts';
import { increment } from '#src/storage/throttles.ts';
import { readClientMetadata, sharedClientId, type ClientMetadata } from './client-metadata.ts';

/*
 * Dynamic client registration (RFC 7591). The same metadata of a public client is the same client, so
 * honest clients never fill the table; only new ones count against the limits.
 */

export interface RegistrationParts {
  store: Store;
  config: Config['oauth'];
  emit: Emit;
  /** The scopes that roles.json declares. */
  privileges: () => ReadonlySet<string>;
}

/** What happened to a registration request. */
export type Registration =
  | { kind: 'registered'; response: Record<string, unknown> }
  | { kind: 'refused'; status: 429 | 503; retryAfterSeconds: number };

/** While the table is full, registrations that nobody ever used go after this time. */
const NEVER_USED_MS = DAY;
const REAPED_AT_ONCE = 50;
const FULL_RETRY_SECONDS = 3_600;

/**
 * Registers a client, or finds the one that registered with the same metadata before.
 * @throws `client_metadata_invalid` when the metadata cannot be accepted.
 */
export async function registerClient(
  parts: RegistrationParts,
  sent: Record<string, unknown>,
  address: string,
): Promise<Registration> {
  const { store, config, emit } = parts;
  const scopes = new Set([BASE_SCOPE, ...parts.privileges()]);
  const metadata = readClientMetadata(sent, {
    privateUseSchemes: config.privateUseSchemes,
    scopes,
  });
  const isPublic = metadata.token_endpoint_auth_method === 'none';
  const id = isPublic ? sharedClientId(metadata) : (newId('cli', store.random) as ClientId);
  const known = isPublic ? await findClient(store.db, id) : undefined;
  if (known !== undefined) {
    emit({ type: 'client.registered', clientId: id, address, isNew: false });
    return {
      kind: 'registered',
      response: registrationResponse(metadata, { id, createdAt: known.createdAt }),
    };
  }
  const refusal = await refuse(parts, address);
  if (refusal !== undefined) return refusal;
  const secret = metadata.token_endpoint_auth_method.startsWith('client_secret')
    ? newSecret(store.random)
    : undefined;
  const createdAt = await store.transaction(async (work) => {
    await insertClient(work, {
      id,
      kind: 'registered',
      name: displayName(metadata.client_name, 'Unnamed app'),
      metadata: { ...metadata },
      secretDigest: secret === undefined ? null : digest(secret),
    });
    return work.now;
  });
  emit({ type: 'client.registered', clientId: id, address, isNew: true });
  return {
    kind: 'registered',
    response: registrationResponse(metadata, { id, createdAt, secret }),
  };
}

async function refuse(
  parts: RegistrationParts,
  address: string,
): Promise<Registration | undefined> {
  const { store, config } = parts;
  const now = store.clock.now();
  const counter = await increment(store.db, `register:${throttleAddress(address)}`, {
    now,
    length: HOUR,
  });
  const limit = { max: config.registrationsPerAddressPerHour, windowMs: HOUR };
  const throttle = decideThrottle(counter, limit, now);
  if (!throttle.allowed)
    return { kind: 'refused', status: 429, retryAfterSeconds: throttle.retryAfterSeconds };
  if ((await countRegisteredClients(store.db)) < config.maxDynamicClients) return undefined;
  const before = now - config.idleClientDays * DAY;
  const unusedBefore = now - NEVER_USED_MS;
  const reaped = await store.transaction((work) =>
    reapIdleClients(work, { before, unusedBefore, limit: REAPED_AT_ONCE }),
  );
  return reaped > 0
    ? undefined
    : { kind: 'refused', status: 503, retryAfterSeconds: FULL_RETRY_SECONDS };
}

/** Every accepted field with its defaults, and no nulls (RFC 7591 section 3.2.1). */
function registrationResponse(
  metadata: ClientMetadata,
  { id, createdAt, secret }: { id: ClientId; createdAt: number; secret?: string | undefined },
): Record<string, unknown> {
  return {
    client_id: id,
    client_id_issued_at: toSeconds(createdAt),
    ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
    ...metadata,
  };
}
