import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { createLog } from '#src/observe/log.ts';
import { DIALECTS, startTestApp } from '../support/app.ts';
import {
  callTool,
  codeOf,
  obtainCode,
  obtainTokens,
  registerClient,
  TOKEN_PATH,
  send,
  WEB_METADATA,
} from '../support/oauth-client.ts';
import { createPerson, formWith } from '../support/person.ts';
import { TEST_PASSWORD } from '../support/project.ts';

/** A log that is kept, at the level that says most. */
function keptLog(): { emit: ReturnType<typeof createLog>; text: () => string } {
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  return { emit: createLog({ level: 'trace', destination }), text: () => lines.join('') };
}

for (const dialect of DIALECTS) {
  describe(`what is told and kept on ${dialect}`, () => {
    it('holds no token, code, password, cookie or key, also when things go wrong', async () => {
      await using app = await startTestApp({ dialect });
      const secrets: string[] = [TEST_PASSWORD, 'a wrong password'];
      const client = await registerClient(app, {
        ...WEB_METADATA,
        token_endpoint_auth_method: 'client_secret_post',
      });
      secrets.push(client.secret ?? '');

      const person = createPerson(app);
      const login = await person.follow(client.authorize().url);
      secrets.push(...formWith(login, 'username').hidden.map(([, value]) => value));
      const failed = await person.logIn(login, { name: 'walter', password: 'a wrong password' });
      await person.logIn(failed, { name: TEST_PASSWORD, password: 'walter' });
      const tokens = await obtainTokens(person, client);
      secrets.push(tokens.accessToken, tokens.refreshToken, tokens.accessToken.split('.')[2] ?? '');
      secrets.push(...person.cookies.all().map((cookie) => cookie.value));

      const { authorization, returned } = await obtainCode(person, client);
      secrets.push(codeOf(returned), authorization.verifier);
      await client.redeem(authorization, returned, { code_verifier: 'v'.repeat(43) });
      await client.redeem(authorization, returned);
      await client.redeem(authorization, returned);
      const next = await client.refresh(tokens.refreshToken);
      const last = await client.refresh(next.refreshToken);
      await client.refresh(tokens.refreshToken);
      await client.revoke(last.refreshToken);
      await callTool(app, last.accessToken);
      await callTool(app, `${last.accessToken}x`);
      secrets.push(next.refreshToken, last.refreshToken, last.accessToken);
      const basic = btoa(`${client.id}:a wrong secret`);
      secrets.push('a wrong secret', basic);
      await send(app, TOKEN_PATH, {
        method: 'POST',
        headers: { authorization: `Basic ${basic}` },
        body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x' }),
      });
      const keys = await readFile(join(app.keysFolder, 'castellan.json'), 'utf8');
      secrets.push(
        ...[...keys.matchAll(/"(?:secret|audit)": "([^"]+)"/g)].map(([, secret = '']) => secret),
      );

      const log = keptLog();
      for (const event of app.events) log.emit(event);
      const told = JSON.stringify(app.events) + log.text();
      assert.ok(app.events.some((event) => event.type === 'grant.revoked'));
      assert.ok(app.events.some((event) => event.type === 'oauth.error'));
      assert.deepEqual(
        app.events.filter((event) => event.type === 'server.error'),
        [],
      );
      const audit = JSON.stringify(await app.audit());
      for (const secret of secrets) {
        assert.ok(secret.length > 5, `"${secret}" is no secret`);
        assert.ok(!told.includes(secret), `told: ${secret}`);
        assert.ok(!audit.includes(secret), `audited: ${secret}`);
      }
    });

    it('tells what happened to grants and tokens', async () => {
      await using app = await startTestApp({ dialect });
      const client = await registerClient(app);
      const { authorization, returned } = await obtainCode(createPerson(app), client);
      const tokens = await client.redeem(authorization, returned);
      await client.refresh(tokens.refreshToken);
      await client.refresh(tokens.refreshToken);
      await client.redeem(authorization, returned);
      const kinds = app.events.map((event) =>
        'kind' in event ? `${event.type} ${event.kind}` : event.type,
      );
      assert.deepEqual(kinds, [
        'client.registered',
        'login.succeeded',
        'consent.given',
        'token.issued code',
        'token.issued refresh',
        'token.issued retry',
        'grant.revoked',
        'oauth.error',
      ]);
    });
  });
}
