import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { digest } from '#src/ids.ts';
import { secretMatches } from '#src/oauth/clients.ts';

/*
 * What is secret is compared in constant time, or looked up by its digest. An ordinary comparison ends
 * at the first character that differs, and its time tells how far a guess was right.
 */

const SECRET = /(secret|digest|mac|hmac|signature|csrf|password|hash|cookie|assertion)$/i;
const COMPARISON = /([\w.?[\]'"()]+)\s*[!=]==?\s*([\w.?[\]'"()]+)/g;
/** Whether there is one at all, of which kind, or how long it is: nothing that a guess could approach. */
const HARMLESS = /^(undefined|null|''|""|'\w+'|\d+|true|false)$/;

/** A new password against its own user name: both come from the person who sets them. */
const ALLOWED = new Set(['nameKey(password) === nameKey(name)']);

/** The comparisons in a source that would take their time by what is secret. */
function comparesSecrets(source: string): string[] {
  return [...source.matchAll(COMPARISON)]
    .filter(([text, ...sides]) => {
      if (ALLOWED.has(text)) return false;
      const plain = sides.map((side) => side.replace(/[)\]]+$/, ''));
      if (plain.some((side) => HARMLESS.test(side))) return false;
      return plain.some((side) => SECRET.test(side.replace(/['"?]+$/, '')));
    })
    .map(([text]) => text);
}

describe('comparisons of secrets', () => {
  it('take the same time whatever is guessed, in all of the source', async () => {
    const files = await Array.fromAsync(glob('src/**/*.ts'));
    assert.ok(files.length > 100);
    // At a terminal a person types a password twice: the two are compared for nobody else.
    for (const file of files.filter((one) => !one.startsWith('src/cli/'))) {
      assert.deepEqual(comparesSecrets(await readFile(file, 'utf8')), [], file);
    }
  });

  it('would be found in a source that does otherwise', () => {
    for (const leak of [
      'if (client.secret === presented) return true;',
      "return digest(shown) == row['secret_digest'];",
      'if (form._csrf !== expected) throw error;',
      'const same = user.passwordHash === hash;',
    ]) {
      assert.equal(comparesSecrets(leak).length, 1, leak);
    }
    assert.deepEqual(comparesSecrets("if (secret === undefined || kind !== 'password')"), []);
  });

  it('of a client say yes to the secret alone', () => {
    const secret = 'a secret of a client';
    assert.ok(secretMatches(digest(secret), secret));
    for (const guess of ['', 'a', secret.slice(0, -1), `${secret} `, digest(secret)]) {
      assert.equal(secretMatches(digest(secret), guess), false, guess);
    }
    assert.equal(secretMatches(undefined, ''), false);
  });
});
