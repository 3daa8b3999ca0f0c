import { isoTime } from '#src/clock.ts';
import type { ListedClient } from '#src/storage/clients.ts';

/** A client as the commands print it with --json. */
export function clientJson(client: ListedClient): object {
  return {
    id: client.id,
    name: client.name,
    kind: client.kind,
    redirectUris: client.redirectUris,
    status: client.status,
    createdAt: isoTime(client.createdAt),
    lastUsedAt: isoTime(client.lastUsedAt),
    grants: client.grants,
  };
}
