import fc from 'fast-check';

/*
 * Messages of both eras, and what may be wrong in them. They are made as text, not as values: a value
 * has no key twice, no `__proto__` of its own and no half of a surrogate pair.
 */

/** JSON text, or an object with its fields in order. */
type Node = string | Field[];
type Field = [name: string, node: Node];

export const VERSION = '2026-07-28';
/** Half of all messages call a tool, and most of these one that is there. */
const METHODS = [
  ...Array.from({ length: 9 }, () => 'tools/call'),
  'tools/list',
  'server/discover',
  'initialize',
  'ping',
  'notifications/cancelled',
  'notifications/initialized',
  'resources/list',
  'logging/setLevel',
  'subscriptions/listen',
];
const TOOLS = ['note', 'note', 'steps', 'steps', 'wipe', 'none', '__proto__', 'constructor'];
/** Stands for the state of a question that is open. */
export const STATE = '@state@';

/** One of many, listed in rows. */
export const anyOf = (...rows: readonly string[][]): fc.Arbitrary<string> =>
  fc.constantFrom(...rows.flat());
const json = (value: unknown): string => JSON.stringify(value);
const nested = (open: string, close: string) => (depth: number) =>
  `${open.repeat(depth)}1${close.repeat(depth)}`;

/** Text that stands where it should not. */
const junk: fc.Arbitrary<Node> = fc.oneof(
  anyOf(
    ['null', 'true', '0', '-0', '1.5', '1e400', '-1e400', '9007199254740993', '[]', '{}', '""'],
    ['"\\ud800"', '"\\udc00x"', '"\\u0000"', '"\\ud83d\\ude00"', '"__proto__"', '[null]'],
    ['{"__proto__":{"isAdmin":true}}', '{"toString":1,"valueOf":1}', '{"then":{}}', 'undefined'],
    ['{"length":1e9}', `"${'x'.repeat(5_000)}"`, '9'.repeat(400)],
  ),
  fc.integer({ min: 1, max: 9_000 }).map(nested('[', ']')),
  fc.integer({ min: 1, max: 9_000 }).map(nested('{"a":', '}')),
  fc.json({ maxDepth: 3 }),
);

const name = fc.oneof(
  { weight: 7, arbitrary: fc.constantFrom(...TOOLS) },
  { weight: 1, arbitrary: fc.string({ maxLength: 80 }) },
);

export const metaOf = (capabilities: Node): Field => [
  '_meta',
  [
    ['io.modelcontextprotocol/protocolVersion', json(VERSION)],
    ['io.modelcontextprotocol/clientCapabilities', capabilities],
    ['progressToken', '"p"'],
  ],
];

const capabilities = fc.constantFrom<Node>('{}', [['elicitation', '{}']]);
const ids = fc.constantFrom('1', '"a"', '-1', '0');

export function request(id: string, method: string, params: Node): Field[] {
  return [
    ['jsonrpc', '"2.0"'],
    ['id', id],
    ['method', json(method)],
    ['params', params],
  ];
}

const answers = fc.constantFrom<Node>(
  [
    [
      'question_1',
      [
        ['action', '"accept"'],
        ['content', [['confirm', 'true']]],
      ],
    ],
  ],
  [['question_1', [['action', '"decline"']]]],
  [['question_1', [['action', '"accept"']]]],
  '{}',
);

/** A message as an honest client could send it, with the method and the tool that it is about. */
const message = fc
  .record({ id: ids, method: fc.constantFrom(...METHODS), tool: name, capabilities, answers })
  .map(({ id, method, tool, capabilities: able, answers: given }) => {
    const call: Field[] = [
      ['name', json(tool)],
      ['arguments', [['text', '"hi"']]],
    ];
    const resumed: Field[] = [
      ['requestState', json(STATE)],
      ['inputResponses', given],
    ];
    const params: Field[] =
      method === 'tools/call' ? (tool === 'wipe' ? [['name', json(tool)], ...resumed] : call) : [];
    if (method === 'initialize')
      params.push(['protocolVersion', '"2025-11-25"'], ['capabilities', able]);
    if (method === 'notifications/cancelled') params.push(['requestId', id]);
    return { method, tool, fields: request(id, method, [...params, metaOf(able)]) };
  });

interface Change {
  /** Which of all fields, counted from the outside in. */
  at: number;
  how: 'drop' | 'replace' | 'twice' | 'rename' | 'wrap' | 'add';
  junk: Node;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(40),
  how: fc.constantFrom('drop', 'replace', 'twice', 'rename', 'wrap', 'add'),
  junk,
});

/** All fields of a message, each with the object that it is in. */
function placesOf(fields: Field[]): { fields: Field[]; index: number }[] {
  const here = fields.map((_field, index) => ({ fields, index }));
  const below = fields.flatMap(([, node]) => (typeof node === 'string' ? [] : placesOf(node)));
  return [...here, ...below];
}

function spoil(fields: Field[], { at, how, junk: other }: Change): void {
  const places = placesOf(fields);
  const place = places[at % places.length];
  const field = place?.fields[place.index];
  if (place === undefined || field === undefined) return;
  const { fields: around, index } = place;
  switch (how) {
    case 'drop':
      around.splice(index, 1);
      return;
    case 'replace':
      field[1] = other;
      return;
    case 'twice':
      around.push([field[0], other]);
      return;
    case 'rename':
      field[0] = '__proto__';
      return;
    case 'wrap':
      field[1] = [[field[0], field[1]]];
      return;
    case 'add':
      around.unshift(['__proto__', other]);
  }
}

export function write(node: Node): string {
  if (typeof node === 'string') return node;
  return `{${node.map(([key, value]) => `${json(key)}:${write(value)}`).join(',')}}`;
}

export interface Spoken {
  /** What the headers say. */
  method: string;
  tool: string;
  text: string;
}

const spoiled: fc.Arbitrary<Spoken> = fc
  .record({ message, changes: fc.array(change, { maxLength: 3 }) })
  .map(({ message: { method, tool, fields }, changes }) => {
    const copy = structuredClone(fields);
    for (const one of changes) spoil(copy, one);
    return { method, tool, text: write(copy) };
  });

/** What is said to a question of the server's, and to none. */
const response: fc.Arbitrary<Spoken> = fc
  .record({ id: fc.constantFrom('"ask_1"', '1', '""', '"\\u0000"'), junk, isError: fc.boolean() })
  .map(({ id, junk: result, isError }) => ({
    method: 'tools/list',
    tool: '',
    text: `{"jsonrpc":"2.0","id":${id},"${isError ? 'error' : 'result'}":${write(result)}}`,
  }));

const batch: fc.Arbitrary<Spoken> = fc
  .array(fc.oneof(spoiled, response), { maxLength: 5 })
  .map((all) => ({
    method: 'tools/list',
    tool: '',
    text: `[${all.map(({ text }) => text).join(',')}]`,
  }));

/** What is said in a body. */
export const spoken: fc.Arbitrary<Spoken> = fc.oneof(
  { weight: 6, arbitrary: spoiled },
  { weight: 2, arbitrary: response },
  { weight: 2, arbitrary: batch },
);
