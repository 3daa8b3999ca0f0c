import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DAY, MINUTE } from '#src/clock.ts';
import {
  describeClient,
  displayName,
  initialOf,
  quoteVisibly,
  returnTarget,
  type DisplayedClient,
} from '#src/http/client-display.ts';
import { textsFor } from '#src/http/language.ts';
import { hostileWords } from '../support/hostile-words.ts';

const family = '👨‍👩‍👧‍👦';
const t = textsFor('en');
const now = Date.parse('2026-11-30T14:32:00Z');

describe('displayName', () => {
  const cases: [why: string, claimed: string | undefined, shown: string][] = [
    ['leaves a plain name as it is', 'Claude', 'Claude'],
    ['leaves punctuation, which the page escapes', `"><img> & 'co'`, `"><img> & 'co'`],
    ['leaves other scripts', 'Клод 클로드', 'Клод 클로드'],
    ['joins lines and blanks', ' Claude\r\n\tDesktop\u2028 1\u00A0\u3000', 'Claude Desktop 1'],
    ['drops a right-to-left override', 'Claude\u202Eexe', 'Claudeexe'],
    ['drops zero width characters', 'Cl\u200Ba\u200Cu\u200Dd\u2060e\uFEFF', 'Claude'],
    ['keeps an emoji in one piece', `${family} Family ❤️`, `${family} Family ❤️`],
    ['drops a joiner between letters', 'a\u200Db', 'ab'],
    ['limits the marks on a letter', `Z${'\u0301'.repeat(99)}a`, 'Z\u0301\u0301\u0301a'],
    ['drops marks without a letter', '\u0301\u20DDClaude', 'Claude'],
    ['reads half a character as a blank', 'Cl\uD800aude', 'Cl aude'],
    ['falls back without a name', undefined, 'Fallback'],
    ['falls back for an empty name', '', 'Fallback'],
    ['falls back for blanks', ' \t\n', 'Fallback'],
    ['falls back for control characters', '\u0000\u001B\u009F', 'Fallback'],
    ['falls back for what nobody sees', '\u200B\u3164\u2800\u{E0041}', 'Fallback'],
  ];
  for (const [why, claimed, shown] of cases) {
    it(why, () => assert.equal(displayName(claimed, 'Fallback'), shown));
  }

  it('cuts a long name', () => {
    assert.equal(displayName('x'.repeat(60), ''), 'x'.repeat(60));
    assert.equal(displayName('x'.repeat(61), ''), `${'x'.repeat(59)}…`);
    assert.equal(displayName('x'.repeat(10_000), ''), `${'x'.repeat(59)}…`);
  });

  it('cuts between whole characters', () => {
    assert.equal(displayName(family.repeat(10), ''), `${family.repeat(5)}…`);
    assert.equal(displayName(`${'x'.repeat(57)}🚀🚀`, ''), `${'x'.repeat(57)}🚀…`);
  });

  it('makes any text fit for a heading, and leaves it as it is the next time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (claimed) => {
        const name = displayName(claimed, 'Fallback');
        assert.ok(name.length >= 1 && name.length <= 60, name);
        assert.doesNotMatch(name, /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Bidi_Control}\u200B\uFEFF]/u);
        assert.ok(name.isWellFormed());
        assert.equal(displayName(name, 'Fallback'), name);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is quick with hostile names', () => {
    const start = performance.now();
    for (const words of Object.values(hostileWords)) displayName(words.repeat(100), '');
    assert.ok(performance.now() - start < 2_000);
  });
});

describe('quoteVisibly', () => {
  it('leaves an address as it is', () => {
    const address = 'https://example.com/callback?a=1&b=<2>#ü';
    assert.equal(quoteVisibly(address), address);
  });

  it('writes out what nobody sees', () => {
    assert.equal(
      quoteVisibly('https://a.example/\u202Efdp\u0000\u200B\u{E0041}'),
      String.raw`https://a.example/\u{202E}fdp\u{0}\u{200B}\u{E0041}`,
    );
  });
});

describe('initialOf', () => {
  const cases: [name: string, initial: string][] = [
    ['claude', 'C'],
    ['"><img', 'I'],
    ['1Password', '1'],
    ['клод', 'К'],
    ['日本', '日'],
    ['ßeta', 'ß'],
    ['𝒶bc', '𝒶'],
    ['🚀', '?'],
    ['', '?'],
  ];
  for (const [name, initial] of cases) {
    it(`${JSON.stringify(name)} is ${initial}`, () => assert.equal(initialOf(name), initial));
  }
});

describe('returnTarget', () => {
  const cases: [uri: string, kind: string, place: string][] = [
    ['https://claude.ai/api/callback', 'web', 'claude.ai'],
    ['https://example.com:8443/', 'web', 'example.com:8443'],
    ['https://bücher.example/', 'web', 'xn--bcher-kva.example'],
    ['https://localhost.example.com/', 'web', 'localhost.example.com'],
    ['http://localhost:6274/callback', 'loopback', 'localhost:6274'],
    ['http://127.0.0.1/', 'loopback', '127.0.0.1'],
    ['http://[::1]:8080/', 'loopback', '[::1]:8080'],
    ['https://127.8.9.10/', 'loopback', '127.8.9.10'],
    ['cursor://anysphere.cursor-mcp/oauth', 'private-use', 'cursor://anysphere.cursor-mcp'],
    ['claude:/callback', 'private-use', 'claude:'],
    ['vscode:callback', 'private-use', 'vscode:'],
    ['not an address', 'private-use', '?'],
  ];
  for (const [uri, kind, place] of cases) {
    it(uri, () => assert.deepEqual(returnTarget(uri), { kind, place }));
  }
});

describe('describeClient', () => {
  const registered: DisplayedClient = {
    claimedName: 'Inspector',
    documentHost: undefined,
    registeredAt: now - 2 * MINUTE,
    redirectUri: 'https://tools.example.net/callback',
  };
  const verified: DisplayedClient = {
    ...registered,
    documentHost: 'tools.example.net',
    registeredAt: undefined,
  };
  const describeWith = (client: DisplayedClient) => describeClient(client, t, now);

  it('names the verified domain, and whether the answer goes there', () => {
    const same = describeWith(verified);
    assert.equal(same.verified, 'tools.example.net');
    assert.equal(same.returnNote, t.client.sameDomain);
    const other = describeWith({ ...verified, redirectUri: 'https://other.example/' });
    assert.equal(other.returnNote, t.client.otherDomain);
    const port = describeWith({ ...verified, redirectUri: 'https://tools.example.net:444/' });
    assert.equal(port.returnNote, t.client.otherDomain);
  });

  it('says how an unverified app came here', () => {
    assert.deepEqual(describeWith(registered).origin, [
      'Registered itself ',
      '2 minutes ago',
      ' (',
      { time: '14:30 UTC', iso: '2026-11-30T14:30Z' },
      ')',
    ]);
    const earlier = describeWith({ ...registered, registeredAt: now - 60 * DAY });
    assert.deepEqual(earlier.origin, [
      'Registered itself ',
      '60 days ago',
      ' (',
      { time: '1 October 2026', iso: '2026-10-01' },
      ')',
    ]);
    const added = describeWith({ ...registered, registeredAt: undefined });
    assert.equal(added.origin, t.consent.addedByAdministrator);
  });

  it('never says that an app will register, whatever the clocks say', () => {
    const { origin } = describeWith({ ...registered, registeredAt: now + 5 * MINUTE });
    assert.match(JSON.stringify(origin), /just now/);
  });

  it('warns by where the answer goes, also when the domain is verified', () => {
    for (const client of [registered, verified]) {
      const warned = (redirectUri: string) =>
        describeWith({ ...client, redirectUri }).warning?.lead;
      assert.equal(warned('https://tools.example.net/'), undefined);
      assert.equal(warned('http://localhost:1/'), t.client.loopbackWarning.lead);
      assert.equal(warned('http://[::1]/'), t.client.loopbackWarning.lead);
      assert.equal(warned('cursor://callback'), t.client.privateUseWarning.lead);
    }
  });

  it('calls an app without a name after its domain', () => {
    assert.equal(describeWith({ ...verified, claimedName: '\u200B' }).name, 'tools.example.net');
    assert.equal(describeWith({ ...registered, claimedName: '' }).name, t.client.unnamed);
  });
});
