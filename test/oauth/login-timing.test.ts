import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import argon2 from 'argon2';
import { addUser, disableUser } from '#src/storage/users.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { registerClient } from '../support/oauth-client.ts';
import { createPerson, type Page, type Person } from '../support/person.ts';
import { signTest } from '../support/sign-test.ts';

/*
 * Whether the time of a failed login tells if the name exists. Both names are tried in turns, in pairs,
 * so that a busy machine slows both alike; what counts is how often which of them was slower.
 */

const PAIRS = 40;
/** Rarer than this is no chance: a build a minute would fail by itself once in two months. */
const ALPHA = 1e-5;

describe('how long a failed login takes', () => {
  let app: TestApp;
  let person: Person;
  let page: Page;
  before(async () => {
    app = await startTestApp({
      dialect: 'sqlite',
      config: { login: { failuresPerAddress: 10_000, failuresPerUser: 10_000 } },
    });
    const disabled = await app.addUser('dora');
    await app.store.transaction((work) => disableUser(work, 'test', disabled));
    person = createPerson(app);
    page = await person.follow((await registerClient(app)).authorize().url);
  });
  after(() => app[Symbol.asyncDispose]());

  /** Milliseconds from the form to the page of a failure, which has the next form. */
  async function attempt(name: string): Promise<number> {
    const started = performance.now();
    const failed = await person.logIn(page, { name, password: 'not the password' });
    const took = performance.now() - started;
    assert.equal(failed.status, 401);
    page = failed;
    return took;
  }

  /** Tries two names twice each, in an order that favours neither. */
  async function isSlower(one: string, other: string): Promise<boolean> {
    const [outer, inner] = randomInt(2) === 0 ? [one, other] : [other, one];
    const times = [];
    for (const name of [outer, inner, inner, outer]) times.push(await attempt(name));
    const [first = 0, second = 0, third = 0, fourth = 0] = times;
    // The quicker of two attempts is the one that the machine disturbed less.
    const isOuterSlower = Math.min(first, fourth) > Math.min(second, third);
    return isOuterSlower === (outer === one);
  }

  /** The probability of what was measured if the time says nothing about the name. */
  async function compare(one: string, other: string): Promise<number> {
    let wins = 0;
    for (let count = 0; count < PAIRS; count += 1) if (await isSlower(one, other)) wins += 1;
    return signTest(wins, PAIRS);
  }

  it('says nothing about whether the name exists', async () => {
    assert.ok((await compare('walter', 'nobody')) > ALPHA);
  });

  it('says nothing about whether the account is disabled', async () => {
    assert.ok((await compare('walter', 'dora')) > ALPHA);
  });

  it('would give away an account that is checked with less work, which shows that this measures', async () => {
    // As good as no check at all: what a server does that looks at the password of known names only.
    const costs = {
      type: argon2.argon2id,
      memoryCost: 1_024,
      timeCost: 2,
      parallelism: 1,
    } as const;
    const passwordHash = await argon2.hash('the password', costs);
    await app.store.transaction((work) =>
      addUser(work, 'test', { name: 'leah', passwordHash, roles: ['readers'] }),
    );
    assert.ok((await compare('leah', 'nobody')) < ALPHA);
  });
});
