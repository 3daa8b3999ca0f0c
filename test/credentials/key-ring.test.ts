import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKeys, fileKeys } from '#src/credentials/key-file.ts';
import { KeyRing } from '#src/credentials/key-ring.ts';
import { rotateKeys } from '#src/credentials/rotate-keys.ts';
import { registerSigningKey } from '#src/storage/signing-keys.ts';
import { testDatabase, TestClock } from '../support/stores.ts';
import { temporaryFolder } from '../support/temp.ts';
import { storedKey, testKeys } from './forge.ts';

const K1 = storedKey('k1', 1);
const K2 = storedKey('k2', 2, 'retiring');

describe('the key ring', () => {
  it('finds keys by name and knows the active one', async () => {
    const ring = await KeyRing.open(testKeys(K2, K1));
    assert.equal(ring.activeKid, 'k1');
    assert.equal((await ring.active()).kid, 'k1');
    assert.deepEqual(
      ring.all().map((key) => key.kid),
      ['k2', 'k1'],
    );
    assert.equal(ring.find('k2')?.createdAt, Date.UTC(2026, 10, 30, 12));
    for (const kid of ['k3', '__proto__', 'toString']) assert.equal(ring.find(kid), undefined);
  });

  it('does not open without an active key', async () => {
    await assert.rejects(KeyRing.open(testKeys(K2)), { code: 'keys_invalid' });
  });

  it('derives a secret per label and key, the same at every start', async () => {
    const ring = await KeyRing.open(testKeys(K2, K1));
    const again = await KeyRing.open(testKeys(K2, K1));
    const labels = ['cookies', 'forms', 'refresh', 'lookup'] as const;
    const secrets = labels.flatMap((label) => ring.deriveAll(label));
    const texts = new Set(secrets.map((secret) => secret.toString('hex')));
    assert.equal(texts.size, 8, 'no two are the same');
    assert.ok(!texts.has(Buffer.from(K1.secret, 'base64url').toString('hex')), 'none is the key');
    assert.deepEqual(
      labels.flatMap((label) => again.deriveAll(label)),
      secrets,
    );
    assert.deepEqual(ring.deriveAll('forms')[0], ring.derive('forms'), 'the active one is first');
    assert.deepEqual(ring.derive('forms', 'k1'), ring.derive('forms'));
    assert.equal(ring.derive('forms', 'k9'), undefined);
  });

  it('reads its source again only when that has changed, and then says so', async () => {
    const keys = testKeys(K1);
    let reads = 0;
    const ring = await KeyRing.open({
      revision: () => keys.revision(),
      read: async () => {
        reads += 1;
        return keys.read();
      },
    });
    let changes = 0;
    ring.onChange(() => (changes += 1));
    await ring.refresh();
    await ring.active();
    assert.deepEqual([reads, changes], [1, 0]);
    keys.file = { ...keys.file, signing: [storedKey('k3', 3)] };
    assert.equal((await ring.active()).kid, 'k3');
    assert.equal(ring.find('k1'), undefined);
    assert.deepEqual([reads, changes], [2, 1]);
  });

  it('keeps what it has when the source breaks, and says what is wrong', async () => {
    const keys = testKeys(K1);
    const ring = await KeyRing.open(keys);
    keys.file = { ...keys.file, signing: [K2] };
    await assert.rejects(ring.active(), { code: 'keys_invalid' });
    assert.equal(ring.find('k1')?.kid, 'k1');
    keys.file = { ...keys.file, signing: [storedKey('k4', 4)] };
    assert.equal((await ring.active()).kid, 'k4');
  });
});

describe('a rotation', () => {
  async function setUp(stack: AsyncDisposableStack) {
    const folder = stack.use(await temporaryFolder()).path;
    const clock = new TestClock();
    const store = await stack.use(await testDatabase('sqlite')).open(clock);
    await createKeys(folder, clock.now());
    const source = fileKeys(folder);
    // The ring of a server, which the command that rotates does not know.
    const ring = await KeyRing.open(source);
    for (const key of ring.all()) {
      await store.transaction((work) => registerSigningKey(work, 'test', key));
    }
    const rotate = (now: boolean) =>
      rotateKeys({ folder, source, store, actor: 'cli', accessTokenTtlSeconds: 900, now });
    return { clock, ring, rotate, first: ring.activeKid };
  }

  it('is seen by a running server, which still finds the old key', async () => {
    await using stack = new AsyncDisposableStack();
    const { ring, rotate, first } = await setUp(stack);
    const { kid, retired } = await rotate(false);
    assert.deepEqual(retired, [first]);
    assert.equal(ring.activeKid, first, 'until it looks');
    assert.equal((await ring.active()).kid, kid);
    assert.equal(ring.find(first)?.kid, first);
  });

  it('at once drops the old key from the file too', async () => {
    await using stack = new AsyncDisposableStack();
    const { ring, rotate, first } = await setUp(stack);
    const { kid } = await rotate(true);
    assert.equal((await ring.active()).kid, kid);
    assert.equal(ring.find(first), undefined);
  });

  it('keeps the old key until a day after its last token has expired', async () => {
    await using stack = new AsyncDisposableStack();
    const { clock, ring, rotate, first } = await setUp(stack);
    await rotate(false);
    clock.advance(900_000 + 86_400_000 - 1);
    await rotate(false);
    await ring.refresh();
    assert.equal(ring.find(first)?.kid, first);
    clock.advance(1);
    await rotate(false);
    await ring.refresh();
    assert.equal(ring.find(first), undefined);
    assert.equal(ring.all().length, 3);
  });

  it('is refused when there were too many, but not at once', async () => {
    await using stack = new AsyncDisposableStack();
    const { rotate } = await setUp(stack);
    for (let count = 0; count < 15; count += 1) await rotate(false);
    await assert.rejects(rotate(false), { code: 'conflict' });
    await rotate(true);
    await rotate(false);
  });
});
