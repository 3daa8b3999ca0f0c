import type { Command } from 'commander';
import { isoTime } from '#src/clock.ts';
import { AppError } from '#src/errors.ts';
import { grantStatus } from '#src/grants/grant.ts';
import { findClient } from '#src/storage/clients.ts';
import { countLiveTokens, listGrants, type ListedGrant } from '#src/storage/grants.ts';
import { addCommand, addGroup, commonOptions, open, readProject } from './command.ts';
import { revoke } from './grants-revoke.ts';
import { grantFilter, type GrantFilterOptions } from './lookup.ts';
import { printNote, printResult } from './output.ts';
import { fields, minute, table } from './table.ts';

/** `castellan grants`: what people allowed which clients. */

export function addGrants(program: Command): void {
  const grants = addGroup(program, 'grants', 'See and revoke what people allowed which clients.');
  addCommand(grants, {
    usage: 'list',
    about: 'List the grants, newest first, also those that ended.',
    examples: ['castellan grants list', 'castellan grants list --user ana --json'],
  })
    .option('--user <user>', 'only those of this user')
    .option('--client <client>', 'only those of the client with this id')
    .action(list);
  addCommand(grants, {
    usage: 'show <id>',
    about: 'Show everything about one grant.',
    examples: ['castellan grants show gr_0123456789abcdef0123456789abcd'],
  }).action(show);
  addCommand(grants, {
    usage: 'revoke [ids...]',
    about:
      'Revoke grants with their tokens: by id, of a user, of a client, of a user at a client, or all. ' +
      'When the command has returned, no request under them succeeds.',
    examples: [
      'castellan grants revoke gr_0123456789abcdef0123456789abcd',
      'castellan grants revoke --user ana --dry-run',
      'castellan grants revoke --all --yes',
    ],
  })
    .option('--user <user>', 'every grant of this user')
    .option('--client <client>', 'every grant of the client with this id')
    .option('--all', 'every grant there is; asks first', false)
    .option('--dry-run', 'show what would be revoked and change nothing', false)
    .option('--yes', 'do not ask', false)
    .action(revoke);
}

async function list(options: GrantFilterOptions, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { store } = opened;
  const grants = await listGrants(store.db, await grantFilter(store.db, options));
  if (grants.length === 0) printNote('There are no grants.');
  const now = store.clock.now();
  printResult(
    commonOptions(command),
    grants.map((grant) => grantJson(grant, now)),
    () => grantTable(grants, now),
  );
}

async function show(id: string, _options: object, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { store } = opened;
  const [grant] = await listGrants(store.db, { ids: [id] });
  if (grant === undefined) {
    throw new AppError('not_found', `There is no grant "${id}"`, {
      hint: 'castellan grants list shows them.',
    });
  }
  const now = store.clock.now();
  const live = await countLiveTokens(store.db, [grant.id], now);
  const client = await findClient(store.db, grant.clientId);
  const value = {
    ...grantJson(grant, now),
    redirectUri: grant.redirectUri,
    offered: grant.offered,
    revokedAt: isoTime(grant.revokedAt),
    clientStatus: client?.status ?? null,
    tokens: live.get(grant.id) ?? 0,
  };
  printResult(commonOptions(command), value, () => grantFields(grant, value));
}

function grantJson(grant: ListedGrant, now: number): { status: string } & Record<string, unknown> {
  return {
    id: grant.id,
    user: grant.userName,
    clientId: grant.clientId,
    clientName: grant.clientName,
    redirectHost: grant.redirectHost,
    privileges: grant.privileges,
    createdAt: isoTime(grant.createdAt),
    lastUsedAt: isoTime(grant.lastUsedAt),
    lastUsedIp: grant.lastUsedIp,
    expiresAt: isoTime(grant.expiresAt),
    status: grantStatus(grant, now),
    revokedReason: grant.revokedReason,
  };
}

function grantTable(grants: readonly ListedGrant[], now: number): string {
  return table(
    [
      'ID',
      'USER',
      'CLIENT',
      'REDIRECTS TO',
      'PRIVILEGES',
      'LAST USED (UTC)',
      'EXPIRES (UTC)',
      'STATUS',
    ],
    grants.map((grant) => [
      grant.id,
      grant.userName,
      grant.clientName,
      grant.redirectHost,
      grant.privileges,
      minute(grant.lastUsedAt),
      minute(grant.expiresAt),
      grantStatus(grant, now),
    ]),
  );
}

function grantFields(
  grant: ListedGrant,
  shown: { status: string; clientStatus: string | null; tokens: number },
): string {
  return fields({
    Grant: grant.id,
    Status: shown.status,
    'Revoked (UTC)': minute(grant.revokedAt),
    Reason: grant.revokedReason,
    User: grant.userName,
    Client: grant.clientName,
    'Client id': grant.clientId,
    'Client status': shown.clientStatus,
    'Redirects to': grant.redirectUri,
    Privileges: grant.privileges,
    Offered: grant.offered,
    'Live tokens': shown.tokens,
    'Created (UTC)': minute(grant.createdAt),
    'Expires (UTC)': minute(grant.expiresAt),
    'Last used (UTC)': minute(grant.lastUsedAt),
    'Last address': grant.lastUsedIp,
  });
}
