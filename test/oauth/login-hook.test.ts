import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { LoginAttempt, LoginHook } from '#src/config.ts';
import type { Event } from '#src/events.ts';
import { askLoginHook } from '#src/oauth/login-hook.ts';
import { disableUser, listUsers } from '#src/storage/users.ts';
import { DIALECTS, startTestApp, type Dialect, type TestApp } from '../support/app.ts';
import { callTool, obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson, tickedOn, type Page } from '../support/person.ts';
import { TEST_PASSWORD } from '../support/project.ts';

/** A directory of people outside, and what it was asked. */
class Directory {
  readonly people = new Map<string, { password: string; subject: string; privileges: string[] }>();
  readonly asked: LoginAttempt[] = [];

  add(name: string, privileges: string[], subject = name): void {
    this.people.set(name, { password: `${name}'s own secret`, subject, privileges });
  }

  readonly hook: LoginHook = async (attempt) => {
    this.asked.push(attempt);
    const person = this.people.get(attempt.name);
    if (person?.password !== attempt.password) return undefined;
    return { subject: person.subject, privileges: person.privileges };
  };
}

function startWith(dialect: Dialect, hook: LoginHook): Promise<TestApp> {
  return startTestApp({ dialect, config: { login: { hook, failuresPerAddress: 1_000 } } });
}

async function logIn(app: TestApp, name: string, password = `${name}'s own secret`): Promise<Page> {
  const client = await registerClient(app);
  const person = createPerson(app);
  return person.logIn(await person.follow(client.authorize().url), { name, password });
}

for (const dialect of DIALECTS) {
  describe(`a project's own login on ${dialect}`, () => {
    it('lets in whom it names, with the privileges that it gives', async () => {
      const directory = new Directory();
      directory.add('Mia@example.org', ['writer', 'of another house'], 'mia');
      await using app = await startWith(dialect, directory.hook);
      const client = await registerClient(app);
      const consent = await logIn(app, 'Mia@example.org');
      assert.deepEqual(tickedOn(consent), ['writer']);
      const tokens = await obtainTokens(createPerson(app), client, {
        name: 'Mia@example.org',
        password: "Mia@example.org's own secret",
      });
      assert.equal(tokens.body['scope'], 'mcp writer');
      const answer = await callTool(app, tokens.accessToken);
      assert.match(answer.text, /mia/);
      const { name, password, clientId } = directory.asked[1] ?? assert.fail();
      assert.deepEqual(
        [name, password, clientId],
        ['Mia@example.org', "Mia@example.org's own secret", client.id],
      );
      assert.deepEqual(
        app.events.flatMap((one) => (one.type === 'roles.warning' ? [one.reason] : [])),
        Array.from(
          { length: 2 },
          () => 'the login hook gave what is not declared: of another house',
        ),
      );
      const user = await app.findUser('mia');
      assert.deepEqual([user.roles, user.privileges], [[], ['of another house', 'writer']]);
      assert.deepEqual(
        (await app.audit('user.added')).filter((row) => row.subject === 'mia').length,
        1,
      );
      const logins = await app.audit('login.succeeded');
      assert.deepEqual(logins[0]?.detail['privileges'], ['of another house', 'writer']);
    });

    it('takes away what it no longer gives, also from grants that are there', async () => {
      const directory = new Directory();
      directory.add('mia', ['writer', 'admin']);
      await using app = await startWith(dialect, directory.hook);
      const client = await registerClient(app);
      const { accessToken } = await obtainTokens(createPerson(app), client, {
        name: 'mia',
        password: "mia's own secret",
      });
      const wipe = { name: 'notes-wipe' };
      assert.match((await callTool(app, accessToken, wipe)).text, /nothing left/);
      directory.add('mia', ['reader']);
      await logIn(app, 'mia');
      assert.doesNotMatch((await callTool(app, accessToken, wipe)).text, /nothing left/);
      assert.equal((await callTool(app, accessToken)).status, 200);
    });

    it('says the same to everybody whom it does not let in; built-in passwords are not looked at', async () => {
      const directory = new Directory();
      directory.add('mia', ['reader']);
      directory.add('dora', ['reader']);
      await using app = await startWith(dialect, directory.hook);
      const dora = await app.addUser('dora');
      await app.store.transaction((work) => disableUser(work, 'test', dora));
      const wrong: [name: string, password: string][] = [
        ['mia', 'wrong'],
        ['nobody', 'wrong'],
        ['walter', TEST_PASSWORD],
        ['dora', "dora's own secret"],
        ['mia', ''],
        ['', 'wrong'],
        ['x'.repeat(5_000), 'wrong'],
        ['mia', 'x'.repeat(5_000)],
      ];
      const said = new Set<string>();
      for (const [name, password] of wrong) {
        const page = await logIn(app, name, password);
        assert.equal(page.status, 401, name);
        said.add(/<title>.*<\/title>/.exec(page.html)?.[0] ?? '');
      }
      assert.equal(said.size, 1);
      // Nothing empty or too long was passed on.
      assert.deepEqual(
        directory.asked.map((one) => one.name),
        ['mia', 'nobody', 'walter', 'dora'],
      );
    });

    it('makes one account of two first logins at once, and none of a name that differs by case', async () => {
      const directory = new Directory();
      directory.add('mia', ['reader']);
      directory.add('MIA', ['admin']);
      await using app = await startWith(dialect, directory.hook);
      const pages = await Promise.all([logIn(app, 'mia'), logIn(app, 'mia'), logIn(app, 'mia')]);
      assert.deepEqual(pages.map(tickedOn), [['reader'], ['reader'], ['reader']]);
      assert.equal((await logIn(app, 'MIA')).status, 401);
      const users = await listUsers(app.store.db);
      assert.deepEqual(
        users.filter((user) => user.name.toLowerCase() === 'mia').map((user) => user.privileges),
        [['reader']],
      );
      assert.ok(
        app.events.some((one) => one.type === 'server.error' && /by case/.test(one.message)),
      );
    });

    it('that gives no usable answer is told to the operator, and the person tries again', async () => {
      const answers: [name: string, hook: LoginHook][] = [
        ['throws', ({ password }) => Promise.reject(new Error(`LDAP: bad ${password}`))],
        ['throws at once', (): never => assert.fail('not even a promise')],
        ['a bad name', async () => ({ subject: 'a b', privileges: [] })],
        ['no privileges', (async () => ({ subject: 'mia' })) as unknown as LoginHook],
        ['just true', (async () => true) as unknown as LoginHook],
      ];
      for (const [name, hook] of answers) {
        await using app = await startWith(dialect, hook);
        const page = await logIn(app, 'mia', 'a very private password');
        assert.deepEqual([page.status, page.headers.get('retry-after')], [503, '5'], name);
        assert.match(page.html, /Nobody can sign in just now/);
        const told = app.events.filter((one) => one.type === 'server.error');
        assert.deepEqual(
          told.map((one) => one.where),
          ['login hook'],
          name,
        );
        assert.doesNotMatch(JSON.stringify(app.events), /private password/);
        assert.equal(
          (await listUsers(app.store.db)).some((user) => user.name === 'mia'),
          false,
        );
      }
    });

    it('counts attempts, also those that it could not answer', async () => {
      const hook: LoginHook = () => Promise.reject(new Error('down'));
      const config = { login: { hook, failuresPerAddress: 2 } };
      await using app = await startTestApp({ dialect, config });
      const statuses = [];
      for (let count = 0; count < 3; count += 1) statuses.push((await logIn(app, 'mia')).status);
      assert.deepEqual(statuses, [503, 503, 429]);
    });

    it('is not asked about a name that is throttled', async () => {
      const directory = new Directory();
      directory.add('mia', ['reader']);
      const config = { login: { hook: directory.hook, failuresPerUser: 2 } };
      await using app = await startTestApp({ dialect, config });
      for (let count = 0; count < 2; count += 1) await logIn(app, 'mia', 'wrong');
      assert.equal((await logIn(app, 'mia')).status, 401);
      assert.equal(directory.asked.length, 2);
    });
  });
}

describe('a hook that does not answer', () => {
  it('is given up after ten seconds', async (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const events: Event[] = [];
    const asked = Promise.withResolvers<AbortSignal>();
    const hook: LoginHook = ({ signal }) => {
      asked.resolve(signal);
      return new Promise(() => {});
    };
    const emit = (event: Event): void => void events.push(event);
    const answer = askLoginHook({ hook, emit }, { name: 'mia', password: 'x', clientId: 'cli' });
    const refused = assert.rejects(answer, { code: 'login_unavailable' });
    const signal = await asked.promise;
    t.mock.timers.tick(9_999);
    assert.equal(signal.aborted, false);
    t.mock.timers.tick(1);
    await refused;
    assert.equal(signal.aborted, true);
    assert.equal(events.length, 1);
  });
});
