import { Option, type Command } from 'commander';
import type { Kysely } from 'kysely';
import { AppError } from '#src/errors.ts';
import type { ClientId } from '#src/ids.ts';
import { countLiveTokens, listGrants } from '#src/storage/grants.ts';
import {
  insertClient,
  listClients,
  removeClient,
  setClientStatus,
  type ClientFilter,
  type ListedClient,
} from '#src/storage/clients.ts';
import type { Work } from '#src/storage/open.ts';
import type { Database } from '#src/storage/schema.ts';
import { confirm } from './ask.ts';
import { clientJson } from './client-json.ts';
import { add } from './clients-add.ts';
import {
  ACTOR,
  addCommand,
  addGroup,
  collect,
  commonOptions,
  open,
  readProject,
} from './command.ts';
import { noClient, requireClient } from './lookup.ts';
import { printNote, printResult, visible } from './output.ts';
import { revokedJson, revokedText } from './revoked.ts';
import { counted, fields, minute, table } from './table.ts';

/** `castellan clients`: the OAuth clients, and the resource servers that ask about tokens. */

const KINDS = ['registered', 'document', 'static', 'resource-server'] as const;
const STATUSES = ['active', 'blocked'] as const;

export function addClients(program: Command): void {
  const clients = addGroup(program, 'clients', 'See, add, block and remove the apps of people.');
  addCommand(clients, {
    usage: 'list',
    about: 'List the clients, newest first, with their active grants.',
    examples: ['castellan clients list', 'castellan clients list --status blocked --json'],
  })
    .addOption(new Option('--kind <kind>', 'only those of this kind').choices(KINDS))
    .addOption(new Option('--status <status>', 'only those that are so').choices(STATUSES))
    .action(list);
  addCommand(clients, {
    usage: 'show <id>',
    about: 'Show everything about one client.',
    examples: ['castellan clients show cli_0123456789abcdef0123456789abcd'],
  }).action(show);
  addCommand(clients, {
    usage: 'add <name>',
    about:
      'Add a client that need not register, or a resource server that may ask about tokens. ' +
      'A secret is printed this once and stored as a digest.',
    examples: [
      'castellan clients add "Sales app" --redirect-uri https://sales.example.com/callback',
      'castellan clients add "Sales app" --secret --redirect-uri https://sales.example.com/callback',
      'castellan clients add "Billing API" --resource-server',
    ],
  })
    .option(
      '--redirect-uri <uri>',
      'where it may send people back to; may be given several times',
      collect,
      [],
    )
    .option('--secret', 'it can keep a secret: it gets one and has to show it', false)
    .option('--resource-server', 'it only asks whether tokens count; gets a secret', false)
    .action(add);
  addCommand(clients, {
    usage: 'block <id>',
    about:
      'Refuse a client: its tokens at the very next request, refreshes and logins. Its grants stay. ' +
      'The URL of a metadata document can be blocked before it was ever seen.',
    examples: [
      'castellan clients block cli_0123456789abcdef0123456789abcd',
      'castellan clients block https://app.example.com/client.json',
    ],
  }).action(block);
  addCommand(clients, {
    usage: 'unblock <id>',
    about: 'Let a client in again. Its grants and tokens count as before.',
    examples: ['castellan clients unblock cli_0123456789abcdef0123456789abcd'],
  }).action(unblock);
  addCommand(clients, {
    usage: 'remove <id>',
    about: 'Remove a client with its grants and tokens. Asks first.',
    examples: ['castellan clients remove cli_0123456789abcdef0123456789abcd --yes'],
  })
    .option('--yes', 'do not ask', false)
    .action(remove);
}

async function list(options: Omit<ClientFilter, 'id'>, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { store } = opened;
  const { kind, status } = options;
  const clients = await listClients(store.db, store.clock.now(), { kind, status });
  if (clients.length === 0) printNote('There are no clients.');
  printResult(commonOptions(command), clients.map(clientJson), () =>
    table(
      ['ID', 'NAME', 'KIND', 'STATUS', 'GRANTS', 'CREATED (UTC)', 'LAST USED (UTC)'],
      clients.map((client) => [
        client.id,
        client.name,
        client.kind,
        client.status,
        client.grants,
        minute(client.createdAt),
        minute(client.lastUsedAt),
      ]),
    ),
  );
}

async function show(id: string, _options: object, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { store } = opened;
  const now = store.clock.now();
  const client = await requireListed(store.db, id, now);
  const grants = await listGrants(store.db, { clientId: client.id });
  const live = await countLiveTokens(
    store.db,
    grants.map((grant) => grant.id),
    now,
  );
  const value = {
    ...clientJson(client),
    metadata: client.metadata,
    tokens: live.values().reduce((sum, count) => sum + count, 0),
  };
  printResult(commonOptions(command), value, () => clientFields(client, value.tokens));
}

function clientFields(client: ListedClient, tokens: number): string {
  const method = client.metadata['token_endpoint_auth_method'];
  return fields({
    Client: client.name,
    'Client id': client.id,
    Kind: client.kind,
    Status: client.status,
    'Redirects to': client.redirectUris,
    'Proves itself by': typeof method === 'string' ? method : null,
    'Active grants': client.grants,
    'Live tokens': tokens,
    'Created (UTC)': minute(client.createdAt),
    'Last used (UTC)': minute(client.lastUsedAt),
  });
}

async function block(id: string, _options: object, command: Command): Promise<void> {
  const { isDocumentUrl } = await import('#src/oauth/metadata-document.ts');
  await using opened = await open(await readProject(command));
  const { client, changed } = await opened.store.transaction(async (work) => {
    if (isDocumentUrl(id)) await insertDocument(work, id);
    return setStatus(work, id, 'blocked');
  });
  const name = visible(client.name);
  printResult(commonOptions(command), clientJson(client), () => {
    if (!changed) return `${name} was blocked before.`;
    return client.grants === 0
      ? `${name} is blocked. It has no active grant.`
      : `${name} is blocked. ${counted(client.grants, 'active grant')} refused from now on.`;
  });
  if (client.grants === 0) return;
  printNote(
    `The grants stay, for when it is unblocked. castellan grants revoke --client ${client.id} ends them.`,
  );
}

/** So that there is something to block, also when nobody has consented to this document yet. */
async function insertDocument(work: Work, url: string): Promise<void> {
  const client = {
    id: url as ClientId,
    kind: 'document' as const,
    name: new URL(url).host,
    metadata: {},
    secretDigest: null,
  };
  await insertClient(work, client, ACTOR);
}

async function unblock(id: string, _options: object, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { client, changed } = await opened.store.transaction((work) =>
    setStatus(work, id, 'active'),
  );
  const name = visible(client.name);
  printResult(commonOptions(command), clientJson(client), () =>
    changed
      ? `${name} is let in again, with ${counted(client.grants, 'active grant')}.`
      : `${name} was not blocked.`,
  );
}

/** @throws `not_found` */
async function setStatus(
  work: Work,
  id: string,
  status: ListedClient['status'],
): Promise<{ client: ListedClient; changed: boolean }> {
  const client = await requireClient(work.db, id);
  const changed = await setClientStatus(work, ACTOR, { client, status });
  return { client: await requireListed(work.db, id, work.now), changed };
}

async function remove(id: string, options: { yes: boolean }, command: Command): Promise<void> {
  await using opened = await open(await readProject(command));
  const { store } = opened;
  if (!options.yes) await confirmRemoval(await requireListed(store.db, id, store.clock.now()));
  const { client, revoked } = await store.transaction(async (work) => {
    const current = await requireClient(work.db, id);
    return { client: current, revoked: await removeClient(work, ACTOR, current) };
  });
  const value = { id: client.id, name: client.name, removed: true, ...revokedJson(revoked) };
  printResult(
    commonOptions(command),
    value,
    () => `${revokedText(revoked)}\n${visible(client.name)} is removed.`,
  );
  if (client.kind === 'registered' || client.kind === 'document') {
    printNote('It may come again by itself. castellan clients block keeps a client out.');
  }
}

async function confirmRemoval(client: ListedClient): Promise<void> {
  const name = visible(client.name);
  const what = client.grants === 0 ? name : `${name} and ${counted(client.grants, 'active grant')}`;
  const question = `Remove ${what}, for good?`;
  if (await confirm(question, 'Add --yes to remove the client without being asked.')) return;
  throw new AppError('forbidden', 'Nothing was changed');
}

/** @throws `not_found` */
async function requireListed(db: Kysely<Database>, id: string, now: number): Promise<ListedClient> {
  const [client] = await listClients(db, now, { id });
  if (client === undefined) throw noClient(id);
  return client;
}
