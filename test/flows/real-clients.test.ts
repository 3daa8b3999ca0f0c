import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { tool, type Tool } from '#src/tools/define.ts';
import { t as field } from '#src/tools/fields.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/*
 * The official client libraries against the whole endpoint, in each way they can speak: list, call,
 * progress, cancel, and a question that the person confirms or refuses.
 */

type Answer = { action: 'accept'; content: { confirm: boolean } } | { action: 'decline' };

interface CallOptions {
  args?: Record<string, unknown>;
  signal?: AbortSignal;
  onprogress?: (progress: { progress: number }) => void;
}

/** What the tests need of a library. */
interface Speaker extends AsyncDisposable {
  version: string | undefined;
  listTools(): Promise<string[]>;
  /** The text of a call's result. */
  call(name: string, options?: CallOptions): Promise<string>;
}

type Connect = (url: string, token: string, answer: () => Answer) => Promise<Speaker>;

const INFO = { name: 'real client', version: '1.0.0' };
const CAPABILITIES = { capabilities: { elicitation: {} } };

function viaVersion2(mode: 'legacy' | 'auto' | { pin: string }): Connect {
  return async (url, token, answer) => {
    const headers = { authorization: `Bearer ${token}` };
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    const client = new Client(INFO, { ...CAPABILITIES, versionNegotiation: { mode } });
    client.setRequestHandler('elicitation/create', async () => answer());
    await client.connect(transport);
    return {
      version: client.getNegotiatedProtocolVersion(),
      listTools: async () => (await client.listTools()).tools.map((one) => one.name),
      call: async (name, { args = {}, ...options } = {}) =>
        textOf(await client.callTool({ name, arguments: args }, options)),
      [Symbol.asyncDispose]: () => client.close(),
    };
  };
}

const viaVersion1: Connect = async (url, token, answer) => {
  const headers = { authorization: `Bearer ${token}` };
  const transport = new TransportV1(new URL(url), { requestInit: { headers } });
  const client = new ClientV1(INFO, CAPABILITIES);
  client.setRequestHandler(ElicitRequestSchema, async () => answer());
  await client.connect(transport);
  return {
    version: transport.protocolVersion,
    listTools: async () => (await client.listTools()).tools.map((one) => one.name),
    call: async (name, { args = {}, ...options } = {}) =>
      textOf(await client.callTool({ name, arguments: args }, undefined, options)),
    [Symbol.asyncDispose]: () => client.close(),
  };
};

function textOf(result: object): string {
  const [block] = (result as { content: { text?: string }[] }).content;
  return block?.text ?? '';
}

const SPEAKERS: [name: string, version: string, connect: Connect][] = [
  ['version 2, pinned', '2026-07-28', viaVersion2({ pin: '2026-07-28' })],
  ['version 2, by itself', '2026-07-28', viaVersion2('auto')],
  ['version 2, as before', '2025-11-25', viaVersion2('legacy')],
  ['version 1', '2025-11-25', viaVersion1],
];

describe('the official library', () => {
  let app: TestApp;
  let token: string;
  let running = Promise.withResolvers<AbortSignal>();
  const NONE = z.object({});
  const tools: Tool[] = [
    tool({ name: 'hello', input: NONE, run: (_args, { user }) => `Hello ${user.name}` }),
    tool({
      name: 'route',
      input: z.object({
        region: field.header('Region', z.string()),
        shard: field.header('Shard', z.int().optional()),
        dry: field.header('Dry-Run', z.boolean()),
      }),
      run: ({ region, shard, dry }) => [region, shard, dry].join(),
    }),
    tool({
      name: 'steps',
      input: NONE,
      async run(_args, { progress }) {
        for (const step of [1, 2, 3]) await progress(step, 3);
        return 'done';
      },
    }),
    tool({
      name: 'wait',
      input: NONE,
      run(_args, { signal }) {
        running.resolve(signal);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('over')));
      },
    }),
    tool({
      name: 'wipe',
      input: NONE,
      run: async (_args, { confirm }) => ((await confirm('Wipe?')) ? 'wiped' : 'kept'),
    }),
  ];
  before(async () => {
    const roles = { restrictedByDefault: false, roles: [{ role: 'readers', privileges: [] }] };
    app = await startTestApp({ dialect: 'sqlite', tools, roles });
    const client = await registerClient(app);
    ({ accessToken: token } = await obtainTokens(createPerson(app), client, { name: 'rita' }));
  });
  after(() => app[Symbol.asyncDispose]());

  for (const [name, version, connect] of SPEAKERS) {
    it(`${name} lists, calls, hears progress, cancels, confirms and refuses`, async () => {
      let answer: Answer = { action: 'accept', content: { confirm: true } };
      await using speaker = await connect(`${app.origin}/mcp`, token, () => answer);
      assert.equal(speaker.version, version);
      assert.deepEqual(await speaker.listTools(), ['hello', 'route', 'steps', 'wait', 'wipe']);
      assert.equal(await speaker.call('hello'), 'Hello rita');
      // The modern era has these in headers as well, and is refused without.
      for (const region of ['eu-west', ' Zürich\n', '', '=?base64?eA==?=']) {
        const args = { region, shard: 42, dry: false };
        assert.equal(await speaker.call('route', { args }), `${region},42,false`);
      }
      assert.equal(await speaker.call('route', { args: { region: 'x', dry: true } }), 'x,,true');
      const heard: number[] = [];
      const onprogress = ({ progress }: { progress: number }): void => void heard.push(progress);
      assert.equal(await speaker.call('steps', { onprogress }), 'done');
      assert.deepEqual(heard, [1, 2, 3]);
      running = Promise.withResolvers();
      const leaving = new AbortController();
      const refused = assert.rejects(speaker.call('wait', { signal: leaving.signal }));
      const signal = await running.promise;
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      leaving.abort();
      await Promise.all([refused, aborted]);
      assert.equal(await speaker.call('wipe'), 'wiped');
      answer = { action: 'accept', content: { confirm: false } };
      assert.equal(await speaker.call('wipe'), 'kept');
      answer = { action: 'decline' };
      assert.equal(await speaker.call('wipe'), 'kept');
    });
  }
});
