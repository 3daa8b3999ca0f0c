import { DAY, HOUR, MINUTE, SECOND } from '#src/clock.ts';
import { AppError } from '#src/errors.ts';
import type { Emit } from '#src/events.ts';
import { throttleAddress } from '#src/http/caller.ts';
import { decideThrottle } from '#src/limits/throttle.ts';
import {
  findDocument,
  saveDocument,
  type CachedDocument,
} from '#src/storage/metadata-documents.ts';
import type { Store } from '#src/storage/open.ts';
import { increment } from '#src/storage/throttles.ts';
import { pinnedFetch, type FetchPorts } from './pinned-fetch.ts';

/*
 * What clients publish about themselves (metadata documents, key sets), fetched with care, kept in the
 * store for all processes, and served stale while the client's host is down.
 */

const MIN_FRESH_MS = 5 * MINUTE;
const MAX_FRESH_MS = 24 * HOUR;
const STALE_MS = 30 * DAY;
const FAILURE_MS = 60 * SECOND;
/** How many addresses that were never asked before one person's browser may send us to, an hour. */
const FIRST_FETCHES = { max: 60, windowMs: HOUR };
/** Answers that say "not now" rather than "no". */
const NOT_NOW = new Set([403, 408, 425, 429]);

export interface DocumentCacheParts {
  store: Store;
  ports: FetchPorts;
  emit: Emit;
}

export interface DocumentRequest<T> {
  url: string;
  /** Largest body, in bytes. */
  limit: number;
  /** @throws `client_document_invalid` when the text is not what it should be. */
  parse: (text: string) => T;
  /** Who sent us there, when that is known; a first fetch counts against them. */
  address?: string | undefined;
  /** Whether a fresh copy is not good enough; then it is fetched again, at most once a minute. */
  isOutdated?: (copy: T) => boolean;
}

export interface DocumentCache {
  /**
   * The newest good copy.
   * @throws `client_document_unreachable` when it was never fetched and cannot be now (try again
   * later); `client_document_invalid` when it is there and cannot be used; `too_many_requests`.
   */
  read<T>(request: DocumentRequest<T>): Promise<T>;
  /** The last good copy in the store, without fetching anything. */
  peek<T>(url: string, parse: (text: string) => T): Promise<T | undefined>;
}

export function createDocumentCache(parts: DocumentCacheParts): DocumentCache {
  // Many requests for one document at the same moment fetch it once.
  const underWay = new Map<string, Promise<CachedDocument>>();
  const refetch = (
    url: string,
    fetching: () => Promise<CachedDocument>,
  ): Promise<CachedDocument> => {
    const running = underWay.get(url);
    if (running !== undefined) return running;
    const started = fetching().finally(() => underWay.delete(url));
    underWay.set(url, started);
    return started;
  };
  return {
    async read(request) {
      const { url, parse } = request;
      const now = parts.store.clock.now();
      const cached = await findDocument(parts.store.db, url);
      if (cached !== undefined && isGoodEnough(request, cached, now))
        return copyOf(cached, parse, now);
      if (cached === undefined || cached.body === null)
        await countFirstFetch(parts, request.address, now);
      const fetched = await refetch(url, async () => {
        // Another one may have fetched it since we looked.
        const newer = await findDocument(parts.store.db, url);
        if (newer !== undefined && isGoodEnough(request, newer, now)) return newer;
        return fetchInto(parts, request, newer);
      });
      return copyOf(fetched, parse, now);
    },
    async peek(url, parse) {
      const cached = await findDocument(parts.store.db, url);
      const body = cached?.body ?? null;
      return body === null ? undefined : parse(body);
    },
  };
}

function isGoodEnough<T>(
  request: DocumentRequest<T>,
  cached: CachedDocument,
  now: number,
): boolean {
  if (cached.freshUntil <= now) return false;
  const { body, fetchedAt } = cached;
  if (request.isOutdated === undefined || body === null || fetchedAt === null) return true;
  return (
    now - fetchedAt < FAILURE_MS ||
    cached.failure !== null ||
    !request.isOutdated(request.parse(body))
  );
}

/** Fetches, checks and stores; of a failure what the store held before is kept. */
async function fetchInto<T>(
  parts: DocumentCacheParts,
  request: DocumentRequest<T>,
  cached: CachedDocument | undefined,
): Promise<CachedDocument> {
  const { store, emit } = parts;
  const { url } = request;
  const now = store.clock.now();
  const outcome = await fetchDocument(parts, request, now).catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });
  const document: CachedDocument =
    outcome instanceof AppError
      ? {
          body: cached?.body ?? null,
          fetchedAt: cached?.fetchedAt ?? null,
          freshUntil: now + FAILURE_MS,
          failure: JSON.stringify([outcome.code, outcome.message]),
        }
      : { body: outcome.body, fetchedAt: now, freshUntil: now + outcome.freshMs, failure: null };
  await saveDocument(store.db, url, document);
  emit({
    type: 'client.document',
    url,
    outcome: outcome instanceof AppError ? describeFailure(outcome) : 'fetched',
  });
  return document;
}

function describeFailure({ message, detail }: AppError): string {
  return typeof detail['reason'] === 'string' ? `${message} (${detail['reason']})` : message;
}

async function fetchDocument<T>(
  parts: DocumentCacheParts,
  { url, limit, parse }: DocumentRequest<T>,
  now: number,
): Promise<{ body: string; freshMs: number }> {
  const { status, headers, body } = await pinnedFetch(parts.ports, url, limit);
  if (NOT_NOW.has(status) || status >= 500) {
    throw new AppError(
      'client_document_unreachable',
      `The document cannot be fetched: its host answers ${status}`,
    );
  }
  if (status !== 200) throw invalidDocument(`its host answers ${status}`);
  const text = new TextDecoder().decode(body);
  parse(text);
  return { body: text, freshMs: freshness(headers, now) };
}

/** The last good copy while it may be served, or the failure that is remembered. */
function copyOf<T>(cached: CachedDocument, parse: (text: string) => T, now: number): T {
  const { body, fetchedAt } = cached;
  if (body !== null && fetchedAt !== null && fetchedAt + STALE_MS > now) return parse(body);
  const [code, message] = JSON.parse(cached.failure ?? '[]') as [string?, string?];
  throw new AppError(
    code === 'client_document_invalid' ? 'client_document_invalid' : 'client_document_unreachable',
    message ?? 'The document cannot be fetched',
  );
}

async function countFirstFetch(
  { store }: DocumentCacheParts,
  address: string | undefined,
  now: number,
): Promise<void> {
  if (address === undefined) return;
  const window = { now, length: FIRST_FETCHES.windowMs };
  const counter = await increment(store.db, `document:${throttleAddress(address)}`, window);
  const throttle = decideThrottle(counter, FIRST_FETCHES, now);
  if (throttle.allowed) return;
  throw new AppError('too_many_requests', 'Too many new apps were tried from here', {
    detail: { retryAfterSeconds: throttle.retryAfterSeconds },
  });
}

/** How long a copy is fresh: `max-age` or `Expires`, never under five minutes or over a day. */
function freshness(headers: Headers, now: number): number {
  const maxAge = /(?:^|,)\s*max-age\s*=\s*"?(\d{1,10})/i.exec(
    headers.get('cache-control') ?? '',
  )?.[1];
  const expires = Date.parse(headers.get('expires') ?? '');
  const asked =
    maxAge !== undefined ? Number(maxAge) * SECOND : Number.isNaN(expires) ? 0 : expires - now;
  return Math.min(MAX_FRESH_MS, Math.max(MIN_FRESH_MS, asked));
}

export function invalidDocument(why: string): AppError {
  return new AppError('client_document_invalid', `The document cannot be used: ${why}`);
}
