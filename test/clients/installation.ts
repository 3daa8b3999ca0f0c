import assert from 'node:assert/strict';
import {
  createOAuthClient,
  passPages,
  REGISTER_PATH,
  type Answer,
  type Authorization,
  type ClientOptions,
  type OAuthClient,
  type Send,
  type TokenAnswer,
} from '../support/oauth-client.ts';
import { createPerson, type Page, type Person, type Site } from '../support/person.ts';
import { ASSERTION_TYPE, assertionOf } from '../support/signer.ts';
import { discover, readChallenge, type Found } from './discovery.ts';
import { McpSide } from './mcp.ts';
import type { ClientPlay, Registering } from './play.ts';
import { fromPage, fromProgram, pathOf } from './wire.ts';

/** A code that came back, with the request that it answers. */
export interface Return {
  authorization: Authorization;
  returned: URL;
  /** The page on which the person allowed it, when one was shown. */
  consent: Page | undefined;
}

/**
 * One installation of a client with the person who uses it. It does what its play says and remembers
 * what such an app would; it fails where the app would give up.
 */
export class Installation {
  readonly play: ClientPlay;
  readonly site: Site;
  readonly send: Send;
  readonly person: Person;
  readonly #mcp: McpSide;
  #found: Found | undefined;
  #oauth: OAuthClient | undefined;
  #return: Return | undefined;
  #tokens: TokenAnswer | undefined;
  #logins = 0;

  constructor(site: Site, play: ClientPlay) {
    const { page, sends = {} } = play;
    this.play = play;
    this.site = site;
    this.send = page === undefined ? fromProgram(site, sends) : fromPage(site, page, sends);
    this.person = createPerson(site);
    this.#mcp = new McpSide(this.send, play);
  }

  get found(): Found {
    return known(this.#found);
  }

  get oauth(): OAuthClient {
    return known(this.#oauth);
  }

  get tokens(): TokenAnswer {
    return known(this.#tokens);
  }

  /** Uses the MCP URL without a token, and follows the challenge. */
  async discover(): Promise<Found> {
    const challenge = readChallenge(await this.#mcp.callTool(undefined));
    const { looksFor, revision } = this.play;
    this.#found = await discover(this.send, this.site, { challenge, looksFor, revision });
    return this.#found;
  }

  /** Gets a client id: from the server, or its own when the metadata promises that it counts. */
  async register(): Promise<void> {
    const { is } = this.play;
    const { server } = this.found;
    if (is.kind === 'document') {
      assert.equal(server['client_id_metadata_document_supported'], true);
      assert.ok((server['token_endpoint_auth_methods_supported'] as string[]).includes('none'));
      return this.#become({ id: is.id });
    }
    const times = is.times ?? 1;
    for (let count = 0; count < times; count += 1) await this.#registerOnce(is);
  }

  /** Sends the person to the authorization endpoint, and takes the code that comes back. */
  async authorize(): Promise<Return> {
    const { play, oauth, found } = this;
    const redirectUri = play.redirectUris[this.#logins] ?? play.redirectUris.at(-1) ?? '';
    const authorization = oauth.authorize({
      redirect_uri: redirectUri,
      ...play.authorizes?.(found),
    });
    await play.tries?.(this.send, pathOf(this.site, authorization.url));
    const { returned, consent } = await passPages(this.person, authorization, { name: 'walter' });
    this.#return = { authorization, returned, consent };
    this.#logins += 1;
    return this.#return;
  }

  async redeem(): Promise<TokenAnswer> {
    const { authorization, returned } = known(this.#return);
    const answer = await this.oauth.redeem(
      authorization,
      returned,
      this.play.redeems?.(this.found),
    );
    assert.equal(answer.status, 200, answer.text);
    this.#tokens = answer;
    return answer;
  }

  /** One refresh; what it got counts only when it is kept. */
  refresh(refreshToken = this.tokens.refreshToken): Promise<TokenAnswer> {
    return this.oauth.refresh(refreshToken, this.play.refreshes?.(this.found));
  }

  keep(tokens: TokenAnswer): void {
    assert.equal(tokens.status, 200, tokens.text);
    this.#tokens = tokens;
  }

  /** Calls a tool. */
  call(accessToken = this.tokens.accessToken): Promise<Answer> {
    return this.#mcp.callTool(accessToken);
  }

  /** All the way to tokens. */
  async logIn(): Promise<void> {
    await this.discover();
    await this.register();
    await this.authorize();
    await this.redeem();
  }

  async #registerOnce(is: Registering): Promise<void> {
    const answer = await this.send(REGISTER_PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(is.metadata),
    });
    assert.equal(answer.status, 201, answer.text);
    const id = answer.body['client_id'];
    const secret = answer.body['client_secret'];
    assert.ok(typeof id === 'string' && id !== '');
    assert.deepEqual(answer.body['redirect_uris'], is.metadata['redirect_uris']);
    assert.ok(!Object.values(answer.body).includes(null), 'no nulls');
    this.#become({
      id,
      ...(typeof secret === 'string' ? { secret } : {}),
      ...(is.auth === undefined ? {} : { auth: is.auth }),
    });
  }

  #become(options: Omit<ClientOptions, 'redirectUri' | 'send'>): void {
    const { play, site, send } = this;
    this.#oauth = createOAuthClient(site, {
      ...options,
      redirectUri: play.redirectUris[0],
      send,
      ...this.#proof(),
    });
  }

  #proof(): Pick<ClientOptions, 'assert'> {
    const { is } = this.play;
    if (is.kind !== 'document' || is.signs === undefined) return {};
    const { signer } = is.signs;
    const about = { clientId: is.id, audience: String(this.found.server['token_endpoint']) };
    return {
      assert: async () => ({
        client_assertion_type: ASSERTION_TYPE,
        client_assertion: await assertionOf(signer, about),
      }),
    };
  }
}

function known<Value>(value: Value | undefined): Value {
  assert.ok(value !== undefined, 'an earlier step is missing');
  return value;
}
