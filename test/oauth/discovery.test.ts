import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import {
  callTool,
  obtainCode,
  obtainTokens,
  register,
  registerClient,
  REGISTER_PATH,
  REVOKE_PATH,
  send,
  TOKEN_PATH,
  WEB_METADATA,
  CLI_METADATA,
  INTROSPECT_PATH,
} from '../support/oauth-client.ts';
import { createPerson, type Site } from '../support/person.ts';

const SERVER_PATHS = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/mcp',
  '/mcp/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/mcp',
  '/mcp/.well-known/openid-configuration',
];
const RESOURCE_PATHS = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
];
const JWKS_PATH = '/mcp/oauth/jwks';

const INSTALLATIONS: [
  what: string,
  config: Parameters<typeof startTestApp>[0]['config'],
  origin: string | undefined,
  issuerPath: string,
][] = [
  ['on this machine', {}, undefined, '/mcp'],
  [
    'behind a public name',
    { publicUrl: 'https://mcp.example.com' },
    'https://mcp.example.com',
    '/mcp',
  ],
  [
    'with its origin as the issuer',
    { publicUrl: 'https://mcp.example.com', oauth: { issuer: 'origin' } },
    'https://mcp.example.com',
    '',
  ],
];

for (const [what, config, publicOrigin, issuerPath] of INSTALLATIONS) {
  describe(`discovery of a server ${what}`, () => {
    let app: TestApp;
    let origin: string;
    before(async () => {
      app = await startTestApp({ dialect: 'sqlite', ...(config && { config }) });
      origin = publicOrigin ?? app.url;
    });
    after(() => app[Symbol.asyncDispose]());

    it('finds the same document at every address', async () => {
      const expected = {
        issuer: `${origin}${issuerPath}`,
        authorization_endpoint: `${origin}/mcp/oauth/authorize`,
        token_endpoint: `${origin}/mcp/oauth/token`,
        registration_endpoint: `${origin}/mcp/oauth/register`,
        revocation_endpoint: `${origin}/mcp/oauth/revoke`,
        introspection_endpoint: `${origin}/mcp/oauth/introspect`,
        introspection_endpoint_auth_methods_supported: [
          'client_secret_basic',
          'client_secret_post',
        ],
        jwks_uri: `${origin}/mcp/oauth/jwks`,
        scopes_supported: ['mcp'],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: [
          'none',
          'client_secret_basic',
          'client_secret_post',
          'private_key_jwt',
        ],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
      };
      const texts = new Set<string>();
      for (const path of SERVER_PATHS) {
        const answer = await send(app, path);
        assert.equal(answer.status, 200, path);
        assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
        assert.equal(answer.headers.get('access-control-allow-origin'), '*');
        texts.add(answer.text);
        for (const [field, value] of Object.entries(expected))
          assert.deepEqual(answer.body[field], value, field);
      }
      assert.equal(texts.size, 1);
    });

    it('finds the resource and its authorization server', async () => {
      const texts = new Set<string>();
      for (const path of RESOURCE_PATHS) {
        const answer = await send(app, path);
        assert.equal(answer.status, 200, path);
        texts.add(answer.text);
        assert.equal(answer.body['resource'], `${origin}/mcp`);
        assert.deepEqual(answer.body['authorization_servers'], [`${origin}${issuerPath}`]);
        assert.deepEqual(answer.body['scopes_supported'], ['mcp']);
        assert.deepEqual(answer.body['bearer_methods_supported'], ['header']);
      }
      assert.equal(texts.size, 1);
    });

    it('believes no header about where it is', async () => {
      const headers = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example;proto=https',
        'x-original-host': 'evil.example',
      };
      for (const path of [...SERVER_PATHS, ...RESOURCE_PATHS]) {
        const answer = await send(app, path, { headers });
        assert.equal(answer.status, 200);
        assert.ok(!answer.text.includes('evil'), path);
      }
    });

    it('goes on with the same issuer in redirects and tokens', async () => {
      const client = await registerClient(app, WEB_METADATA);
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      assert.equal(returned.searchParams.get('iss'), `${origin}${issuerPath}`);
      const tokens = await client.redeem(authorization, returned);
      assert.equal(tokens.status, 200, tokens.text);
      for (const token of [
        tokens.accessToken,
        (await client.refresh(tokens.refreshToken)).accessToken,
      ]) {
        const { iss, aud } = JSON.parse(
          Buffer.from(token.split('.')[1] ?? '', 'base64url').toString(),
        ) as Record<string, string>;
        assert.deepEqual([iss, aud], [`${origin}${issuerPath}`, `${origin}/mcp`]);
        assert.equal((await callTool(app, token)).status, 200);
      }
    });

    it('marks cookies as secure where the public URL is', async () => {
      const client = await registerClient(app, CLI_METADATA);
      const person = createPerson(app);
      await obtainCode(person, client);
      const isSecure = origin.startsWith('https:');
      assert.ok(person.cookies.all().length > 0);
      for (const cookie of person.cookies.all()) {
        assert.deepEqual(
          [cookie.name, cookie.isSecure, cookie.isHttpOnly],
          [cookie.name, isSecure, true],
        );
      }
    });
  });
}

describe('addresses that clients probe', () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp({ dialect: 'sqlite' });
  });
  after(() => app[Symbol.asyncDispose]());

  const UNKNOWN = [
    '/.well-known/unknown',
    '/.well-known/',
    '/.well-known/oauth-authorization-server/',
    '/.well-known/oauth-authorization-server/other',
    '/.well-known/oauth-protected-resource/',
    '/.well-known/oauth-protected-resource/mcp/x',
    '/.well-known/OAUTH-AUTHORIZATION-SERVER',
    '/.well-known/jwks.json',
    '/mcp/.well-known/unknown',
    '/mcp/oauth/userinfo',
    '/mcp/oauth/logout',
    '/mcp/oauth/request',
    '/mcp/oauth/token/',
    '/oauth/token',
    '/token',
  ];
  for (const path of UNKNOWN) {
    it(`answer 404 in JSON at ${path}`, async () => {
      for (const accept of ['*/*', 'text/html', 'application/json']) {
        const answer = await send(app, path, { headers: { accept } });
        assert.equal(answer.status, 404);
        if (path.includes('.well-known') || path.startsWith('/mcp')) {
          assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
          assert.equal(answer.body['error'], 'not_found');
        }
      }
      assert.equal(
        (await send(app, path, { method: 'POST', body: new URLSearchParams() })).status,
        404,
      );
    });
  }

  it('publish no key, because there is none to publish', async () => {
    const answer = await send(app, JWKS_PATH);
    assert.deepEqual(answer.body, { keys: [] });
  });

  for (const path of [
    ...SERVER_PATHS,
    ...RESOURCE_PATHS,
    JWKS_PATH,
    TOKEN_PATH,
    REGISTER_PATH,
    REVOKE_PATH,
  ]) {
    it(`answer a preflight to ${path}`, async () => {
      const answer = await send(app, path, {
        method: 'OPTIONS',
        headers: {
          origin: 'http://localhost:6274',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,authorization,mcp-protocol-version',
        },
      });
      assert.equal(answer.status, 204);
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      assert.equal(answer.headers.get('access-control-allow-credentials'), null);
      assert.match(answer.headers.get('access-control-allow-methods') ?? '', /POST/);
      const allowed = (answer.headers.get('access-control-allow-headers') ?? '').toLowerCase();
      for (const name of ['content-type', 'authorization', 'mcp-protocol-version'])
        assert.ok(allowed.includes(name));
    });
  }

  it('let a page of another origin use every endpoint', async () => {
    const origin = 'http://localhost:6274';
    const registered = await register(app, CLI_METADATA, { origin });
    assert.equal(registered.headers.get('access-control-allow-origin'), '*');
    const client = await registerClient(app);
    const tokens = await obtainTokens(createPerson(app), client);
    const good = await client.token(
      { grant_type: 'refresh_token', refresh_token: tokens.refreshToken },
      { origin },
    );
    assert.equal(good.status, 200, good.text);
    const bad = await client.token({ grant_type: 'refresh_token', refresh_token: 'x' }, { origin });
    assert.equal(bad.status, 400);
    for (const answer of [good, bad]) {
      assert.equal(answer.headers.get('access-control-allow-origin'), '*');
      assert.match(answer.headers.get('access-control-expose-headers') ?? '', /WWW-Authenticate/i);
      assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    }
    const revoked = await send(app, REVOKE_PATH, {
      method: 'POST',
      headers: { origin },
      body: new URLSearchParams({ client_id: client.id, token: good.refreshToken }),
    });
    assert.deepEqual(
      [revoked.status, revoked.headers.get('access-control-allow-origin')],
      [200, '*'],
    );
  });

  it('do not let a page of another origin read ours', async () => {
    const client = await registerClient(app);
    const answer = await send(app, client.authorize().url.slice(app.url.length), {
      headers: { origin: 'https://evil.example' },
    });
    assert.equal(answer.headers.get('access-control-allow-origin'), null);
  });

  it('are gone while OAuth is off', async () => {
    await using off: Site & AsyncDisposable = await startTestApp({
      dialect: 'sqlite',
      config: { oauth: { enabled: false } },
    });
    for (const path of [
      ...SERVER_PATHS,
      ...RESOURCE_PATHS,
      JWKS_PATH,
      TOKEN_PATH,
      REGISTER_PATH,
      REVOKE_PATH,
      INTROSPECT_PATH,
      '/mcp/oauth/authorize',
    ]) {
      assert.equal(
        (await send(off, path, path === TOKEN_PATH ? { method: 'POST' } : {})).status,
        404,
        path,
      );
    }
  });
});

describe('errors of the token endpoint', () => {
  it('are JSON whatever the client accepts', async () => {
    await using app = await startTestApp({ dialect: 'sqlite' });
    const client = await registerClient(app);
    const BAD: [body: string, status: number, error: string][] = [
      ['', 400, 'invalid_request'],
      [`client_id=${client.id}`, 400, 'invalid_request'],
      ['grant_type=refresh_token&client_id=cli_0&refresh_token=x', 401, 'invalid_client'],
      [`grant_type=refresh_token&client_id=${client.id}&refresh_token=x`, 400, 'invalid_grant'],
      [
        `grant_type=password&client_id=${client.id}&username=a&password=b`,
        400,
        'unsupported_grant_type',
      ],
      [
        `grant_type=refresh_token&client_id=${client.id}&refresh_token=x&refresh_token=y`,
        400,
        'invalid_request',
      ],
    ];
    for (const [body, status, error] of BAD) {
      for (const accept of [
        'text/html',
        'text/html,application/xhtml+xml',
        '*/*',
        'image/png',
        'application/json',
      ]) {
        const headers = { accept, 'content-type': 'application/x-www-form-urlencoded' };
        const answer = await send(app, TOKEN_PATH, { method: 'POST', headers, body });
        assert.deepEqual(
          [answer.status, answer.body['error']],
          [status, error],
          `${body} ${accept}`,
        );
        assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
        assert.equal(answer.headers.get('cache-control'), 'no-store');
      }
    }
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await send(app, TOKEN_PATH, { method });
      assert.ok(answer.status === 405 || answer.status === 404, `${method} ${answer.status}`);
    }
  });
});
