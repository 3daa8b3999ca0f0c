import assert from 'node:assert/strict';
import {
  auth,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { SECOND } from '#src/clock.ts';
import { callTool, codeOf, passPages, toolCallRequest } from '../support/oauth-client.ts';
import { AppMemory } from '../support/official-client.ts';
import { createPerson, type Person } from '../support/person.ts';
import { assertServed, describeClient, type Steps } from './steps.ts';
import type { Stage } from './stage.ts';

/*
 * Version 1 of the official library, which most of the clients here are built on, does the OAuth part
 * by itself. Its newer version is in test/flows.
 */

const CALLBACK = 'http://localhost:7100/callback';

/** An app that uses the library; what it does about tokens is the library's doing. */
class App {
  readonly memory: AppMemory;
  readonly #stage: Stage;
  readonly #person: Person;

  constructor(stage: Stage, memory = new AppMemory(CALLBACK)) {
    this.#stage = stage;
    this.memory = memory;
    this.#person = createPerson(stage.app);
  }

  get mcpUrl(): string {
    return `${this.#stage.app.origin}/mcp`;
  }

  get tokens(): NonNullable<AppMemory['stored']> {
    assert.ok(this.memory.stored);
    return this.memory.stored;
  }

  /** Whatever a 401 makes the library do: a refresh, or asking for a login. */
  async answerChallenge(authorizationCode?: string): Promise<string> {
    const { resourceMetadataUrl, scope } = await this.challenge();
    assert.ok(resourceMetadataUrl && scope !== undefined);
    const wishes = { serverUrl: this.mcpUrl, resourceMetadataUrl, scope };
    return auth(
      this.memory,
      authorizationCode === undefined ? wishes : { ...wishes, authorizationCode },
    );
  }

  async challenge(): Promise<ReturnType<typeof extractWWWAuthenticateParams>> {
    const refused = await fetch(this.mcpUrl, toolCallRequest(this.memory.stored?.access_token));
    assert.equal(refused.status, 401);
    await refused.arrayBuffer();
    return extractWWWAuthenticateParams(refused);
  }

  async passPages(): Promise<URL> {
    const url = this.memory.authorizationUrl?.href ?? '';
    return (await passPages(this.#person, { url }, { name: 'walter' })).returned;
  }

  async assertServed(): Promise<void> {
    assertServed(await callTool(this.#stage.app, this.tokens.access_token));
  }

  /** Another process of the same app, with what it read from the same file. */
  twin(): App {
    const memory = new AppMemory(CALLBACK);
    const client = this.memory.clientInformation();
    if (client !== undefined) memory.saveClientInformation(client);
    memory.saveTokens(this.tokens);
    return new App(this.#stage, memory);
  }
}

function stepsOf(stage: Stage): Steps {
  const app = new App(stage);
  let returned: URL | undefined;
  const logIn = async (): Promise<void> => {
    returned = await app.passPages();
    assert.ok(returned.href.startsWith(`${CALLBACK}?`));
  };
  const redeem = async (): Promise<void> => {
    assert.ok(returned);
    assert.equal(await app.answerChallenge(codeOf(returned)), 'AUTHORIZED');
    assert.equal(app.tokens.scope, 'mcp writer');
  };
  return {
    async discover() {
      const { resourceMetadataUrl } = await app.challenge();
      assert.ok(resourceMetadataUrl);
      const found = await discoverOAuthServerInfo(app.mcpUrl, { resourceMetadataUrl });
      assert.equal(found.authorizationServerUrl, app.mcpUrl);
      assert.equal(found.authorizationServerMetadata?.issuer, app.mcpUrl);
    },
    async register() {
      assert.equal(await app.answerChallenge(), 'REDIRECT');
      assert.match(app.memory.clientId ?? '', /^cli_/);
    },
    authorize: logIn,
    token: redeem,
    call: () => app.assertServed(),
    async refresh() {
      const { refresh_token: before } = app.tokens;
      stage.clock.advance(((app.tokens.expires_in ?? 0) + 1) * SECOND);
      const twins = Array.from({ length: 4 }, () => app.twin());
      for (const answer of await Promise.all([app, ...twins].map((one) => one.answerChallenge())))
        assert.equal(answer, 'AUTHORIZED');
      for (const one of [app, ...twins]) await one.assertServed();
      assert.notEqual(app.tokens.refresh_token, before);
    },
    async revoke() {
      await stage.revoke(app.memory.clientId ?? '');
      assert.equal((await app.challenge()).error, 'invalid_token');
      assert.equal(await app.answerChallenge(), 'REDIRECT');
      assert.equal(app.memory.stored, undefined, 'a dead refresh token is forgotten');
    },
    async again() {
      await logIn();
      await redeem();
      await app.assertServed();
    },
  };
}

describeClient({
  client: 'official library, v1',
  config: {},
  prepare() {},
  steps: stepsOf,
  habits: {
    async 'registers again when the server has forgotten it'(stage) {
      const app = new App(stage);
      const gone = `cli_${'0'.repeat(30)}`;
      app.memory.saveClientInformation({ client_id: gone });
      app.memory.saveTokens({
        access_token: 'x',
        refresh_token: 'x'.repeat(43),
        token_type: 'Bearer',
      });
      assert.equal(await app.answerChallenge(), 'REDIRECT');
      assert.match(app.memory.clientId ?? '', /^cli_/);
      assert.notEqual(app.memory.clientId, gone);
    },
  },
});
