import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser, type OpenBrowser } from '../support/browser.ts';
import {
  copyBookshop,
  runCastellan,
  serveHere,
  serveProject,
  type ProjectPlace,
  type ServerProcess,
} from '../support/castellan.ts';
import { startDocumentHosts } from '../support/documents.ts';
import {
  AppMemory,
  connectClient,
  listenForCallback,
  wantsLogin,
  type Callback,
  type Negotiation,
} from '../support/official-client.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { STORE_KINDS, type StoreKind } from '../support/stores.ts';
import { freePort, temporaryFolder } from '../support/temp.ts';

/*
 * The main job, end to end: the official client starts from a 401, a person logs in with a real
 * browser and allows, tools read real data, the tokens are refreshed, an administrator takes the grant
 * back from another process, and the very next request is refused.
 */

const PASSWORD = 'a password of the flow test';
const USER = 'carl.clerk';

interface Flow {
  place: ProjectPlace;
  server: ServerProcess;
  port: number;
  memory: AppMemory;
  callback: Callback;
  page: Page;
  serve(place: ProjectPlace, port: number): Promise<ServerProcess>;
}

const CASES: { mode: Negotiation; restarts: boolean }[] = [
  { mode: 'auto', restarts: false },
  { mode: { pin: '2026-07-28' }, restarts: true },
];

for (const kind of STORE_KINDS) {
  describe(`the main job on ${kind}`, () => {
    let browser: OpenBrowser;
    before(async () => {
      browser = await openBrowser();
    });
    after(async () => {
      await browser[Symbol.asyncDispose]();
    });

    for (const { mode, restarts } of CASES) {
      const name = `${typeof mode === 'string' ? mode : `pinned to ${mode.pin}`}${restarts ? ', over restarts' : ''}`;

      it(`works for a client that registers, ${name}`, async () => {
        await using stack = new AsyncDisposableStack();
        const callback = stack.use(await listenForCallback());
        const flow = await openFlow({
          kind,
          stack,
          browser,
          callback,
          memory: new AppMemory(callback.url),
          serve: serveProject,
        });
        await mainJob(flow, mode, restarts);
      });

      it(`works for a client with a metadata document, ${name}`, async () => {
        await using stack = new AsyncDisposableStack();
        const hosts = stack.use(await startDocumentHosts());
        const callback = stack.use(await listenForCallback());
        const clientId = hosts.publish('https://flow.clients.example/oauth/client.json', {
          client_name: 'Flow client',
          redirect_uris: ['http://localhost/callback'],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
        });
        const flow = await openFlow({
          kind,
          stack,
          browser,
          callback,
          memory: new AppMemory(callback.url, clientId),
          serve: (place, port) => serveHere(place, port, hosts.ports),
        });
        await mainJob(flow, mode, restarts);
        assert.equal(flow.memory.clientId, clientId);
        assert.equal(
          hosts.requests.length,
          1,
          'the document is fetched once and kept in the store',
        );
      });
    }
  });
}

interface FlowWishes {
  kind: StoreKind;
  stack: AsyncDisposableStack;
  browser: OpenBrowser;
  callback: Callback;
  memory: AppMemory;
  serve: Flow['serve'];
}

async function openFlow({
  kind,
  stack,
  browser,
  callback,
  memory,
  serve,
}: FlowWishes): Promise<Flow> {
  const place = await makePlace(kind, stack);
  const port = await freePort();
  const page = await browser.newPage();
  const flow: Flow = {
    place,
    port,
    callback,
    memory,
    page,
    serve,
    server: await serve(place, port),
  };
  stack.defer(() => flow.server[Symbol.asyncDispose]());
  stack.defer(() => page.context().close());
  return flow;
}

async function makePlace(kind: StoreKind, stack: AsyncDisposableStack): Promise<ProjectPlace> {
  const { path: folder } = stack.use(await temporaryFolder());
  await copyBookshop(folder);
  const databaseUrl =
    kind === 'postgres' ? await stack.use(await sharedPostgres()).createDatabase() : undefined;
  const place: ProjectPlace = { folder, databaseUrl };
  const added = await runCastellan(
    place,
    ['users', 'add', USER, '--role', 'clerk', '--password-stdin'],
    PASSWORD,
  );
  assert.equal(added.code, 0, added.stderr);
  return place;
}

async function mainJob(flow: Flow, mode: Negotiation, restarts: boolean): Promise<void> {
  const restart = async (): Promise<void> => {
    if (!restarts) return;
    assert.equal(await flow.server.stop(), 0);
    flow.server = await flow.serve(flow.place, flow.port);
  };
  const { memory } = flow;
  const mcpUrl = `${flow.server.url}/mcp`;
  await using first = await connectClient(mcpUrl, memory, mode);
  assert.equal(await wantsLogin(first.client.listTools()), true);
  const refused = first.answers.find((answer) => answer.status === 401);
  assert.match(refused?.challenge ?? '', /^Bearer resource_metadata="[^"]+", scope="mcp"$/);

  const parameters = await logInAndAllow(flow, { withPassword: true });
  await restart();
  await first.transport.finishAuth(parameters);
  await restart();
  await useTools(first.client);
  await refresh(flow, first.client);
  await restart();

  const revoked = await revokeFromAnotherProcess(flow);
  assert.ok(revoked >= 2, 'an access token and a refresh token at least');
  await assertDead(flow, mcpUrl);

  // A call, because the client may keep the list for the five minutes that it was told.
  const call = first.client.callTool({ name: 'books-get', arguments: { id: 1 } });
  assert.equal(await wantsLogin(call), true, 'the client asks for a new login');
  await using second = await connectClient(mcpUrl, memory, mode);
  await second.transport.finishAuth(await logInAndAllow(flow, { withPassword: false }));
  await useTools(second.client);
}

/** The person's part, in Chromium. Signed in already, there is only consent to give. */
async function logInAndAllow(
  flow: Flow,
  { withPassword }: { withPassword: boolean },
): Promise<URLSearchParams> {
  const { page, memory, callback } = flow;
  assert.ok(memory.authorizationUrl);
  await page.goto(memory.authorizationUrl.href);
  if (withPassword) {
    assert.match(await page.locator('h1').innerText(), /Sign in to\s+Bookshop/);
    assert.match(await page.locator('.who').innerText(), /Flow client/);
    await page.getByLabel('User name').fill(USER);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  assert.match(await page.locator('h1').innerText(), /wants to connect to\s+Bookshop/);
  const offered = await page
    .getByRole('checkbox')
    .evaluateAll((boxes) => boxes.map((box) => box.getAttribute('value')));
  assert.deepEqual(offered, ['salesReader', 'orderTaker']);
  const [parameters] = await Promise.all([
    callback.next(),
    page.getByRole('button', { name: 'Allow' }).click(),
  ]);
  assert.equal(parameters.get('iss'), `${flow.server.url}/mcp`);
  return parameters;
}

async function useTools(
  client: Awaited<ReturnType<typeof connectClient>>['client'],
): Promise<void> {
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name),
    [
      'books-get',
      'books-search',
      'customers-orders',
      'customers-search',
      'orders-place',
      'sales-year-total',
    ],
  );
  const result = await client.callTool({
    name: 'books-search',
    arguments: { words: 'pride and prejudice' },
  });
  const { books } = result.structuredContent as {
    books: { title: string; author: string; year: number }[];
  };
  assert.deepEqual(
    books.map(({ title, author, year }) => ({ title, author, year })),
    [{ title: 'Pride and Prejudice', author: 'Jane Austen', year: 1813 }],
  );
}

/** An access token that no longer counts makes the client refresh by itself. */
async function refresh(
  { memory }: Flow,
  client: Awaited<ReturnType<typeof connectClient>>['client'],
): Promise<void> {
  const before = memory.stored;
  assert.ok(before?.refresh_token);
  memory.stored = { ...before, access_token: 'expired' };
  await useTools(client);
  assert.notEqual(memory.stored?.access_token, 'expired');
  assert.notEqual(memory.stored?.refresh_token, before.refresh_token);
}

async function revokeFromAnotherProcess({ place, memory }: Flow): Promise<number> {
  const listed = await runCastellan(place, ['grants', 'list', '--user', USER, '--json']);
  assert.equal(listed.code, 0, listed.stderr);
  const grants = JSON.parse(listed.stdout) as { id: string; status: string; clientId: string }[];
  const active = grants.filter((grant) => grant.status === 'active');
  assert.equal(active.length, 1);
  assert.equal(active[0]?.clientId, memory.clientId);
  const revoked = await runCastellan(place, ['grants', 'revoke', active[0]?.id ?? '', '--json']);
  assert.equal(revoked.code, 0, revoked.stderr);
  return (JSON.parse(revoked.stdout) as { tokens: number }).tokens;
}

async function assertDead({ memory, server }: Flow, mcpUrl: string): Promise<void> {
  const call = await fetch(mcpUrl, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${memory.stored?.access_token}`,
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  assert.equal(call.status, 401);
  const origin = new URL(mcpUrl).origin;
  assert.equal(
    call.headers.get('www-authenticate'),
    `Bearer error="invalid_token", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="mcp"`,
  );
  const token = await fetch(`${server.url}/mcp/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: memory.stored?.refresh_token ?? '',
      client_id: memory.clientId ?? '',
    }),
  });
  assert.equal(token.status, 400);
  assert.equal(((await token.json()) as { error: string }).error, 'invalid_grant');
}
