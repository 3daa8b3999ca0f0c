import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { escapeHtml, say, sentenceHtml, type Part, type Sentence } from '#src/http/sentence.ts';
import { unescapeHtml } from '../support/markup.ts';
import { hostileWords } from '../support/hostile-words.ts';

describe('sentenceHtml', () => {
  const cases: [what: string, sentence: Sentence, html: string][] = [
    ['plain text', 'Sign in', 'Sign in'],
    ['no parts', [], ''],
    ['several parts', ['Sign in to ', { name: 'Sales' }, '.'], 'Sign in to <bdi>Sales</bdi>.'],
    ['emphasis', { b: 'Claude' }, '<b>Claude</b>'],
    ['a name in emphasis', { b: [{ name: 'Claude' }] }, '<b><bdi>Claude</bdi></b>'],
    ['a line', { line: ['One ', { b: 'two' }] }, '<span class="line">One <b>two</b></span>'],
    ['a host', { host: 'claude.ai' }, '<bdi dir="ltr">claude.ai</bdi>'],
    ['code', { code: '/mcp' }, '<code dir="ltr">/mcp</code>'],
    ['a key', { key: 'Ctrl' }, '<kbd>Ctrl</kbd>'],
    [
      'a time',
      { time: '14:36 UTC', iso: '2026-11-30T14:36Z' },
      '<time datetime="2026-11-30T14:36Z">14:36 UTC</time>',
    ],
    [
      'a link',
      { link: 'Help', href: 'https://example.com/?a=1&b=2' },
      '<a href="https://example.com/?a=1&amp;b=2">Help</a>',
    ],
    ['a link on this site', { link: 'Home', href: '/' }, '<a href="/">Home</a>'],
  ].map(([what, sentence, html]) => [
    what as string,
    (typeof sentence === 'object' && !Array.isArray(sentence) ? [sentence] : sentence) as Sentence,
    html as string,
  ]);
  for (const [what, sentence, html] of cases) {
    it(what, () => assert.equal(sentenceHtml(sentence), html));
  }

  const unsafe = [
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,x',
    'http://example.com/',
    '//example.com/',
    '/\\example.com/',
    '/\t/example.com/',
    '\\\\example.com',
    'https://example.com/\n',
    'vscode:mcp',
    '',
  ];
  for (const href of unsafe) {
    it(`no link to ${JSON.stringify(href)}`, () => {
      assert.equal(sentenceHtml([{ link: 'Here', href }]), 'Here');
    });
  }

  const kinds: [kind: string, part: (words: string) => Part][] = [
    ['text', (words) => words],
    ['b', (b) => ({ b })],
    ['line', (line) => ({ line: [line] })],
    ['name', (name) => ({ name })],
    ['host', (host) => ({ host })],
    ['code', (code) => ({ code })],
    ['key', (key) => ({ key })],
    ['time', (time) => ({ time, iso: time })],
    ['link', (link) => ({ link, href: `https://example.com/${link}` })],
  ];
  for (const [kind, part] of kinds) {
    it(`keeps every hostile word inside ${kind}`, () => {
      const frame =
        sentenceHtml([part('')])
          .match(/<[^>]*>/g)
          ?.map(nameOfTag) ?? [];
      for (const words of Object.values(hostileWords)) {
        const html = sentenceHtml([part(words)]);
        const tags = html.match(/<[^>]*>/g) ?? [];
        // A link to somewhere odd becomes plain text, so it may have fewer.
        if (kind !== 'link' || tags.length > 0) assert.deepEqual(tags.map(nameOfTag), frame);
        assert.equal(unescapeHtml(html.replaceAll(/<[^>]*>/g, '')), words);
      }
    });
  }
});

describe('say', () => {
  it('keeps values apart from the text', () => {
    const name = '<b>Claude</b>';
    assert.equal(
      sentenceHtml(say`“${{ name }}” & ${{ b: say`${name}s` }}`),
      '“<bdi>&lt;b&gt;Claude&lt;/b&gt;</bdi>” &amp; <b>&lt;b&gt;Claude&lt;/b&gt;s</b>',
    );
    assert.equal(sentenceHtml(say`Nothing more`), 'Nothing more');
    assert.equal(sentenceHtml(say`${''}${{ key: 'A' }}`), '<kbd>A</kbd>');
  });
});

describe('escapeHtml', () => {
  it('can be read back, and leaves nothing that begins or ends a tag or an attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const html = escapeHtml(text);
        assert.doesNotMatch(html, /[<>"']/);
        assert.equal(unescapeHtml(html), text);
      }),
    );
  });
});

function nameOfTag(tag: string): string {
  return /^<\/?[a-z]+/.exec(tag)?.[0] ?? '';
}
