import assert from 'node:assert/strict';
import type { Answer, Send } from '../support/oauth-client.ts';
import type { ClientPlay } from './play.ts';

/**
 * The MCP side of one installation: it opens a session with `initialize`, keeps its id over refreshes
 * and logins, and opens another one when it hears 404.
 */
export class McpSide {
  readonly #send: Send;
  readonly #play: ClientPlay;
  #session: string | undefined;
  #nextId = 1;

  constructor(send: Send, play: ClientPlay) {
    this.#send = send;
    this.#play = play;
  }

  /** Calls a tool with the token that the client has, if any; the first answer that is no success. */
  async callTool(accessToken: string | undefined): Promise<Answer> {
    if (this.#session === undefined) {
      const refused = await this.#initialize(accessToken);
      if (refused !== undefined) return refused;
    }
    const params = { name: 'notes-list', arguments: {} };
    const answer = await this.#request(accessToken, 'tools/call', params);
    if (answer.status !== 404) return answer;
    this.#session = undefined;
    return this.callTool(accessToken);
  }

  async #initialize(accessToken: string | undefined): Promise<Answer | undefined> {
    const { revision, client } = this.#play;
    const opened = await this.#request(accessToken, 'initialize', {
      protocolVersion: revision,
      capabilities: {},
      clientInfo: { name: client, version: '1' },
    });
    if (opened.status !== 200) return opened;
    assert.ok(opened.text.includes(`"protocolVersion":"${revision}"`), opened.text);
    this.#session = opened.headers.get('mcp-session-id') ?? undefined;
    assert.ok(this.#session, 'a session id');
    const noted = await this.#post(accessToken, { method: 'notifications/initialized' });
    assert.equal(noted.status, 202, noted.text);
    return undefined;
  }

  #request(
    accessToken: string | undefined,
    method: string,
    params: Record<string, unknown>,
  ): Promise<Answer> {
    const id = this.#nextId;
    this.#nextId += 1;
    return this.#post(accessToken, { id, method, params });
  }

  #post(accessToken: string | undefined, message: Record<string, unknown>): Promise<Answer> {
    const {
      accepts = 'application/json, text/event-stream',
      revision,
      typed = '/mcp',
    } = this.#play;
    // The header came with 2025-06-18, and is sent once a version was agreed on.
    const isSaid = this.#session !== undefined && revision >= '2025-06-18';
    return this.#send(typed, {
      method: 'POST',
      headers: {
        ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
        'content-type': 'application/json',
        accept: accepts,
        ...(isSaid ? { 'mcp-protocol-version': revision } : {}),
        ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  }
}
