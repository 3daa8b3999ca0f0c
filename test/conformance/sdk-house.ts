import {
  acceptedContent,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  isInitializeRequest,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
  type McpHttpHandler,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { tool, toolError, type Tool } from '#src/index.ts';

/*
 * The same few tools twice: for our endpoint, and for the official SDK's own handlers, wired as its
 * documentation says. Nobody has to log in there.
 */

const NONE = z.object({});
const TEXT = z.object({ text: z.string() });
const SUM = z.object({ a: z.number(), b: z.number() });
const TOTAL = z.object({ total: z.number() });
const ANSWER = z.object({ confirm: z.boolean() });

export const TOOLS: readonly Tool[] = [
  tool({ name: 'echo', description: 'Says it.', input: TEXT, run: ({ text }) => text }),
  tool({
    name: 'add',
    description: 'Adds.',
    input: SUM,
    output: TOTAL,
    run: ({ a, b }) => ({ total: a + b }),
  }),
  tool({
    name: 'steps',
    description: 'Three steps.',
    input: NONE,
    async run(_args, { progress }) {
      for (const step of [1, 2, 3]) await progress(step, 3);
      return 'done';
    },
  }),
  tool({
    name: 'refuse',
    description: 'Never does it.',
    input: NONE,
    run() {
      throw toolError('Not today');
    },
  }),
  tool({
    name: 'wipe',
    description: 'Asks first.',
    input: NONE,
    run: async (_args, { ask }) =>
      (await ask(ANSWER.shape, { message: 'Wipe?', key: 'answer' }))?.confirm === true
        ? 'wiped'
        : 'kept',
  }),
];

const said = (text: string) => ({ content: [{ type: 'text' as const, text }] });

function sdkServer(): McpServer {
  const codec = createRequestStateCodec({ key: 'differential test'.repeat(2) });
  const options = {
    requestState: {
      verify: (state: string, context: ServerContext) => codec.verify(state, context),
    },
  };
  const server = new McpServer({ name: 'Test House', version: '1.2.3' }, options);
  server.registerTool('echo', { description: 'Says it.', inputSchema: TEXT }, ({ text }) =>
    said(text),
  );
  const sum = { description: 'Adds.', inputSchema: SUM, outputSchema: TOTAL };
  server.registerTool('add', sum, ({ a, b }) => {
    const total = { total: a + b };
    return { ...said(JSON.stringify(total)), structuredContent: total };
  });
  const steps = { description: 'Three steps.', inputSchema: NONE };
  server.registerTool('steps', steps, async (_args, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
      const params = { progressToken, progress, total: 3 };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return said('done');
  });
  server.registerTool('refuse', { description: 'Never does it.', inputSchema: NONE }, () => {
    throw new Error('Not today');
  });
  const wipe = { description: 'Asks first.', inputSchema: NONE };
  server.registerTool('wipe', wipe, async (_args, { mcpReq: { inputResponses } }) => {
    if (inputResponses?.['answer'] !== undefined)
      return said(acceptedContent(inputResponses, 'answer', ANSWER)?.confirm ? 'wiped' : 'kept');
    const form = { message: 'Wipe?', requestedSchema: ANSWER };
    const answer = inputRequired.elicit(form);
    const requestState = await codec.mint('asked');
    return inputRequired({ inputRequests: { answer }, requestState });
  });
  return server;
}

/** The SDK's handlers: one for the modern era, and a transport for each session. */
export class SdkHouse {
  readonly #modern: McpHttpHandler = createMcpHandler(sdkServer, { legacy: 'reject' });
  readonly #sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

  /** @param isJson whether answers within sessions are JSON and not event streams. */
  async fetch(request: Request, isJson: boolean): Promise<Response> {
    if (!(await isLegacyRequest(request.clone()))) return this.#modern.fetch(request);
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : this.#sessions.get(id);
    if (known !== undefined) return known.handleRequest(request);
    const message: unknown = await request
      .clone()
      .json()
      .catch(() => undefined);
    if (id === null && isInitializeRequest(message))
      return (await this.#connect(isJson)).handleRequest(request);
    // It is told by a transport that has another session.
    return (await this.#standing()).handleRequest(request);
  }

  async close(): Promise<void> {
    await this.#modern.close();
    await Promise.all([...this.#sessions.values()].map((one) => one.close()));
  }

  async #connect(enableJsonResponse: boolean): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      enableJsonResponse,
      onsessioninitialized: (id) => void this.#sessions.set(id, transport),
      onsessionclosed: (id) => void this.#sessions.delete(id),
    });
    await sdkServer().connect(transport);
    return transport;
  }

  async #standing(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = await this.#connect(true);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: NOBODY };
    await transport.handleRequest(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: '*/*, application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
      }),
    );
    return transport;
  }
}

const NOBODY = { name: 'nobody', version: '1' };
