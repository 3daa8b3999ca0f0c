import assert from 'node:assert/strict';

/*
 * Reads pages far more strictly than a browser does: every `<` begins a tag that is written out,
 * every attribute has double quotes, every element is closed. So whatever slipped through
 * unescaped is an error here, or an element too many.
 */

export interface Tag {
  name: string;
  attributes: Map<string, string>;
  /** Names of the elements around it, the outermost first. */
  within: string[];
}

export interface Markup {
  tags: Tag[];
  /** What stands between the tags, with entities read. */
  text: string;
}

const TAG = /<(\/?)([a-z][a-z0-9]*)((?: [a-z][a-zA-Z-]*(?:="[^"<>]*")?)*)(\/?)>/y;
const TEXT = /[^<>]+/y;
const ENTITIES: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};
const VOID = new Set(['meta', 'link', 'input']);

/** @throws AssertionError where the page is not written strictly. */
export function readMarkup(html: string): Markup {
  const start = '<!doctype html>';
  assert.ok(html.startsWith(start), 'begins with the doctype');
  const tags: Tag[] = [];
  const open: string[] = [];
  let text = '';
  for (let at = start.length; at < html.length;) {
    const [, end, name = '', attributes = '', selfClosing] = matchAt(TAG, html, at) ?? [];
    if (name === '') {
      const [words] = matchAt(TEXT, html, at) ?? [];
      assert.ok(words !== undefined, `unescaped at ${JSON.stringify(html.slice(at, at + 80))}`);
      text += unescapeHtml(words);
      at += words.length;
      continue;
    }
    at = TAG.lastIndex;
    if (end === '/') {
      assert.equal(open.pop(), name, `</${name}> closes what was opened last`);
      continue;
    }
    tags.push({ name, attributes: readAttributes(attributes), within: [...open] });
    if (selfClosing !== '/' && !VOID.has(name)) open.push(name);
  }
  assert.deepEqual(open, [], 'every element is closed');
  return { tags, text };
}

/** Elements and their attributes without any value: what a page is, whatever words are in it. */
export function skeletonOf(html: string): string[] {
  return readMarkup(html).tags.map(({ name, attributes, within }) =>
    [...within, `${name}[${[...attributes.keys()].join()}]`].join(' '),
  );
}

/** Reads the five entities that pages are written with. @throws AssertionError at any other `&`. */
export function unescapeHtml(text: string): string {
  return text.replaceAll(/&[a-z#0-9]*;?/gi, (entity) => {
    const character = ENTITIES[entity];
    assert.ok(character !== undefined, `"${entity}" is no entity of ours`);
    return character;
  });
}

function readAttributes(written: string): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const [, name = '', value = ''] of written.matchAll(/ ([a-zA-Z-]+)(?:="([^"]*)")?/g)) {
    assert.ok(!attributes.has(name), `${name} is given once`);
    attributes.set(name, unescapeHtml(value));
  }
  return attributes;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
