import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { tool } from '#src/tools/define.ts';
import { t } from '#src/tools/fields.ts';
import { mcpServer, modern, type Answer, type Sent, type ServerOptions } from './server.ts';

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** The three names that roles.json has: anna may call `echo`, could be allowed `change`, never `wipe`. */
const TOOLS = ['echo', 'change', 'wipe'].map((name) =>
  tool({
    name,
    input: z.object({
      region: t.header('Region', z.string()).optional(),
      shard: t.header('Shard', z.int()).optional(),
      dry: t.header('Dry', z.boolean()).optional(),
      deep: z.object({ day: t.header('Day', t.date()) }).optional(),
    }),
    run: () => 'ran',
  }),
);

function call(args: unknown, headers: Sent['headers'] = {}, name = 'echo'): Sent {
  return modern('tools/call', { name, arguments: args }, { headers });
}

async function answers(requests: Sent[], options: ServerOptions = {}): Promise<Answer[]> {
  await using server = await mcpServer({ tools: TOOLS, ...options });
  const all: Answer[] = [];
  for (const request of requests) all.push(await server.send(request));
  return all;
}

/** `200 ran`, or the status and code of the failure. */
function outcome({ status, json }: Answer): string {
  if (json.error !== undefined) return `${status} ${json.error.code}`;
  const blocks = json.result?.['content'] as { text: string }[] | undefined;
  return `${status} ${blocks?.[0]?.text}`;
}

describe('a header that repeats an argument', () => {
  const RAN = '200 ran';
  const REFUSED = '400 -32020';
  const cases: [name: string, args: unknown, headers: Sent['headers'], outcome: string][] = [
    ['says the same', { region: 'eu' }, { 'mcp-param-region': 'eu' }, RAN],
    ['says it in other letters of its name', { region: 'eu' }, { 'MCP-PARAM-REGION': 'eu' }, RAN],
    ['says it in spaces', { region: 'eu' }, { 'mcp-param-region': '  eu\t' }, RAN],
    ['says it in base64', { region: 'eu' }, { 'mcp-param-region': base64('eu') }, RAN],
    [
      'says more than ASCII',
      { region: ' Zürich\n' },
      { 'mcp-param-region': base64(' Zürich\n') },
      RAN,
    ],
    ['says nothing, in base64', { region: '' }, { 'mcp-param-region': base64('') }, RAN],
    ['looks like base64', { region: '=?base64?eA' }, { 'mcp-param-region': '=?base64?eA' }, RAN],
    ['is missing', { region: 'eu' }, {}, REFUSED],
    ['says something else', { region: 'eu' }, { 'mcp-param-region': 'us' }, REFUSED],
    ['says it in capitals', { region: 'eu' }, { 'mcp-param-region': 'EU' }, REFUSED],
    ['says it twice', { region: 'eu' }, { 'mcp-param-region': ['eu', 'eu'] }, REFUSED],
    ['says it without the base64 mark', { region: 'x' }, { 'mcp-param-region': 'eA==' }, REFUSED],
    [
      'is broken base64',
      { region: 'Hello' },
      { 'mcp-param-region': '=?base64?SGVsbG8?=' },
      REFUSED,
    ],
    [
      'is no base64',
      { region: 'Hello' },
      { 'mcp-param-region': '=?base64?SGVs!!!bG8=?=' },
      REFUSED,
    ],
    ['says what the arguments leave out', {}, { 'mcp-param-region': 'eu' }, REFUSED],
    ['says what there are no arguments for', undefined, { 'mcp-param-region': 'eu' }, REFUSED],
    ['is not needed for what is left out', {}, {}, RAN],
    ['that nobody declared may say anything', {}, { 'mcp-param-other': '=?base64?!?=' }, RAN],
    ['counts', { shard: 42 }, { 'mcp-param-shard': '42' }, RAN],
    ['counts in another way', { shard: 42 }, { 'mcp-param-shard': '42.0' }, RAN],
    ['counts below zero', { shard: -1 }, { 'mcp-param-shard': '-1' }, RAN],
    ['counts otherwise', { shard: 42 }, { 'mcp-param-shard': '43' }, REFUSED],
    ['counts in sixteens', { shard: 42 }, { 'mcp-param-shard': '0x2a' }, REFUSED],
    ['counts nothing', { shard: 0 }, { 'mcp-param-shard': '' }, REFUSED],
    ['has a tick', { dry: false }, { 'mcp-param-dry': 'false' }, RAN],
    ['has a tick in capitals', { dry: false }, { 'mcp-param-dry': 'False' }, REFUSED],
    ['has another tick', { dry: false }, { 'mcp-param-dry': 'true' }, REFUSED],
    ['is further down', { deep: { day: '2026-07-28' } }, { 'mcp-param-day': '2026-07-28' }, RAN],
    ['is missing further down', { deep: { day: '2026-07-28' } }, {}, REFUSED],
    // The header is there for proxies to see what was sent, not what it comes to.
    [
      'says the date otherwise',
      { deep: { day: '2026-07-28' } },
      { 'mcp-param-day': '2026-07-28T00:00:00Z' },
      REFUSED,
    ],
  ];
  for (const [name, args, headers, expected] of cases) {
    it(`${expected}: ${name}`, async () => {
      const [answer] = await answers([call(args, headers)]);
      assert.equal(answer && outcome(answer), expected);
      if (expected === REFUSED)
        assert.match(
          answer?.json.error?.message ?? '',
          /^Header mismatch: Mcp-Param-\w+ is missing/,
        );
    });
  }

  it('leaves it to the tool to say that an argument is wrong', async () => {
    const all = await answers([
      call({ region: null }),
      call({ region: ['eu'] }),
      call({ deep: 'text' }),
      call({ shard: 1.5 }, { 'mcp-param-shard': '1.5' }),
      call({ shard: 1e-7 }, { 'mcp-param-shard': '1e-7' }),
      call({ shard: 1e300 }),
      call({ shard: 'many' }, { 'mcp-param-shard': 'many' }),
      call('text'),
    ]);
    for (const answer of all) assert.match(outcome(answer), /^200 Invalid parameters: /);
  });

  it('is compared where no tool can be guessed by it', async () => {
    const args = { region: 'eu' };
    const stranger = { authorization: undefined };
    const all = await answers([
      call(args, stranger, 'echo'),
      call(args, stranger, 'nowhere'),
      call(args, {}, 'wipe'),
      call(args, {}, 'nowhere'),
      call(args, {}, 'change'),
    ]);
    const told = all.map(({ status, json }) => [status, json.error?.code]);
    const [strange, stranger2, beyond, nowhere, wider] = told;
    assert.deepEqual(strange, [401, -32001]);
    assert.deepEqual(strange, stranger2);
    assert.deepEqual(beyond, [200, -32602]);
    assert.deepEqual(beyond, nowhere);
    assert.equal(wider?.[0], 403);
  });

  it('may be missing from bare requests, and may not lie', async () => {
    const bare = (headers: Sent['headers']): Sent =>
      modern(
        'tools/call',
        {},
        {
          headers: { 'mcp-protocol-version': undefined, 'mcp-method': undefined, ...headers },
          message: { params: { name: 'echo', arguments: { region: 'eu' } } },
        },
      );
    const all = await answers(
      [bare({}), bare({ 'mcp-param-region': 'eu' }), bare({ 'mcp-param-region': 'us' })],
      { acceptBareRequests: true },
    );
    assert.deepEqual(all.map(outcome), [RAN, RAN, REFUSED]);
  });

  it('is told to whoever runs the server', async () => {
    await using server = await mcpServer({ tools: TOOLS });
    await server.send(call({ region: 'eu' }));
    const event = server.events.find((one) => one.type === 'tool.called');
    assert.deepEqual(
      [event?.outcome, event?.reason],
      ['refused', 'Mcp-Param-Region is missing or differs from the body'],
    );
  });
});
