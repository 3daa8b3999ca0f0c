import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { AppError } from '#src/errors.ts';
import { readClientMetadata, sharedClientId } from '#src/oauth/client-metadata.ts';
import { KNOWN_REGISTRATIONS } from '../support/known-clients.ts';

const RULES = {
  privateUseSchemes: ['cursor'],
  scopes: new Set(['mcp', 'reader', 'writer']),
};
const LOOPBACK = { redirect_uris: ['http://localhost:1/cb'] };
const WEB = { redirect_uris: ['https://app.example/cb'] };
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PUBLIC_JWK = publicKey.export({ format: 'jwk' });

describe('client metadata of real clients', () => {
  for (const { client, metadata } of KNOWN_REGISTRATIONS) {
    it(`accepts ${client}`, () => {
      const read = readClientMetadata(metadata, RULES);
      assert.deepEqual(read.redirect_uris, metadata.redirect_uris);
      assert.deepEqual(read.grant_types, ['authorization_code', 'refresh_token']);
      assert.equal(read.token_endpoint_auth_method, 'none');
      assert.equal(read.client_name, metadata['client_name']);
    });
  }
});

const KEPT: [what: string, sent: Record<string, unknown>, kept: Record<string, unknown>][] = [
  [
    'the defaults of a public client',
    LOOPBACK,
    {
      ...LOOPBACK,
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  ],
  [
    'the defaults of a website',
    WEB,
    {
      ...WEB,
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      application_type: 'web',
    },
  ],
];

const READ: [what: string, sent: Record<string, unknown>, field: string, expected: unknown][] = [
  [
    'native for a wrong application_type',
    { ...LOOPBACK, application_type: 'web' },
    'application_type',
    'native',
  ],
  [
    'web for a wrong application_type',
    { ...WEB, application_type: 'native' },
    'application_type',
    'web',
  ],
  [
    'native for a private-use scheme',
    { redirect_uris: ['cursor://a/b'] },
    'application_type',
    'native',
  ],
  [
    'native for mixed addresses',
    { redirect_uris: [...WEB.redirect_uris, 'cursor://a/b'] },
    'application_type',
    'native',
  ],
  [
    'none for mixed addresses',
    { redirect_uris: [...WEB.redirect_uris, 'cursor://a/b'] },
    'token_endpoint_auth_method',
    'none',
  ],
  [
    'client_secret_post',
    { ...WEB, token_endpoint_auth_method: 'client_secret_post' },
    'token_endpoint_auth_method',
    'client_secret_post',
  ],
  [
    'a secret for a loopback client that asks',
    { ...LOOPBACK, token_endpoint_auth_method: 'client_secret_basic' },
    'token_endpoint_auth_method',
    'client_secret_basic',
  ],
  [
    'a null method as the default',
    { ...LOOPBACK, token_endpoint_auth_method: null },
    'token_endpoint_auth_method',
    'none',
  ],
  [
    'an empty method as the default',
    { ...WEB, token_endpoint_auth_method: '' },
    'token_endpoint_auth_method',
    'client_secret_basic',
  ],
  [
    'the grant types that are known',
    { ...WEB, grant_types: ['refresh_token', 'implicit', 'authorization_code', 'x'] },
    'grant_types',
    ['authorization_code', 'refresh_token'],
  ],
  [
    'empty grant types as the default',
    { ...WEB, grant_types: [] },
    'grant_types',
    ['authorization_code'],
  ],
  [
    'null grant types as the default',
    { ...WEB, grant_types: null },
    'grant_types',
    ['authorization_code'],
  ],
  [
    'response types with code among them',
    { ...WEB, response_types: ['token', 'code'] },
    'response_types',
    ['code'],
  ],
  [
    'empty response types as the default',
    { ...WEB, response_types: [] },
    'response_types',
    ['code'],
  ],
  ['no empty name', { ...WEB, client_name: '' }, 'client_name', undefined],
  ['no null name', { ...WEB, client_name: null }, 'client_name', undefined],
  ['a name without control characters', { ...WEB, client_name: 'a\0b\nc' }, 'client_name', 'a b c'],
  ['the scopes that are known', { ...WEB, scope: ' openid  reader\tmcp ' }, 'scope', 'reader mcp'],
  ['no scope that is unknown', { ...WEB, scope: 'openid email profile' }, 'scope', undefined],
  ['no empty scope', { ...WEB, scope: '' }, 'scope', undefined],
  ['no scope that is no text', { ...WEB, scope: ['mcp'] }, 'scope', undefined],
  [
    'an https link',
    { ...WEB, client_uri: 'https://app.example/' },
    'client_uri',
    'https://app.example/',
  ],
  [
    'no keys that nobody needs',
    { ...WEB, jwks_uri: 'https://app.example/jwks' },
    'jwks_uri',
    undefined,
  ],
  [
    'contacts that are texts',
    { ...WEB, contacts: ['a@app.example', 7, null] },
    'contacts',
    ['a@app.example'],
  ],
  [
    'nothing unknown',
    { ...WEB, id_token_signed_response_alg: 'none' },
    'id_token_signed_response_alg',
    undefined,
  ],
  [
    'a public key, without what is not needed',
    {
      ...WEB,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...PUBLIC_JWK, kid: 'a', note: 'x' }] },
    },
    'jwks',
    { keys: [{ ...PUBLIC_JWK, kid: 'a' }] },
  ],
  [
    'the address of the keys',
    { ...WEB, token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example/jwks' },
    'jwks_uri',
    'https://app.example/jwks',
  ],
];

const REFUSED: [what: string, sent: Record<string, unknown>, error: string][] = [
  ['no redirect URIs', {}, 'invalid_redirect_uri'],
  ['null redirect URIs', { redirect_uris: null }, 'invalid_redirect_uri'],
  ['an empty list of redirect URIs', { redirect_uris: [] }, 'invalid_redirect_uri'],
  [
    'a redirect URI that is no list',
    { redirect_uris: 'https://app.example/cb' },
    'invalid_redirect_uri',
  ],
  [
    'a bad one among good ones',
    { redirect_uris: [...WEB.redirect_uris, 'javascript:x'] },
    'invalid_redirect_uri',
  ],
  [
    'a null among good ones',
    { redirect_uris: [...WEB.redirect_uris, null] },
    'invalid_redirect_uri',
  ],
  [
    'twenty-one redirect URIs',
    { redirect_uris: Array.from({ length: 21 }, (_, n) => `https://app.example/${n}`) },
    'invalid_redirect_uri',
  ],
  [
    'an unknown method',
    { ...WEB, token_endpoint_auth_method: 'tls_client_auth' },
    'invalid_client_metadata',
  ],
  [
    'grant types without the code',
    { ...WEB, grant_types: ['refresh_token'] },
    'invalid_client_metadata',
  ],
  [
    'grant types that are no list',
    { ...WEB, grant_types: 'authorization_code' },
    'invalid_client_metadata',
  ],
  [
    'response types without the code',
    { ...WEB, response_types: ['token'] },
    'invalid_client_metadata',
  ],
  ['a name that is no text', { ...WEB, client_name: 7 }, 'invalid_client_metadata'],
  ['a name of 201 characters', { ...WEB, client_name: 'x'.repeat(201) }, 'invalid_client_metadata'],
  [
    'private_key_jwt without keys',
    { ...WEB, token_endpoint_auth_method: 'private_key_jwt' },
    'invalid_client_metadata',
  ],
  [
    'private_key_jwt with keys twice',
    {
      ...WEB,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [] },
      jwks_uri: 'https://app.example/jwks',
    },
    'invalid_client_metadata',
  ],
  [
    'keys over plain HTTP',
    { ...WEB, token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'http://app.example/jwks' },
    'invalid_client_metadata',
  ],
  [
    'keys that are no set',
    { ...WEB, token_endpoint_auth_method: 'private_key_jwt', jwks: 'x' },
    'invalid_client_metadata',
  ],
  [
    'a private key',
    {
      ...WEB,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...PUBLIC_JWK, d: 'x' }] },
    },
    'invalid_client_metadata',
  ],
  [
    'a symmetric key',
    {
      ...WEB,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ kty: 'oct', k: 'x' }] },
    },
    'invalid_client_metadata',
  ],
];

describe('client metadata', () => {
  for (const [what, sent, kept] of KEPT) {
    it(`fills in ${what}`, () => assert.deepEqual(readClientMetadata(sent, RULES), kept));
  }

  for (const [what, sent, field, expected] of READ) {
    it(`keeps ${what}`, () => {
      const read = readClientMetadata(sent, RULES) as unknown as Record<string, unknown>;
      assert.deepEqual(read[field], expected);
    });
  }

  it('keeps no script, data or file as any of its links', () => {
    const fields = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri'];
    for (const link of [
      'javascript:alert(1)',
      'JavaScript://app.example/%0aalert(1)',
      ' javascript:alert(1)',
      'java\tscript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:https://app.example/1',
      '//app.example/',
    ]) {
      const sent = { ...WEB, ...Object.fromEntries(fields.map((field) => [field, link])) };
      const read = readClientMetadata(sent, RULES);
      assert.deepEqual(
        fields.filter((field) => field in read),
        [],
        link,
      );
    }
  });

  for (const [what, sent, code] of REFUSED) {
    it(`refuses ${what}`, () => {
      assert.throws(
        () => readClientMetadata(sent, RULES),
        (error: unknown) => error instanceof AppError && error.detail['error'] === code,
      );
    });
  }
});

describe('the shared id', () => {
  const idOf = (sent: Record<string, unknown>): string =>
    sharedClientId(readClientMetadata(sent, RULES));
  const base = {
    ...LOOPBACK,
    client_name: 'App',
    grant_types: ['authorization_code', 'refresh_token'],
  };

  const SAME: [what: string, sent: Record<string, unknown>][] = [
    ['another loopback port', { ...base, redirect_uris: ['http://localhost:2/cb'] }],
    ['no loopback port', { ...base, redirect_uris: ['http://localhost/cb'] }],
    [
      'the same redirect URI twice',
      { ...base, redirect_uris: ['http://localhost:1/cb', 'http://localhost:2/cb'] },
    ],
    [
      'another order of fields and grant types',
      { grant_types: ['refresh_token', 'authorization_code'], client_name: 'App', ...LOOPBACK },
    ],
    ['nulls and empty texts', { ...base, scope: '', logo_uri: null, contacts: [] }],
    [
      'defaults written out',
      {
        ...base,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        response_types: ['code'],
      },
    ],
    [
      'unknown grant types and scopes',
      { ...base, grant_types: ['authorization_code', 'x', 'refresh_token'], scope: 'openid' },
    ],
  ];
  for (const [what, sent] of SAME) {
    it(`is the same with ${what}`, () => assert.equal(idOf(sent), idOf(base)));
  }

  const OTHER: [what: string, sent: Record<string, unknown>][] = [
    ['another name', { ...base, client_name: 'Other' }],
    ['another path', { ...base, redirect_uris: ['http://localhost:1/other'] }],
    ['another host', { ...base, redirect_uris: ['http://127.0.0.1:1/cb'] }],
    [
      'a redirect URI more',
      { ...base, redirect_uris: [...LOOPBACK.redirect_uris, 'https://app.example/cb'] },
    ],
    ['fewer grant types', { ...base, grant_types: ['authorization_code'] }],
    ['another scope', { ...base, scope: 'reader' }],
  ];
  for (const [what, sent] of OTHER) {
    it(`is another with ${what}`, () => assert.notEqual(idOf(sent), idOf(base)));
  }

  it('does not depend on the order of redirect URIs', () => {
    const uris = ['https://a.example/', 'http://localhost:1/cb', 'cursor://x/y'];
    assert.equal(idOf({ redirect_uris: uris }), idOf({ redirect_uris: uris.toReversed() }));
  });
});
