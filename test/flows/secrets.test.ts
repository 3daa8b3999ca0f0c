import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  copyBookshop,
  runCastellan,
  serveProject,
  type ProjectPlace,
} from '../support/castellan.ts';
import {
  callTool,
  codeOf,
  obtainCode,
  registerClient,
  WEB_METADATA,
  type OAuthClient,
} from '../support/oauth-client.ts';
import { createPerson, type Person } from '../support/person.ts';
import { temporaryFolder } from '../support/temp.ts';

/*
 * A stolen database opens nothing, and the log tells nothing: every secret of a whole flow is collected
 * and looked for in the state file, beside it, and in everything that the server wrote.
 */

const PASSWORD = 'the password of a whole flow';
const USER = 'carl.clerk';

describe('a copy of the SQLite file and of the log', () => {
  it('holds no token, code, cookie, client secret, password or key', async () => {
    await using folder = await temporaryFolder();
    const place: ProjectPlace = { folder: folder.path };
    await copyBookshop(place.folder);
    const added = await runCastellan(
      place,
      ['users', 'add', USER, '--role', 'clerk', '--password-stdin'],
      PASSWORD,
    );
    assert.equal(added.code, 0, added.stderr);
    const secrets = new Map<string, string>([['password', PASSWORD]]);
    await using server = await serveProject(place, 0, 'trace');
    await wholeFlow(server.url, secrets);
    await collectKeys(place.folder, secrets);
    // While the server runs, so that the write-ahead log is there too.
    const stored = await readState(place.folder);
    await server.stop();
    const storedAfterwards = await readState(place.folder);
    assert.ok(secrets.size >= 18, `only ${secrets.size} secrets were collected`);
    assert.ok(
      stored.length > 50_000 && server.output().includes('login.succeeded'),
      'there is something to search',
    );
    for (const [name, secret] of secrets) {
      assert.ok(secret.length >= 20, `${name} is too short to look for`);
      for (const form of formsOf(secret)) {
        assert.equal(stored.includes(form), false, `${name} is in the state store`);
        assert.equal(
          storedAfterwards.includes(form),
          false,
          `${name} is in the state store after the end`,
        );
        assert.equal(server.output().includes(form), false, `${name} is in the log`);
      }
    }
  });
});

/** Logs in with a wrong and a right password, uses tokens rightly and wrongly, and is revoked. */
async function wholeFlow(url: string, secrets: Map<string, string>): Promise<void> {
  const publicClient = await registerClient({ origin: url, url });
  const confidential = await registerClient(
    { origin: url, url },
    { ...WEB_METADATA, token_endpoint_auth_method: 'client_secret_basic' },
  );
  secrets.set('client secret', confidential.secret ?? '');
  for (const [name, client] of [
    ['public', publicClient],
    ['confidential', confidential],
  ] as const) {
    const person = createPerson(url);
    await flowOf(person, client, (what, secret) => secrets.set(`${name} ${what}`, secret));
  }
}

async function flowOf(
  person: Person,
  client: OAuthClient,
  note: (what: string, secret: string) => void,
): Promise<void> {
  const first = client.authorize();
  const page = await person.follow(first.url);
  const wrong = 'a wrong password that was typed';
  note('wrong password', wrong);
  await person.logIn(page, { name: USER, password: wrong });
  for (const form of page.forms)
    note('form token', form.hidden.find(([name]) => name === '_csrf')?.[1] ?? '');
  noteCookies(person, note);
  const { authorization, returned } = await obtainCode(person, client, {
    name: USER,
    password: PASSWORD,
  });
  note('code verifier', authorization.verifier);
  note('code', codeOf(returned));
  noteCookies(person, note);
  const tokens = await client.redeem(authorization, returned);
  assert.equal(tokens.status, 200, tokens.text);
  note('access token', tokens.accessToken);
  note('refresh token', tokens.refreshToken);
  const refreshed = await client.refresh(tokens.refreshToken);
  assert.equal(refreshed.status, 200, refreshed.text);
  note('second access token', refreshed.accessToken);
  note('second refresh token', refreshed.refreshToken);
  assert.equal((await call(client, refreshed.accessToken)).status, 200);
  // Wrong requests are logged; what was in them must not be.
  await client.redeem(authorization, returned);
  await client.refresh(`${refreshed.refreshToken}x`);
  assert.equal((await call(client, `${refreshed.accessToken.slice(0, -4)}AAAA`)).status, 401);
  await client.revoke(refreshed.refreshToken);
  assert.equal((await client.refresh(refreshed.refreshToken)).status, 400);
}

function call(client: OAuthClient, token: string) {
  return callTool(client.site, token, { name: 'books-get', arguments: { id: 1 } });
}

function noteCookies(person: Person, note: (what: string, secret: string) => void): void {
  for (const { name, path, value } of person.cookies.all()) {
    // An empty one was just taken back.
    if (value !== '') note(`cookie ${name} ${path}`, value);
  }
}

async function collectKeys(folder: string, secrets: Map<string, string>): Promise<void> {
  const file = JSON.parse(await readFile(join(folder, 'keys', 'castellan.json'), 'utf8')) as {
    audit: string;
    signing: { kid: string; secret: string }[];
  };
  secrets.set('audit key', file.audit);
  for (const key of file.signing) secrets.set(`signing key ${key.kid}`, key.secret);
}

/** The state file with everything beside it, as bytes. */
async function readState(folder: string): Promise<Buffer> {
  const state = join(folder, '.castellan');
  const names = await readdir(state);
  return Buffer.concat(await Promise.all(names.map((name) => readFile(join(state, name)))));
}

/** A secret as it is, and as it would look encoded. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const decoded = Buffer.from(secret, 'base64url');
  return [
    secret,
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('hex'),
    decoded.toString('hex'),
    encodeURIComponent(secret),
  ];
}
