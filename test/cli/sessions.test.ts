import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { digest, type ClientId, type GrantId } from '#src/ids.ts';
import { openAccessSession } from '#src/storage/access-sessions.ts';
import { saveBrowserSession } from '#src/storage/browser-sessions.ts';
import type { Store } from '#src/storage/open.ts';
import { findUserByName } from '#src/storage/users.ts';
import { borrowDatabase, type BorrowedDatabase } from '../support/test-database.ts';
import { cliAudit, ENGINES, HOUR_MS, makeProject, seed } from './support.ts';

interface SessionJson {
  id: string;
  kind: string;
  user: string;
  clientName: string | null;
  startedAt: string;
  lastUsedAt: string | null;
  expiresAt: string;
}

// Held for the file, so that its PostgreSQL starts once.
let held: BorrowedDatabase;
before(async () => {
  held = await borrowDatabase();
});
after(() => held[Symbol.asyncDispose]());

/** A row as the authorization server writes it; signed in some hours ago. */
async function signIn(
  store: Store,
  { uid, user, hoursAgo, cookie = uid }: SignInWish,
): Promise<number> {
  const now = store.clock.now();
  const at = Math.floor((now - hoursAgo * HOUR_MS) / 1_000) * 1_000;
  const found = user === null ? null : await findUserByName(store.db, user);
  await saveBrowserSession(store.db, {
    digest: digest(`cookie of ${cookie}`),
    uidDigest: digest(uid),
    userId: found?.id ?? null,
    payload: { uid, loginTs: at / 1_000, savedAt: at + 1 },
    expiresAt: at + 1 + 12 * HOUR_MS,
  });
  return at;
}

interface SignInWish {
  uid: string;
  user: string | null;
  hoursAgo: number;
  cookie?: string;
}

for (const engine of ENGINES) {
  describe(`sessions on ${engine}`, () => {
    it('are listed in JSON of the documented shape, those that count, each once', async () => {
      await using project = await makeProject({ engine });
      const { store } = await seed(project);
      await signIn(store, { uid: 'u1', user: 'ana', hoursAgo: 2 });
      // Two tabs renewed the cookie at the same moment.
      const at = await signIn(store, { uid: 'u1', user: 'ana', hoursAgo: 1, cookie: 'tab' });
      await signIn(store, { uid: 'u2', user: 'ben', hoursAgo: 3 });
      await signIn(store, { uid: 'u3', user: null, hoursAgo: 1 });
      await signIn(store, { uid: 'u4', user: 'ben', hoursAgo: 13 });
      const sessions = await project.json<SessionJson[]>(['sessions', 'list']);
      assert.deepEqual(
        sessions.map((one) => one.user),
        ['ana', 'ben'],
      );
      assert.match(sessions[0]?.id ?? '', /^ses_[0-9a-f]{18}$/);
      assert.deepEqual(sessions[0], {
        id: sessions[0]?.id,
        kind: 'browser',
        user: 'ana',
        clientName: null,
        startedAt: new Date(at).toISOString(),
        lastUsedAt: new Date(at + 1).toISOString(),
        expiresAt: new Date(at + 12 * HOUR_MS).toISOString(),
      });
      const bens = await project.json<SessionJson[]>(['sessions', 'list', '--user', 'BEN']);
      assert.deepEqual(bens, sessions.slice(1));
      assert.match(
        (await project.cli(['sessions', 'list'])).stdout,
        /^ID +KIND +USER .*\nses_\w+ +browser +ana /,
      );
    });

    it('are closed by id or for a user, with a row each', async () => {
      await using project = await makeProject({ engine });
      const { store } = await seed(project);
      await signIn(store, { uid: 'u1', user: 'ana', hoursAgo: 2 });
      await signIn(store, { uid: 'u2', user: 'ana', hoursAgo: 1 });
      await signIn(store, { uid: 'u3', user: 'ben', hoursAgo: 0 });
      const [ben, ...anas] = await project.json<SessionJson[]>(['sessions', 'list']);
      assert.ok(ben);
      const one = await project.json(['sessions', 'close', ben.id]);
      assert.deepEqual(one, { closed: [ben] });
      const rest = await project.cli(['sessions', 'close', '--user', 'ana']);
      assert.deepEqual([rest.code, rest.stdout.split('\n').at(-2)], [0, '2 sessions closed.']);
      assert.match(rest.stderr, /Grants stay/);
      assert.deepEqual(await project.json(['sessions', 'list']), []);
      assert.deepEqual(await cliAudit(store), [
        'session.closed ben',
        'session.closed ana',
        'session.closed ana',
      ]);
      // A request that was under way saves it once more.
      await signIn(store, { uid: 'u3', user: 'ben', hoursAgo: 0 });
      assert.deepEqual(await project.json(['sessions', 'list']), []);
      assert.equal((await project.cli(['sessions', 'close', ben.id])).code, 3);
      assert.equal((await project.cli(['sessions', 'close', '--user', 'ana'])).code, 3);
      assert.equal(anas.length, 2);
    });
  });
}

describe('sessions of apps', () => {
  it('are listed with those of browsers, and closed', async () => {
    await using project = await makeProject();
    const { store } = await seed(project);
    const user = await findUserByName(store.db, 'ana');
    assert.ok(user);
    const opened = await store.transaction((work) =>
      openAccessSession(work, {
        user,
        client: { id: 'cli_1' as ClientId, name: 'Notes app' },
        grantId: 'gr_1' as GrantId,
        address: '127.0.0.1',
        expiresAt: work.now + HOUR_MS,
        seats: undefined,
        isOpen: true,
      }),
    );
    assert.ok(opened.kind === 'new');
    await signIn(store, { uid: 'u1', user: 'ana', hoursAgo: 2 });
    const sessions = await project.json<SessionJson[]>(['sessions', 'list']);
    assert.deepEqual(
      sessions.map((one) => [one.kind, one.user, one.clientName]),
      [
        ['access', 'ana', 'Notes app'],
        ['browser', 'ana', null],
      ],
    );
    const closed = await project.json(['sessions', 'close', opened.id]);
    assert.deepEqual(closed, { closed: [sessions[0]] });
    assert.deepEqual(await project.json(['sessions', 'list']), [sessions[1]]);
    assert.deepEqual(await cliAudit(store), ['session.closed ana']);
  });
});

describe('sessions close', () => {
  it('wants one session or one user, and is 3 when there is none', async () => {
    await using project = await makeProject();
    const { store } = await seed(project);
    await signIn(store, { uid: 'u1', user: 'ana', hoursAgo: 0 });
    const [session] = await project.json<SessionJson[]>(['sessions', 'list']);
    for (const args of [[], [session?.id ?? '', '--user', 'ana'], ['--user']]) {
      assert.equal((await project.cli(['sessions', 'close', ...args])).code, 2, args.join(' '));
    }
    const none = await project.cli(['sessions', 'close', 'ses_000000000000000000', '--json']);
    assert.equal(none.code, 3);
    assert.deepEqual(JSON.parse(none.stdout), { closed: [] });
    assert.match(none.stderr, /^castellan: There is no session "ses_0+"\nhint: /);
    assert.equal((await project.cli(['sessions', 'close', '--user', 'zoe'])).code, 3);
    assert.equal((await project.json<unknown[]>(['sessions', 'list'])).length, 1);
  });

  it('says when nobody is signed in', async () => {
    await using project = await makeProject();
    const { code, stdout, stderr } = await project.cli(['sessions', 'list']);
    assert.deepEqual([code, stdout], [0, '']);
    assert.match(stderr, /There are no sessions/);
  });
});
