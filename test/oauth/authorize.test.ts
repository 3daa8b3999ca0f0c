import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import {
  AUTHORIZE_PATH,
  CLI_METADATA,
  leftFor,
  obtainCode,
  obtainTokens,
  registerClient,
  send,
  type Changes,
  type OAuthClient,
} from '../support/oauth-client.ts';
import { createPerson, tickedOn, type Page } from '../support/person.ts';

/** Changes of a request; `{origin}` in them is the server's. */
function filledIn(changes: Changes, origin: string): Changes {
  return JSON.parse(JSON.stringify(changes).replaceAll('{origin}', origin)) as Changes;
}

describe('the authorization request', () => {
  let app: TestApp;
  let client: OAuthClient;
  before(async () => {
    app = await startTestApp({ dialect: 'sqlite' });
    client = await registerClient(app);
  });
  after(() => app[Symbol.asyncDispose]());

  const follow = (changes: Changes, headers?: Record<string, string>): Promise<Page> =>
    createPerson(app).follow(client.authorize(filledIn(changes, app.origin)).url, headers);

  /** Answered with a redirect to the client. */
  const REDIRECTED: [what: string, changes: Changes, error: string][] = [
    ['no PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['no challenge', { code_challenge: null }, 'invalid_request'],
    ['no challenge method, which means plain', { code_challenge_method: null }, 'invalid_request'],
    ['plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['s256', { code_challenge_method: 's256' }, 'invalid_request'],
    ['a challenge that is none', { code_challenge: 'short' }, 'invalid_request'],
    ['a challenge twice', { code_challenge: ['x'.repeat(43), 'y'.repeat(43)] }, 'invalid_request'],
    ['a challenge method twice', { code_challenge_method: ['S256', 'S256'] }, 'invalid_request'],
    ['a scope twice', { scope: ['mcp', 'mcp'] }, 'invalid_request'],
    ['a prompt twice', { prompt: ['none', 'login'] }, 'invalid_request'],
    ['a response type twice', { response_type: ['code', 'code'] }, 'invalid_request'],
    ['a nonce twice', { nonce: ['a', 'b'] }, 'invalid_request'],
    ['no response type', { response_type: null }, 'invalid_request'],
    ['the response type token', { response_type: 'token' }, 'unsupported_response_type'],
    ['the response type id_token', { response_type: 'id_token' }, 'unsupported_response_type'],
    ['a hybrid response type', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['the response mode fragment', { response_mode: 'fragment' }, 'unsupported_response_mode'],
    ['the response mode form_post', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['a request object', { request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
    [
      'a request object elsewhere',
      { request_uri: 'https://app.example/r' },
      'request_uri_not_supported',
    ],
    ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    [
      'our resource and another',
      { resource: ['{origin}/mcp', 'https://other.example/'] },
      'invalid_target',
    ],
    ['the origin as resource', { resource: '{origin}' }, 'invalid_target'],
    ['our resource with a path more', { resource: '{origin}/mcp/x' }, 'invalid_target'],
    ['our resource with a query', { resource: '{origin}/mcp?x=1' }, 'invalid_target'],
    ['our resource with a fragment', { resource: '{origin}/mcp#x' }, 'invalid_target'],
    ['a resource that is no URL', { resource: 'mcp' }, 'invalid_target'],
    ['an unknown prompt', { prompt: 'create' }, 'invalid_request'],
    ['prompt none with another', { prompt: 'none login' }, 'invalid_request'],
    ['prompt none of a stranger', { prompt: 'none' }, 'login_required'],
  ];
  for (const [what, changes, error] of REDIRECTED) {
    it(`sends ${what} back as ${error}, with state and iss`, async () => {
      const back = leftFor(await follow({ state: 's/==', ...changes }));
      assert.equal(back.origin + back.pathname, client.redirectUri);
      // Other response types have their answers in the fragment, errors too.
      const answer = back.hash === '' ? back.searchParams : new URLSearchParams(back.hash.slice(1));
      assert.deepEqual(
        Object.fromEntries([...answer].filter(([name]) => name !== 'error_description')),
        {
          error,
          state: 's/==',
          iss: `${app.origin}/mcp`,
        },
      );
    });
  }

  /** Answered with a page: the way back is not to be trusted. */
  const SHOWN: [what: string, changes: Changes, title: RegExp][] = [
    ['another redirect URI', { redirect_uri: 'https://evil.example/' }, /evil\.example/],
    [
      'a redirect URI that was registered with an evil ending',
      { redirect_uri: 'http://127.0.0.1:7000/callback/../x' },
      /./,
    ],
    ['javascript: as the redirect URI', { redirect_uri: 'javascript:alert(1)' }, /./],
    [
      'a redirect URI twice',
      { redirect_uri: ['http://127.0.0.1:7000/callback', 'https://evil.example/'] },
      /./,
    ],
    ['an empty redirect URI twice', { redirect_uri: ['', ''] }, /./],
    ['a client id twice', { client_id: ['a', 'b'] }, /./],
    ['an unknown client', { client_id: 'cli_0' }, /./],
    ['a client id with a NUL', { client_id: 'cli\0' }, /./],
    ['no client', { client_id: null }, /./],
    [
      'a wrong redirect URI and no PKCE',
      { redirect_uri: 'https://evil.example/', code_challenge: null },
      /./,
    ],
    [
      'a wrong redirect URI and another resource',
      { redirect_uri: 'https://evil.example/', resource: 'https://evil.example/' },
      /./,
    ],
    [
      'a wrong redirect URI and prompt none',
      { redirect_uri: 'https://evil.example/', prompt: 'none' },
      /./,
    ],
  ];
  for (const [what, changes, shown] of SHOWN) {
    it(`shows a page for ${what}`, async () => {
      const page = await follow(changes);
      assert.equal(page.leftFor, undefined);
      assert.equal(page.status, 400);
      assert.equal(page.headers.get('location'), null);
      assert.match(page.html, shown);
      assert.equal(page.forms.length, 0);
      assert.match(
        page.headers.get('content-security-policy') ?? '',
        /default-src 'none'.*form-action 'none'/,
      );
    });
  }

  it('escapes what it quotes', async () => {
    const page = await follow({ redirect_uri: 'https://evil.example/"><script>alert(1)</script>' });
    assert.ok(!page.html.includes('<script>'));
    assert.match(page.html, /&lt;script&gt;/);
  });

  it('tells a client that asks for JSON where to register', async () => {
    const page = await follow({ client_id: 'cli_0' }, { accept: 'application/json' });
    assert.equal(page.status, 400);
    const body = JSON.parse(page.html) as Record<string, unknown>;
    assert.equal(body['error'], 'invalid_client');
    assert.match(String(body['error_description']), /not registered/);
    assert.equal(body['registration_endpoint'], `${app.origin}/mcp/oauth/register`);
  });

  it('does not tell others where to register', async () => {
    const page = await follow(
      { redirect_uri: 'https://evil.example/' },
      { accept: 'application/json' },
    );
    assert.equal(page.status, 400);
    assert.ok(!page.html.includes('registration_endpoint'));
  });

  for (const path of [
    `${AUTHORIZE_PATH}/`,
    '/mcp/oauth/AUTHORIZE',
    '/oauth/authorize',
    '/mcp/mcp/oauth/authorize',
  ]) {
    it(`is not at ${path}`, async () => {
      const { search } = new URL(client.authorize().url);
      assert.equal((await send(app, path + search)).status, 404);
    });
  }

  it('is not for POST', async () => {
    assert.equal((await send(app, AUTHORIZE_PATH, { method: 'POST' })).status, 405);
  });

  const STATES: [what: string, state: string][] = [
    ['with / and ==', 'a/b+c=='],
    ['of 2,000 characters', 'x'.repeat(2_000)],
    ['of 8,000 characters', 'y'.repeat(8_000)],
    ['with everything that means something', `&=?#%25+ "'<>\\{}|^~[]\`;,/:@!$()*`],
    ['beyond ASCII', 'žluťoučký 🐎'],
    ['of one character', '0'],
  ];
  for (const [what, state] of STATES) {
    it(`returns a state ${what} as it was`, async () => {
      const { returned } = await obtainCode(createPerson(app), client, { changes: { state } });
      assert.equal(returned.searchParams.get('state'), state);
      const back = leftFor(await follow({ state, scope: ['a', 'b'] }));
      assert.equal(back.searchParams.get('state'), state);
    });
  }

  it('returns no state that was sent twice', async () => {
    const back = leftFor(await follow({ state: ['a', 'b'] }));
    assert.equal(back.searchParams.get('error'), 'invalid_request');
    assert.equal(back.searchParams.get('state'), null);
  });

  it('returns no state where there was none', async () => {
    const { returned } = await obtainCode(createPerson(app), client, { changes: { state: null } });
    assert.equal(returned.searchParams.get('state'), null);
  });

  it('keeps the query of a redirect URI', async () => {
    const uri = 'https://app.example/cb?tenant=1&x=%2F';
    const web = await registerClient(app, { ...CLI_METADATA, redirect_uris: [uri] });
    const { returned } = await obtainCode(createPerson(app), web);
    assert.ok(returned.href.startsWith(`${uri}&`), returned.href);
  });

  const RESOURCES: [what: string, resource: string | string[] | null][] = [
    ['our resource', '{origin}/mcp'],
    ['a slash more', '{origin}/mcp/'],
    ['none', null],
    ['an empty one', ''],
    ['several that are equal', ['{origin}/mcp', '{origin}/mcp/', '{origin}/mcp']],
  ];
  for (const [what, resource] of RESOURCES) {
    it(`takes ${what} as the resource, at every step`, async () => {
      const changes = filledIn({ resource }, app.origin);
      const { authorization, returned } = await obtainCode(createPerson(app), client, { changes });
      const tokens = await client.redeem(authorization, returned, changes);
      assert.equal(tokens.status, 200, tokens.text);
      const refreshed = await client.refresh(tokens.refreshToken, changes);
      assert.equal(refreshed.status, 200, refreshed.text);
      const [, payload = ''] = refreshed.accessToken.split('.');
      const { aud } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { aud: string };
      assert.equal(aud, `${app.origin}/mcp`);
    });
  }
});

describe('scopes', () => {
  let app: TestApp;
  let client: OAuthClient;
  before(async () => {
    app = await startTestApp({ dialect: 'sqlite' });
    client = await registerClient(app);
  });
  after(() => app[Symbol.asyncDispose]());

  const ASKED: [what: string, scope: string | null, offered: string[]][] = [
    ['the base scope alone', 'mcp', ['writer', 'admin']],
    ['nothing', null, ['writer', 'admin']],
    ['an empty scope', '', ['writer', 'admin']],
    ['only white space', ' \t ', ['writer', 'admin']],
    ['unknown scopes', 'openid email profile offline_access', ['writer', 'admin']],
    ['a privilege', 'mcp reader', ['reader']],
    ['a privilege without the base scope', 'reader', ['reader']],
    ['two privileges in the other order', 'admin reader', ['reader', 'admin']],
    ['a leading space', ' mcp reader', ['reader']],
    ['double spaces', 'mcp  reader   admin ', ['reader', 'admin']],
    ['tabs and line breaks', 'mcp\treader\nadmin\r\n', ['reader', 'admin']],
    ['a no-break space', 'mcp\u00a0reader', ['reader']],
    ['the same one twice', 'reader reader', ['reader']],
    ['characters that no scope has', 'mcp reader "\\ é', ['reader']],
    ['a thousand unknown ones', `${'x '.repeat(1_000)}mcp`, ['writer', 'admin']],
  ];
  for (const [what, scope, offered] of ASKED) {
    it(`offers what was asked for: ${what}`, async () => {
      const person = createPerson(app);
      const page = await person.follow(client.authorize({ scope }).url);
      const consent = await person.logIn(page, { name: 'olga' });
      assert.deepEqual(tickedOn(consent), offered);
    });
  }

  it('offers nothing beyond the roles', async () => {
    const tokens = await obtainTokens(createPerson(app), client, {
      name: 'rita',
      changes: { scope: 'mcp reader admin' },
    });
    assert.equal(tokens.body['scope'], 'mcp reader');
  });

  it('says that nothing is left when all that was asked for is beyond the roles', async () => {
    const person = createPerson(app);
    const page = await person.logIn(await person.follow(client.authorize({ scope: 'admin' }).url), {
      name: 'rita',
    });
    assert.equal(page.status, 403);
    assert.equal(page.leftFor, undefined);
  });

  it('says so too when the person has no privileges', async () => {
    const person = createPerson(app);
    const page = await person.logIn(await person.follow(client.authorize().url), { name: 'greta' });
    assert.equal(page.status, 403);
  });

  it('cannot be widened through the parameter that carries it', async () => {
    const person = createPerson(app);
    const page = await person.follow(
      client.authorize({ scope: 'reader', castellan_privileges: 'admin' }).url,
    );
    assert.deepEqual(tickedOn(await person.logIn(page, { name: 'olga' })), ['reader']);
  });
});
