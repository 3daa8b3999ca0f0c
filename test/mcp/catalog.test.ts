import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { compileAccess } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';
import type { Principal } from '#src/credentials/principal.ts';
import { tool } from '#src/tools/define.ts';
import type { PublishedTool } from '#src/tools/tool-set.ts';
import { houseRuleProblems } from '../support/house-rules.ts';
import {
  ANNA,
  authenticatorFor,
  mcpServer,
  modern,
  type McpServer,
  type Result,
} from './server.ts';

const NAMES = Array.from({ length: 250 }, (_, index) => `tool-${String(index).padStart(3, '0')}`);
const MANY = NAMES.toReversed().map((name) =>
  tool({ name, description: 'Use it.', input: z.object({ a: z.string() }), run: () => 'done' }),
);
/** Even ones for `even`, odd ones for `odd`. */
const HALVES = compileAccess(
  rolesSchema.parse({
    privileges: [{ privilege: 'even' }, { privilege: 'odd' }],
    permissions: {
      allowed: NAMES.map((applyTo, index) => ({
        applyTo,
        type: 'tool' as const,
        execute: [index % 2 === 0 ? 'even' : 'odd'],
      })),
    },
  }),
);
const OPEN = compileAccess(rolesSchema.parse({ restrictedByDefault: false }));

function holding(...names: string[]): Principal {
  return {
    ...ANNA,
    granted: names,
    effective: new Set(names),
    attainable: new Set(['even', 'odd']),
  };
}

async function list(server: McpServer, params: object = {}): Promise<Result> {
  const { status, json } = await server.send(modern('tools/list', params));
  assert.equal(status, 200);
  assert.ok(json.result, JSON.stringify(json.error));
  return json.result;
}

const namesOf = (page: Result): string[] =>
  (page['tools'] as PublishedTool[]).map((one) => one.name);

/** All pages, one after the other. */
async function pages(server: McpServer): Promise<string[][]> {
  const found: string[][] = [];
  let cursor: unknown;
  do {
    const page = await list(server, cursor === undefined ? {} : { cursor });
    found.push(namesOf(page));
    cursor = page['nextCursor'];
  } while (cursor !== undefined);
  return found;
}

describe('the catalogue', () => {
  it('comes in pages of a hundred, sorted by name, and ends without a cursor', async () => {
    await using server = await mcpServer({ tools: MANY, access: OPEN });
    const found = await pages(server);
    assert.deepEqual(
      found.map((page) => page.length),
      [100, 100, 50],
    );
    assert.deepEqual(found.flat(), NAMES);
  });

  it('has exactly the tools that the caller may call, on every page', async () => {
    const of = async (...names: string[]): Promise<string[][]> => {
      const authenticator = authenticatorFor(holding(...names));
      await using server = await mcpServer({ tools: MANY, access: HALVES, authenticator });
      return await pages(server);
    };
    const even = await of('even');
    assert.deepEqual(
      even.map((page) => page.length),
      [100, 25],
    );
    assert.deepEqual(
      even.flat(),
      NAMES.filter((_, index) => index % 2 === 0),
    );
    assert.deepEqual(
      (await of('odd')).flat(),
      NAMES.filter((_, index) => index % 2 === 1),
    );
    assert.deepEqual((await of('even', 'odd')).flat(), NAMES);
    assert.deepEqual(await of(), [[]]);
  });

  it('of exactly a hundred is one page', async () => {
    await using server = await mcpServer({ tools: MANY.slice(-100), access: OPEN });
    assert.deepEqual(
      (await pages(server)).map((page) => page.length),
      [100],
    );
  });

  it('goes on after a tool that has gone, or is not for this caller', async () => {
    const authenticator = authenticatorFor(holding('odd'));
    await using server = await mcpServer({ tools: MANY, access: HALVES, authenticator });
    const after = async (name: string): Promise<string | undefined> =>
      namesOf(await list(server, { cursor: Buffer.from(name).toString('base64url') }))[0];
    assert.equal(await after('tool-100'), 'tool-101');
    assert.equal(await after('tool-1005'), 'tool-101');
    assert.equal(await after('zzz'), undefined);
  });

  it('takes an empty cursor for the first page, and refuses one that is none of ours', async () => {
    await using server = await mcpServer({ tools: MANY, access: OPEN });
    assert.deepEqual(namesOf(await list(server, { cursor: '' })), NAMES.slice(0, 100));
    const encode = (text: string): string => Buffer.from(text).toString('base64url');
    const bad: unknown[] = [
      'garbage!',
      '100',
      encode('no spaces'),
      encode('x'.repeat(65)),
      `${encode('tool-001')}=`,
      `${encode('tool-001')} `,
      Buffer.from('tool-001>>?').toString('base64'),
      'x'.repeat(5_000),
      5,
      null,
      {},
      ['tool-001'],
    ];
    for (const cursor of bad) {
      const { status, json } = await server.send(modern('tools/list', { cursor }));
      // A method's own refusal, not the envelope's: no status of HTTP.
      assert.deepEqual([status, json.error?.code], [200, -32602], JSON.stringify(cursor));
    }
  });

  it('shows tools as they are published, by the house rules', async () => {
    await using server = await mcpServer();
    const { tools } = await list(server);
    assert.deepEqual(tools, [
      {
        name: 'echo',
        description: 'Use it to hear what you said.',
        inputSchema: {
          type: 'object',
          properties: { text: { type: 'string' } },
          additionalProperties: false,
        },
      },
    ]);
    assert.deepEqual((tools as PublishedTool[]).flatMap(houseRuleProblems), []);
  });

  it('may be kept for five minutes by its caller alone, and not at all while developing', async () => {
    await using server = await mcpServer();
    const { tools: _tools, ...kept } = await list(server);
    assert.deepEqual(kept, {
      ttlMs: 300_000,
      cacheScope: 'private',
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'Test house', version: '1.2.3' } },
    });
    await using developing = await mcpServer({ isDeveloping: true });
    assert.equal((await list(developing))['ttlMs'], 0);
  });
});

describe('discovery', () => {
  const discover = modern('server/discover', {}, { headers: { authorization: undefined } });

  it('tells everybody the same, for an hour', async () => {
    await using server = await mcpServer({ instructions: 'Look before you leap.' });
    const { status, json } = await server.send(discover);
    assert.equal(status, 200);
    assert.deepEqual(json.result, {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true } },
      instructions: 'Look before you leap.',
      ttlMs: 3_600_000,
      cacheScope: 'public',
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'Test house', version: '1.2.3' } },
    });
  });

  it('leaves out instructions that are not there', async () => {
    await using server = await mcpServer();
    const { json } = await server.send(discover);
    assert.equal(json.result && 'instructions' in json.result, false);
  });
});
