import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { displayName } from '#src/http/client-display.ts';
import { createRenderer } from '#src/http/render.ts';
import { hostileWords } from '../support/hostile-words.ts';
import { readMarkup, skeletonOf, type Markup, type Tag } from '../support/markup.ts';
import {
  homePage,
  renderSample,
  sampleRenderer,
  samplePages,
  site,
  viewsFolder,
  type SamplePage,
} from '../support/sample-pages.ts';
import { temporaryFolder } from '../support/temp.ts';

const renderer = sampleRenderer();
const plain = new Map(
  [...samplePages()].map(([name, page]) => [name, renderSample(renderer, page)]),
);
const hostile = Object.entries(hostileWords).map(([kind, words]) => ({
  kind,
  words,
  pages: samplePages({
    words: { appName: words, userName: words, privilege: words, quoted: words },
  }),
}));

describe('every page', () => {
  for (const [name, html] of plain) {
    it(`is well made: ${name}`, () => checkPage(html));
  }

  for (const language of ['de', 'fr'] as const) {
    it(`is made the same in ${language}`, () => {
      for (const [name, page] of samplePages({ language })) {
        const html = renderSample(renderer, page);
        checkPage(html, language);
        assert.deepEqual(blocksOf(html), blocksOf(plain.get(name) ?? ''), name);
      }
    });
  }

  it('says what it is about, also where it does not know', () => {
    const known = readMarkup(plain.get('error, document-unavailable') ?? '').text;
    assert.match(known, /We could not reach claude\.ai to confirm/);
    const unknown = readMarkup(plain.get('error, no host') ?? '').text;
    assert.match(unknown, /We could not reach its website to confirm/);
  });

  it('is about the right app', () => {
    const { text } = readMarkup(plain.get('consent, scheme') ?? '');
    assert.match(text, /An app that calls itself “Cursor” wants to connect to Sales/);
    assert.match(text, /Signed in as demo\.user/);
    assert.match(text, /cursor:\/\/anysphere\.cursor-mcp/);
  });
});

for (const { kind, words, pages } of hostile) {
  describe(`every page, with ${kind}`, () => {
    it('has the same elements and attributes as ever', () => {
      for (const [name, page] of pages) {
        const html = renderSample(renderer, page);
        checkPage(html);
        assert.deepEqual(skeletonOf(html), skeletonOf(plain.get(name) ?? ''), name);
      }
    });

    it('quotes an address without anything that nobody sees', () => {
      const { text } = readMarkup(
        renderSample(renderer, pages.get('error, redirect') as SamplePage),
      );
      assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Bidi_Control}\u200B\u3164\uFEFF]/u);
    });

    it('shows the name as text, alone in its element', () => {
      const { client } = clientOf(pages, 'consent, scheme');
      assert.equal(client.name, displayName(words, 'Unnamed app'));
      for (const name of ['consent, scheme', 'login, unverified']) {
        const html = renderSample(renderer, pages.get(name) as SamplePage);
        assert.ok(readMarkup(html).text.includes(`“${client.name}”`));
        assert.ok(html.includes('“<bdi>') || html.includes('“<b><bdi>'));
      }
    });
  });
}

describe('the home page', () => {
  for (const [kind, words] of Object.entries(hostileWords)) {
    it(`stays as it is when the server is called ${kind}`, async () => {
      const named = createRenderer(viewsFolder, { ...site, name: words });
      const html = renderSample(named, homePage({ ...site, name: words }, true));
      checkPage(html);
      assert.deepEqual(skeletonOf(html), skeletonOf(plain.get('home') ?? ''));
    });
  }
});

describe('createRenderer', () => {
  it('gives the stylesheet an address that changes with it', async () => {
    await using folder = await temporaryFolder();
    const addressOf = async (css: string) => {
      await writeFile(join(folder.path, 'castellan.css'), css);
      return createRenderer(folder.path, site).stylesheet;
    };
    const first = await addressOf('a {}');
    assert.deepEqual([first.body, first.path], ['a {}', '/assets/castellan.css']);
    assert.match(first.url, /^\/assets\/castellan\.css\?v=[0-9a-f]{12}$/);
    assert.equal((await addressOf('a {}')).url, first.url);
    assert.notEqual((await addressOf('b {}')).url, first.url);
  });

  it('refuses to start with a view that cannot be compiled, also one that only others include', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'castellan.css'), '');
    await writeFile(join(folder.path, 'note.eta'), '<p><%= it.text </p>');
    assert.throws(() => createRenderer(folder.path, site));
    assert.throws(() => createRenderer(join(folder.path, 'nowhere'), site), { code: 'ENOENT' });
  });

  it('reads the views once', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'castellan.css'), '');
    await writeFile(join(folder.path, 'notfound.eta'), 'as it was');
    const early = createRenderer(folder.path, site);
    await writeFile(join(folder.path, 'notfound.eta'), 'changed');
    const page = { title: '', language: 'en' as const, data: {} };
    assert.equal(early.render('notfound', page), 'as it was');
  });
});

/** A page without what stands inside its sentences, where each language has an order of its own. */
function blocksOf(html: string): string[] {
  return skeletonOf(html).filter((tag) => !/ (b|bdi|code|kbd|span|time)\[/.test(tag));
}

/** What holds for every page, whatever is on it. */
function checkPage(html: string, language = 'en'): void {
  const markup = readMarkup(html);
  const { tags, text } = markup;
  const named = (name: string): Tag[] => tags.filter((tag) => tag.name === name);
  assert.doesNotMatch(html, /undefined|\[object|\bNaN\b|Invalid Date|<%/);
  assert.equal(named('h1').length, 1);
  assert.equal(named('title').length, 1);
  assert.equal(named('html')[0]?.attributes.get('lang'), language);
  assert.equal(named('main').length, 1);
  assert.doesNotMatch(
    html,
    /<(bdi|b|code|dd|dt|li|p|td|th|h1|title)( [^>]*)?><\//,
    'nothing is empty',
  );
  assert.match(text, /\S/);
  checkNothingRuns(tags);
  checkReferences(tags);
  for (const field of [...named('input'), ...named('textarea')]) checkLabel(field, markup);
  for (const form of named('form')) {
    assert.equal(form.attributes.get('method'), 'post');
    assert.match(form.attributes.get('action') ?? '', /^\/mcp\/oauth\/interaction\/u1\/[a-z]+$/);
  }
}

function checkNothingRuns(tags: Tag[]): void {
  const harmless =
    /^(html|head|meta|title|link|body|a|header|nav|main|footer|section|div|p|span|b|i|bdi|code|kbd|time|h[123]|ol|ul|li|dl|dt|dd|table|thead|tbody|tr|th|td|details|summary|form|fieldset|legend|label|input|textarea|button|svg|path)$/;
  for (const { name, attributes } of tags) {
    assert.match(name, harmless);
    for (const [attribute, value] of attributes) {
      assert.doesNotMatch(attribute, /^(on|style$|src|srcdoc$|formaction$)/);
      if (attribute !== 'href') continue;
      const isOurs = name === 'link' ? /^\/assets\/castellan\.css\?v=/ : /^(\/|#main)$/;
      const isKnown =
        /^(https:\/\/claude\.ai\/|vscode:mcp\/|cursor:\/\/anysphere\.cursor-(deeplink\/|mcp\/oauth\/callback\?(code|error)=))/;
      assert.ok(
        isOurs.test(value) || (name === 'a' && (isKnown.test(value) || value.startsWith('/mcp/'))),
        value,
      );
    }
  }
}

function checkReferences(tags: Tag[]): void {
  const ids = tags.flatMap(({ attributes }) => attributes.get('id') ?? []);
  assert.equal(new Set(ids).size, ids.length, 'every id is there once');
  for (const { attributes } of tags) {
    for (const attribute of ['for', 'aria-describedby', 'aria-labelledby']) {
      const target = attributes.get(attribute);
      if (target !== undefined) assert.ok(ids.includes(target), `${attribute} leads to #${target}`);
    }
  }
}

function checkLabel({ attributes, within }: Tag, { tags }: Markup): void {
  if (attributes.get('type') === 'hidden') {
    assert.equal(attributes.get('name'), '_csrf');
    assert.match(attributes.get('value') ?? '', /^token-of-the-(login|consent)-form$/);
    return;
  }
  const id = attributes.get('id');
  const isLabelled =
    within.includes('label') ||
    attributes.has('aria-label') ||
    tags.some((tag) => tag.name === 'label' && tag.attributes.get('for') === id);
  assert.ok(isLabelled, `${id ?? attributes.get('name')} has a label`);
}

function clientOf(pages: Map<string, SamplePage>, name: string) {
  const page = pages.get(name);
  assert.ok(page && 'client' in page.data);
  return page.data;
}
