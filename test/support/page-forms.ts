/** What one of our pages sends and opens, read out of its HTML. Our views are simple enough for patterns. */

export interface PageForm {
  action: string;
  method: string;
  /** Hidden fields with their values. */
  hidden: [string, string][];
  /** Boxes that are ticked when the page is shown. */
  ticked: [string, string][];
  /** Every box, ticked or not. */
  boxes: [string, string][];
  /** The names of all fields and buttons. */
  names: Set<string>;
}

export function readForms(html: string): PageForm[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, head = '', body = '']) => {
    const { action = '', method = 'get' } = attributesOf(head);
    const form: PageForm = { action, method, hidden: [], ticked: [], boxes: [], names: new Set() };
    for (const [, text = ''] of body.matchAll(/<(?:input|button|textarea)\b([^>]*)>/g)) {
      const { name, value = '', type = 'text', checked } = attributesOf(text);
      if (name === undefined) continue;
      form.names.add(name);
      if (type === 'hidden') form.hidden.push([name, value]);
      if (type !== 'checkbox') continue;
      form.boxes.push([name, value]);
      if (checked !== undefined) form.ticked.push([name, value]);
    }
    return form;
  });
}

/** The address that the page opens by itself. */
export function readRefresh(html: string): string | undefined {
  const [, address] = /<meta http-equiv="refresh" content="0; url=([^"]*)">/.exec(html) ?? [];
  return address === undefined ? undefined : unescape(address);
}

function attributesOf(text: string): Record<string, string | undefined> {
  const found: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/([a-z-]+)(?:="([^"]*)")?/g))
    found[name] = unescape(value);
  return found;
}

const ENTITIES: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

function unescape(text: string): string {
  return text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}
