import type { Probe } from './probes.ts';

/*
 * What a server answers to a probe, as one line: status, form, and each message. Left out is what may
 * differ from server to server: texts, states, who the server is, how long an answer may be kept.
 */

/** Sends a request. `isJson`: answers within the session are JSON, where that can be chosen. */
export type Ask = (init: RequestInit, isJson: boolean) => Promise<Response>;

interface Message {
  id?: unknown;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code?: unknown };
}

const FREE = new Set([
  'serverInfo',
  'ttlMs',
  '_meta',
  'text',
  'requestState',
  'message',
  '$schema',
]);

export async function outcomeOf(probe: Probe, ask: Ask): Promise<string> {
  const session = probe.session === undefined ? undefined : await open(probe, ask);
  const response = await ask(
    {
      method: probe.verb,
      headers: { ...session, ...probe.headers },
      ...(probe.body === undefined ? {} : { body: probe.body }),
    },
    !probe.streams,
  );
  const type = formOf(response);
  const line = [String(response.status), type];
  if (probe.staysOpen && type === 'stream') {
    await response.body?.cancel();
    return [...line, 'open'].join(' ');
  }
  for await (const message of messagesOf(response, type)) {
    line.push(describe(message));
    if (message.id === undefined || message.method === undefined) continue;
    const answer = { jsonrpc: '2.0', id: message.id, result: { action: 'decline' } };
    const noted = await ask(post(session, answer), false);
    await noted.body?.cancel();
  }
  return line.join(' ');
}

const post = (session: Record<string, string> | undefined, message: object): RequestInit => ({
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...session,
  },
  body: JSON.stringify(message),
});

/** @returns the headers of a new session. */
async function open(probe: Probe, ask: Ask): Promise<Record<string, string>> {
  const { session: protocolVersion, capabilities, streams } = probe;
  const clientInfo = { name: 'probe', version: '1' };
  const params = { protocolVersion, capabilities, clientInfo };
  const opened = await ask(
    post(undefined, { jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    !streams,
  );
  await opened.text();
  const id = opened.headers.get('mcp-session-id') ?? '';
  const headers = { 'mcp-session-id': id };
  const noted = await ask(
    post(headers, { jsonrpc: '2.0', method: 'notifications/initialized' }),
    !streams,
  );
  await noted.text();
  return headers;
}

type Form = 'none' | 'json' | 'stream' | 'other';

function formOf(response: Response): Form {
  const type = response.headers.get('content-type');
  if (type === null) return 'none';
  if (type.startsWith('application/json')) return 'json';
  return type.startsWith('text/event-stream') ? 'stream' : 'other';
}

async function* messagesOf(response: Response, form: Form): AsyncGenerator<Message> {
  if (form === 'json') {
    yield* [(await response.json()) as Message | Message[]].flat();
    return;
  }
  if (form !== 'stream') {
    await response.text();
    return;
  }
  let heard = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    heard += decoder.decode(chunk as Uint8Array, { stream: true });
    const events = heard.split('\n\n');
    heard = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: ?(.+)$/m.exec(event)?.[1];
      if (data !== undefined) yield JSON.parse(data) as Message;
    }
  }
}

function describe({ id, method, params, result, error }: Message): string {
  const whose = id === undefined ? 'without id' : id === null ? 'with id null' : 'with id';
  if (error !== undefined) return `error ${String(error.code)} ${whose}`;
  if (method !== undefined) return `${method} ${shape(params)}`;
  return `result ${whose} ${shape(result)}`;
}

/** JSON with its fields in order, without what servers differ in. */
function shape(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shape).toSorted().join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const fields = Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .filter(([, field]) => field !== undefined)
    .map(([name, field]) => (FREE.has(name) ? name : `${name}:${shape(field)}`));
  return `{${fields.join(',')}}`;
}
