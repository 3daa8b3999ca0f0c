import { toolCallRequest, type Answer, type Send } from '../support/oauth-client.ts';
import type { ClientPlay } from './play.ts';

/**
 * What a client sends to the MCP URL when it has something to do: the call of a tool, with the token
 * that it has, if any. All speak the 2026-07-28 revision here, because it is the one that is served;
 * where `play.revision` is an older one, this is the place for `initialize` and a session.
 */
export function useServer(
  send: Send,
  play: ClientPlay,
  accessToken: string | undefined,
): Promise<Answer> {
  const request = toolCallRequest(accessToken);
  const accept = play.accepts ?? request.headers['accept'] ?? '';
  return send(play.typed ?? '/mcp', { ...request, headers: { ...request.headers, accept } });
}
