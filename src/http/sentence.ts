/*
 * Sentences: what texts are made of. They hold no HTML: where a name or an emphasis stands inside a
 * sentence, it is a list of parts, and parts become HTML here only, with every value escaped. So
 * neither a translation nor a value can bring markup into a page.
 */

/** A sentence: plain text, or its parts in order. */
export type Sentence = string | readonly Part[];

/** One part of a sentence: plain text, or what stands in an element of its own. */
export type Part =
  | string
  | { readonly b: Sentence }
  | { readonly line: Sentence }
  /** A name that somebody else chose; isolated, so that it cannot reorder the sentence. */
  | { readonly name: string }
  /** A host name or address; isolated and always left to right. */
  | { readonly host: string }
  | { readonly code: string }
  | { readonly key: string }
  | { readonly link: string; readonly href: string }
  | { readonly time: string; readonly iso: string };

/** Reads a template literal as a sentence: its text and values stay apart as parts. */
export function say(texts: TemplateStringsArray, ...values: readonly Part[]): Sentence {
  return texts.flatMap((text, index) => {
    const value = values[index];
    return value === undefined ? [text] : [text, value];
  });
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Where a link inside a sentence may lead. Browsers read a backslash as a slash and skip tabs and line ends. */
const SAFE_LINK = /^(https:\/\/|\/(?![/\\]))[^\s\p{Cc}\\]*$/u;

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

export function sentenceHtml(sentence: Sentence): string {
  return typeof sentence === 'string' ? escapeHtml(sentence) : sentence.map(partHtml).join('');
}

function partHtml(part: Part): string {
  if (typeof part === 'string') return escapeHtml(part);
  if ('b' in part) return `<b>${sentenceHtml(part.b)}</b>`;
  if ('line' in part) return `<span class="line">${sentenceHtml(part.line)}</span>`;
  if ('name' in part) return `<bdi>${escapeHtml(part.name)}</bdi>`;
  if ('host' in part) return `<bdi dir="ltr">${escapeHtml(part.host)}</bdi>`;
  if ('code' in part) return `<code dir="ltr">${escapeHtml(part.code)}</code>`;
  if ('key' in part) return `<kbd>${escapeHtml(part.key)}</kbd>`;
  if ('time' in part)
    return `<time datetime="${escapeHtml(part.iso)}">${escapeHtml(part.time)}</time>`;
  if (!SAFE_LINK.test(part.href)) return escapeHtml(part.link);
  return `<a href="${escapeHtml(part.href)}">${escapeHtml(part.link)}</a>`;
}
