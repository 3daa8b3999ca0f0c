import type { Command } from 'commander';
import { AppError } from '#src/errors.ts';
import { displayName } from '#src/http/client-display.ts';
import { digest, newId, newSecret, type ClientId } from '#src/ids.ts';
import { insertClient, listClients, type NewClient } from '#src/storage/clients.ts';
import { clientJson } from './client-json.ts';
import { ACTOR, commonOptions, open, readProject } from './command.ts';
import { noClient } from './lookup.ts';
import { printNote, printResult } from './output.ts';
import { fields } from './table.ts';

/** `castellan clients add`: a client of an administrator's making. */

interface AddOptions {
  redirectUri: string[];
  secret: boolean;
  resourceServer: boolean;
}

/** The command's action. */
export async function add(name: string, options: AddOptions, command: Command): Promise<void> {
  // People read it on the consent page, in the form that it has there.
  if (name === '' || displayName(name, '') !== name) {
    throw new AppError('usage', 'A client name has 1 to 60 visible characters, on one line');
  }
  const project = await readProject(command);
  const metadata = options.resourceServer
    ? resourceServerMetadata(options)
    : await appMetadata(name, options, project.config.oauth.privateUseSchemes);
  await using opened = await open(project);
  const { store } = opened;
  const hasSecret = options.secret || options.resourceServer;
  const secret = hasSecret ? newSecret(store.random) : undefined;
  const client: NewClient = {
    id: newId('cli', store.random) as ClientId,
    kind: options.resourceServer ? 'resource-server' : 'static',
    name,
    metadata,
    secretDigest: secret === undefined ? null : digest(secret),
  };
  await store.transaction((work) => insertClient(work, client, ACTOR));
  const [added] = await listClients(store.db, store.clock.now(), { id: client.id });
  if (added === undefined) throw noClient(client.id);
  const shown = secret === undefined ? {} : { secret };
  printResult(commonOptions(command), { ...clientJson(added), ...shown }, () =>
    fields({
      Client: name,
      'Client id': client.id,
      ...(secret === undefined ? {} : { Secret: secret }),
      ...(options.resourceServer ? {} : { 'Redirects to': added.redirectUris }),
    }),
  );
  if (secret !== undefined) printNote('The secret is not shown again: only its digest is stored.');
  if (options.resourceServer)
    printNote('It asks about tokens at /mcp/oauth/introspect (RFC 7662).');
}

/** @throws `usage` */
function resourceServerMetadata({ redirectUri }: AddOptions): Record<string, unknown> {
  if (redirectUri.length > 0)
    throw new AppError('usage', 'A resource server sends nobody back: it has no redirect URI');
  return { redirect_uris: [], token_endpoint_auth_method: 'client_secret_basic' };
}

/**
 * What the app would have registered, by the same rules.
 * @throws `usage` naming the redirect URI that may not be, `client_metadata_invalid` for too many.
 */
async function appMetadata(
  name: string,
  { redirectUri, secret }: AddOptions,
  privateUseSchemes: readonly string[],
): Promise<Record<string, unknown>> {
  if (redirectUri.length === 0) {
    throw new AppError('usage', 'It is not said where the client sends people back to', {
      hint: 'Give --redirect-uri URI, or --resource-server for one that only asks about tokens.',
    });
  }
  const { redirectUriProblem } = await import('#src/oauth/redirect-uri.ts');
  for (const uri of redirectUri) {
    const problem = redirectUriProblem(uri, privateUseSchemes);
    if (problem !== undefined) throw new AppError('usage', `The redirect URI ${uri} ${problem}`);
  }
  const { readClientMetadata } = await import('#src/oauth/client-metadata.ts');
  const sent = {
    client_name: name,
    redirect_uris: redirectUri,
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: secret ? 'client_secret_basic' : 'none',
  };
  return { ...readClientMetadata(sent, { privateUseSchemes, scopes: new Set() }) };
}
