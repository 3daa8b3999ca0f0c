import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SECOND } from '#src/clock.ts';
import type { ConfigInput } from '#src/config.ts';
import { DIALECTS } from '../support/app.ts';
import type { Answer, TokenAnswer } from '../support/oauth-client.ts';
import { readChallenge } from './discovery.ts';
import { Installation, type Return } from './installation.ts';
import type { ClientPlay } from './play.ts';
import { openStage, type Stage } from './stage.ts';

/*
 * The steps that every client has to get through, as tests: `client > database > step`. The run ends
 * with a table of them.
 */

const STEPS = [
  'discover',
  'register',
  'authorize',
  'token',
  'call',
  'refresh',
  'revoke',
  'again',
] as const;

export type Steps = Record<(typeof STEPS)[number], () => Promise<void>>;

/** What else is known of a client, by name: each is played on a stage that others have used. */
export type Habits = Record<string, (visit: Visit) => Promise<void>>;

export interface Visit {
  stage: Stage;
  /** A new installation of the client, with a person who has not logged in. */
  install: (changes?: Partial<ClientPlay>) => Installation;
}

export interface Scene {
  client: string;
  config: ConfigInput;
  prepare(stage: Stage): void;
  steps(stage: Stage): Steps;
  habits: Record<string, (stage: Stage) => Promise<void>>;
}

/** Declares the tests of one client. */
export function describeClient(scene: Scene): void {
  describe(scene.client, () => {
    for (const dialect of DIALECTS) describe(dialect, () => describeOn(scene, dialect));
  });
}

function describeOn(scene: Scene, dialect: (typeof DIALECTS)[number]): void {
  let stage: Stage;
  let steps: Steps;
  let missed: string | undefined;
  before(async () => {
    stage = await openStage(dialect, scene.config);
    scene.prepare(stage);
    steps = scene.steps(stage);
  });
  after(() => stage[Symbol.asyncDispose]());
  for (const step of STEPS) {
    it(step, async (test) => {
      if (missed !== undefined) return test.skip(`after ${missed}`);
      missed = step;
      await steps[step]();
      missed = undefined;
    });
  }
  const habits = Object.entries(scene.habits);
  if (habits.length === 0) return;
  describe('habits', () => {
    for (const [name, play] of habits) it(name, () => play(stage));
  });
}

/** Declares the tests of a client that is described by its play. */
export function playClient(play: ClientPlay, habits: Habits = {}): void {
  describeClient({
    client: play.client,
    config: configFor(play),
    prepare: ({ hosts }) => publish(play, hosts),
    steps: (stage) => stepsOf(new Installation(stage.app, play), stage),
    habits: Object.fromEntries(
      Object.entries(habits).map(([name, run]) => [
        name,
        (stage: Stage) =>
          run({
            stage,
            install: (changes = {}) => new Installation(stage.app, { ...play, ...changes }),
          }),
      ]),
    ),
  });
}

function configFor({ server = {}, is }: ClientPlay): ConfigInput {
  if (is.kind !== 'document' || is.isPinned !== true) return server;
  const metadataDocuments = { pinned: { [is.id]: is.metadata } };
  return { ...server, oauth: { ...server.oauth, metadataDocuments } };
}

function publish({ is }: ClientPlay, hosts: Stage['hosts']): void {
  if (is.kind !== 'document') return;
  if (is.isPinned === true) hosts.answer(is.id, { status: 403 });
  else hosts.publish(is.id, is.metadata);
  if (is.signs === undefined) return;
  const { signer, keysUrl } = is.signs;
  hosts.answer(keysUrl, { body: JSON.stringify({ keys: [signer.publicJwk] }) });
}

function stepsOf(client: Installation, stage: Stage): Steps {
  return {
    async discover() {
      const { challenge } = await client.discover();
      assert.deepEqual([challenge.scope, challenge.error], ['mcp', undefined]);
    },
    async register() {
      await client.register();
    },
    async authorize() {
      assertReturn(client, await client.authorize());
    },
    async token() {
      assertTokens(await client.redeem());
    },
    async call() {
      assertServed(await client.call());
    },
    refresh: () => refresh(client, stage),
    async revoke() {
      const tokens = await stage.revoke(client.oauth.id);
      assert.ok(tokens >= 2, 'an access token and a refresh token at least');
      await assertDead(client);
    },
    async again() {
      const { oauth: before, tokens: old, play } = client;
      await client.discover();
      if (play.is.kind === 'registers' && play.is.forgets === true) await client.register();
      if (before.secret === undefined) assert.equal(client.oauth.id, before.id);
      const back = await client.authorize();
      assertReturn(client, back);
      assert.ok(back.consent, 'what was taken back is asked for again');
      assertTokens(await client.redeem());
      assertServed(await client.call());
      assert.equal((await client.call(old.accessToken)).status, 401);
      assertServed(await client.call((await client.refresh()).accessToken));
    },
  };
}

/** Expired; refreshed by several processes at once; and again, because the answer was lost. */
async function refresh(client: Installation, { clock }: Stage): Promise<void> {
  const { tokens, found } = client;
  clock.advance((Number(tokens.body['expires_in']) + 1) * SECOND);
  const expired = readChallenge(await client.call());
  assert.deepEqual(expired, { ...found.challenge, error: 'invalid_token' });
  const answers = await Promise.all(Array.from({ length: 5 }, () => client.refresh()));
  const repeated = await client.refresh();
  for (const answer of [...answers, repeated]) {
    assertTokens(answer);
    assert.equal(answer.refreshToken, repeated.refreshToken);
    assertServed(await client.call(answer.accessToken));
  }
  assert.notEqual(repeated.refreshToken, tokens.refreshToken);
  client.keep(repeated);
  client.keep(await client.refresh());
  assertTokens(client.tokens);
  assertServed(await client.call());
}

/** Back at the client, with everything as it was sent. */
function assertReturn({ site }: Installation, { authorization, returned, consent }: Return): void {
  assert.ok(returned.href.startsWith(`${authorization.redirectUri}?`), returned.href);
  assert.equal(returned.searchParams.get('state'), authorization.state);
  assert.equal(returned.searchParams.get('iss'), `${site.origin}/mcp`);
  if (consent === undefined) return;
  // Chromium applies it to where a form ends up, so it must not keep the person here.
  const policy = consent.headers.get('content-security-policy') ?? '';
  assert.doesNotMatch(policy, /form-action/);
}

export function assertTokens(answer: TokenAnswer): void {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const { token_type: type, expires_in: seconds, scope } = answer.body;
  assert.match(String(type), /^bearer$/i);
  assert.ok(Number.isInteger(seconds) && Number(seconds) > 0, `expires_in ${String(seconds)}`);
  assert.equal(scope, 'mcp writer');
  assert.ok(answer.accessToken !== '' && answer.refreshToken !== '');
}

/** The tool ran, for the person who logged in. */
export function assertServed(answer: Answer): void {
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.text, /walter/);
}

/** The next request is refused, and so is the refresh, in the words that clients act upon. */
async function assertDead(client: Installation): Promise<void> {
  const refused = readChallenge(await client.call());
  assert.deepEqual(refused, { ...client.found.challenge, error: 'invalid_token' });
  const answer = await client.refresh();
  assert.deepEqual([answer.status, answer.error], [400, 'invalid_grant'], answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
}
