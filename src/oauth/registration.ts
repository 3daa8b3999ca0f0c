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
  type NewClient,
} from '#src/storage/clients.ts';
import type { Store, Work } from '#src/storage/open.ts';
import { decrement, increment, readCounter } from '#src/storage/throttles.ts';
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
export type Registration = { kind: 'registered'; response: Record<string, unknown> } | Refusal;

interface Refusal {
  kind: 'refused';
  status: 429 | 503;
  retryAfterSeconds: number;
}

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
  const method = metadata.token_endpoint_auth_method;
  const secret = method.startsWith('client_secret') ? newSecret(store.random) : undefined;
  const id =
    method === 'none' ? sharedClientId(metadata) : (newId('cli', store.random) as ClientId);
  const known = method === 'none' ? await findClient(store.db, id) : undefined;
  const client: NewClient = {
    id,
    kind: 'registered',
    name: displayName(metadata.client_name, 'Unnamed app'),
    metadata: { ...metadata },
    secretDigest: secret === undefined ? null : digest(secret),
  };
  const entry: Entry | Refusal =
    known === undefined
      ? await addClient(parts, client, address)
      : { isNew: false, createdAt: known.createdAt };
  if ('status' in entry) return entry;
  const { isNew, createdAt } = entry;
  emit({ type: 'client.registered', clientId: id, address, isNew });
  return {
    kind: 'registered',
    response: registrationResponse(metadata, { id, createdAt, secret }),
  };
}

/** A client in the store, and whether this request put it there. */
interface Entry {
  isNew: boolean;
  createdAt: number;
}

/** Adds a client if the limits permit one more; one transaction, so that they hold for many at once. */
async function addClient(
  parts: RegistrationParts,
  client: NewClient,
  address: string,
): Promise<Entry | Refusal> {
  const { store, config } = parts;
  const key = `register:${throttleAddress(address)}`;
  const limit = { max: config.registrationsPerAddressPerHour, windowMs: HOUR };
  const now = store.clock.now();
  // One read refuses who is over the limit: a flood must not take the turns of those who write.
  const before = await readCounter(store.db, key, now);
  const early = decideThrottle({ ...before, count: before.count + 1 }, limit, now);
  if (!early.allowed) return refuse(429, early.retryAfterSeconds);
  return store.transaction(async (work) => {
    const counter = await increment(work.db, key, { now: work.now, length: HOUR });
    // Looked for again while others from this address wait: several processes of one app may register
    // it at the same moment. The first adds it, the others count for nothing.
    if ((await findClient(work.db, client.id)) === undefined) {
      const throttle = decideThrottle(counter, limit, work.now);
      if (!throttle.allowed) return refuse(429, throttle.retryAfterSeconds);
      if (!(await hasRoom(parts, work))) return refuse(503, FULL_RETRY_SECONDS);
      if (await insertClient(work, client)) return { isNew: true, createdAt: work.now };
    }
    await decrement(work.db, key);
    const present = await findClient(work.db, client.id);
    return { isNew: false, createdAt: present?.createdAt ?? work.now };
  });
}

/**
 * Whether one more client may register, after making room where that is possible. Each other process on
 * the same database may add one at the same moment, which is as exact as it needs to be.
 */
async function hasRoom({ config }: RegistrationParts, work: Work): Promise<boolean> {
  if ((await countRegisteredClients(work.db)) < config.maxDynamicClients) return true;
  const before = work.now - config.idleClientDays * DAY;
  const unusedBefore = work.now - NEVER_USED_MS;
  return (await reapIdleClients(work, { before, unusedBefore, limit: REAPED_AT_ONCE })) > 0;
}

function refuse(status: Refusal['status'], retryAfterSeconds: number): Refusal {
  return { kind: 'refused', status, retryAfterSeconds };
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
