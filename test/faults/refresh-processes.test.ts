import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SECOND } from '#src/clock.ts';
import { digest } from '#src/ids.ts';
import { findGrant } from '#src/storage/grants.ts';
import { openStore, type Store } from '#src/storage/open.ts';
import {
  copyBookshop,
  runCastellan,
  serveProject,
  type ProjectPlace,
} from '../support/castellan.ts';
import {
  callTool,
  CLI_METADATA,
  obtainTokens,
  registerClient,
  send,
  TOKEN_PATH,
  type Answer,
  type Changes,
  type OAuthClient,
} from '../support/oauth-client.ts';
import { createPerson, type Person, type Site } from '../support/person.ts';
import { sharedPostgres } from '../support/postgres.ts';
import type { StoreKind } from '../support/stores.ts';
import { freePort, temporaryFolder } from '../support/temp.ts';
import {
  startRefreshProcesses,
  wereTogether,
  type RefreshJob,
  type RefreshProcesses,
  type RefreshReport,
} from './refresh-processes.ts';

/*
 * Refreshing as it happens: an app that runs several times, servers in processes of their own, answers
 * that get lost, thieves. Every round is one login and all that may follow; it must never differ.
 * `npm run test:rounds` plays 200 rounds of each.
 */

const ROUNDS = Number(process.env['CASTELLAN_TEST_ROUNDS'] ?? 10);
const PROCESSES = 5;
const USER = 'carl.clerk';
const PASSWORD = 'a password of the refresh test';
const RETRY_SECONDS = 10;

interface House extends AsyncDisposable {
  /** One server, or two on one database. */
  servers: Site[];
  store: Store;
  person: Person;
  /** A public client, and one with a secret. */
  clients: OAuthClient[];
  processes: RefreshProcesses;
}

async function openHouse(wishes: {
  kind: StoreKind;
  servers: number;
  refreshRetrySeconds: number;
}): Promise<House> {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await temporaryFolder());
  await copyBookshop(folder);
  const databaseUrl =
    wishes.kind === 'postgres'
      ? await stack.use(await sharedPostgres()).createDatabase()
      : undefined;
  const place: ProjectPlace = { folder, databaseUrl };
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const { refreshRetrySeconds } = wishes;
  const config = { publicUrl: origin, oauth: { refreshRetrySeconds } };
  await writeFile(
    join(folder, 'castellan.config.ts'),
    `export default ${JSON.stringify(config)};\n`,
  );
  const args = ['users', 'add', USER, '--role', 'clerk', '--password-stdin'];
  const added = await runCastellan(place, args, PASSWORD);
  assert.equal(added.code, 0, added.stderr);
  const servers: Site[] = [];
  for (let count = 0; count < wishes.servers; count += 1) {
    const at = count === 0 ? port : await freePort();
    const { url } = stack.use(await serveProject(place, at, 'warn'));
    servers.push({ origin, url: count === 0 ? url : `http://127.0.0.1:${at}` });
  }
  const [first] = servers;
  assert.ok(first);
  const state = databaseUrl ?? `sqlite:${join(folder, '.castellan', 'state.db')}`;
  const store = stack.use(await openStore({ url: state, auditKey: randomBytes(32) }));
  const processes = stack.use(await startRefreshProcesses(PROCESSES));
  const secretive = { ...CLI_METADATA, token_endpoint_auth_method: 'client_secret_post' };
  const clients = [
    await registerClient(first),
    await registerClient(first, secretive, { auth: 'post' }),
  ];
  const owned = stack.move();
  return {
    servers,
    store,
    person: createPerson(first),
    clients,
    processes,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** One login of a client, and the ways in which its tokens are used. */
interface Round {
  house: House;
  client: OAuthClient;
  grantId: string;
  /** A request of one process, which goes to one of the servers; its tool call goes to another. */
  job: (token: string, index?: number) => RefreshJob;
}

async function logIn(house: House, round: number): Promise<{ round: Round; token: string }> {
  const { servers, clients, person } = house;
  const client = clients[round % clients.length];
  assert.ok(client);
  const login = { name: USER, password: PASSWORD };
  const tokens = await obtainTokens(person, client, login);
  const at = (index: number): string => servers[index % servers.length]?.url ?? '';
  return {
    token: tokens.refreshToken,
    round: {
      house,
      client,
      grantId: grantOf(tokens.accessToken),
      job: (token, index = 0) => ({
        url: at(index),
        toolUrl: at(index + 1),
        form: {
          grant_type: 'refresh_token',
          refresh_token: token,
          client_id: client.id,
          ...(client.secret === undefined ? {} : { client_secret: client.secret }),
        },
      }),
    },
  };
}

/** The grant that an access token names. */
function grantOf(accessToken: string): string {
  const [, payload = ''] = accessToken.split('.');
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { gid: string }).gid;
}

/** The successor that a process got; it called a tool with the access token. */
function successorIn(report: RefreshReport | undefined): string {
  assert.ok(report);
  assert.equal(report.status, 200, JSON.stringify(report.body));
  assert.equal(report.toolStatus, 200);
  return String(report.body['refresh_token']);
}

/** Whatever is wrong with a request, the token is as it was. */
async function assertMistakesConsumeNothing(
  { house, client }: Round,
  token: string,
): Promise<void> {
  const other = house.clients.find((one) => one !== client);
  assert.ok(other);
  const mistakes: [what: string, send: () => Promise<Answer>, status: number, error: string][] = [
    ['another client', () => other.refresh(token), 400, 'invalid_grant'],
    ['a wrong secret', changed({ client_secret: 'wrong' }), 401, 'invalid_client'],
    ['another resource', changed({ resource: 'https://other.example/' }), 400, 'invalid_target'],
    ['a scope beyond the grant', changed({ scope: 'mcp priceManager' }), 400, 'invalid_scope'],
    ['a doubled parameter', changed({ scope: ['mcp', 'mcp'] }), 400, 'invalid_request'],
    ['the token twice', changed({ refresh_token: [token, token] }), 400, 'invalid_request'],
    [
      'a body that is no form',
      () => sendBody(`{"refresh_token":"${token}"}`),
      400,
      'invalid_request',
    ],
    ['a body that is no text', () => sendBody(Buffer.from([0xff, 0xfe])), 400, 'invalid_request'],
  ];
  function changed(changes: Changes): () => Promise<Answer> {
    return () => client.refresh(token, changes);
  }
  function sendBody(body: string | Buffer<ArrayBuffer>): Promise<Answer> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return send(client.site, TOKEN_PATH, { method: 'POST', headers, body });
  }
  for (const [what, sendIt, status, error] of mistakes) {
    const answer = await sendIt();
    assert.equal(answer.status, status, `${what}: ${answer.text}`);
    assert.equal(answer.body['error'], error, what);
  }
  const row = await house.store.db
    .selectFrom('tokens')
    .select('used_at')
    .where('digest', '=', digest(token))
    .executeTakeFirst();
  assert.equal(row?.used_at, null);
}

/** Nothing that the grant ever gave works any more, and a row says why. */
async function assertRevoked(
  { house, client, grantId, job }: Round,
  given: { refreshToken: string; accessTokens: readonly string[] },
): Promise<void> {
  const grant = await findGrant(house.store.db, grantId);
  assert.equal(grant?.revokedReason, 'refresh_reuse');
  for (const [index, server] of house.servers.entries()) {
    for (const token of given.accessTokens) {
      const call = { name: 'books-get', arguments: { id: 1 } };
      assert.equal((await callTool(server, token, call)).status, 401);
    }
    const [late] = await house.processes.refresh([job(given.refreshToken, index)]);
    assert.deepEqual([late?.status, late?.body['error']], [400, 'invalid_grant']);
  }
  const rows = await house.store.db
    .selectFrom('audit')
    .select(['action', 'outcome', 'client_id', 'detail'])
    .where('grant_id', '=', grantId)
    .where('action', 'in', ['grant.revoked', 'token.refresh_refused'])
    .orderBy('seq')
    .execute();
  const told = rows.map(({ action, outcome, client_id: by, detail }) => {
    const { reason } = JSON.parse(detail) as { reason?: string };
    return [action, outcome, by, reason];
  });
  // The first is the other client's attempt, which changed nothing.
  const [foreign, ...ended] = told[0]?.[3] === 'other_client' ? told : [undefined, ...told];
  assert.ok(foreign === undefined || foreign[2] !== client.id);
  assert.deepEqual(ended, [
    ['grant.revoked', 'done', client.id, 'refresh_reuse'],
    ['token.refresh_refused', 'refused', client.id, 'reuse'],
  ]);
}

const HOUSES: { kind: StoreKind; servers: number }[] = [
  { kind: 'sqlite', servers: 1 },
  { kind: 'postgres', servers: 1 },
  { kind: 'postgres', servers: 2 },
];

for (const { kind, servers } of HOUSES) {
  describe(`refresh by several processes, ${servers} of the server, on ${kind}`, () => {
    it('keeps honest ones in and ends with the first sign of a thief, in every round', async (t) => {
      await using house = await openHouse({ kind, servers, refreshRetrySeconds: RETRY_SECONDS });
      let together = 0;
      for (let count = 0; count < ROUNDS; count += 1) {
        const { round, token } = await logIn(house, count);
        if (await playRound(round, token, count % 4 < 2)) together += 1;
      }
      t.diagnostic(`${together} of ${ROUNDS} crowds were on their way before the first answer`);
      assert.ok(together > 0, 'the processes never refreshed at the same moment');
    });

    it('lets one in and ends the grant with the second use while refreshRetrySeconds is 0', async () => {
      await using house = await openHouse({ kind, servers, refreshRetrySeconds: 0 });
      for (let count = 0; count < ROUNDS; count += 1) {
        const { round, token } = await logIn(house, count);
        const jobs = Array.from({ length: PROCESSES }, (_, index) => round.job(token, index));
        const reports = await house.processes.refresh(jobs);
        const good = reports.filter((report) => report.status === 200);
        assert.equal(good.length, 1);
        for (const report of reports.filter((one) => one.status !== 200)) {
          assert.deepEqual([report.status, report.body['error']], [400, 'invalid_grant']);
        }
        const refreshToken = String(good[0]?.body['refresh_token']);
        const accessTokens = good.map((report) => String(report.body['access_token']));
        await assertRevoked(round, { refreshToken, accessTokens });
      }
    });
  });
}

/** @returns whether the crowd's requests were all under way before the first was answered. */
async function playRound(round: Round, first: string, successorIsUsed: boolean): Promise<boolean> {
  const { house, job } = round;
  await assertMistakesConsumeNothing(round, first);

  const crowd = await house.processes.refresh(
    Array.from({ length: PROCESSES }, (_, index) => job(first, index)),
  );
  const successors = new Set(crowd.map(successorIn));
  assert.equal(successors.size, 1, 'they all got the same successor');
  const [second = ''] = successors;
  const accessTokens = crowd.map((report) => String(report.body['access_token']));
  assert.equal(new Set(accessTokens).size, PROCESSES);

  const [lost] = await house.processes.refresh([{ ...job(second), losesAnswer: true }]);
  assert.equal(lost?.status, 200);
  const [repeated] = await house.processes.refresh([job(second, 1)]);
  const third = successorIn(repeated);

  let newest = third;
  if (successorIsUsed) {
    const [used] = await house.processes.refresh([job(third)]);
    newest = successorIn(used);
  } else {
    await backdateUse(house.store, second, (RETRY_SECONDS + 1) * SECOND);
  }
  const [stolen] = await house.processes.refresh([job(second, 1)]);
  assert.deepEqual([stolen?.status, stolen?.body['error']], [400, 'invalid_grant']);
  await assertRevoked(round, { refreshToken: newest, accessTokens });
  return wereTogether(crowd);
}

/** Servers in other processes have no clock to advance: what happened moves into the past instead. */
async function backdateUse({ db }: Store, token: string, ms: number): Promise<void> {
  const updated = await db
    .updateTable('tokens')
    .set((eb) => ({ used_at: eb('used_at', '-', ms) }))
    .where('digest', '=', digest(token))
    .executeTakeFirst();
  assert.equal(updated.numUpdatedRows, 1n);
}
