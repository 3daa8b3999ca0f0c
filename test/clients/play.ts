import type { ConfigInput } from '#src/config.ts';
import type { Changes, Send } from '../support/oauth-client.ts';
import type { Signer } from '../support/signer.ts';
import type { Found, Places } from './discovery.ts';

/** How one kind of client behaves, from its first request to its next login. See docs/clients.md. */
export interface ClientPlay {
  /** As the table calls it. */
  client: string;
  /** The newest MCP revision it speaks. */
  revision: string;
  /** Headers of all its requests. */
  sends?: Record<string, string>;
  /** The origin of its page, when it runs in a browser. */
  page?: string;
  /** What a person typed as the MCP URL, without the origin; `/mcp` unless said. */
  typed?: '/mcp' | '/mcp/';
  /** `Accept` of its MCP requests; both types unless said. */
  accepts?: string;
  /** The places where it looks for metadata, in its order. */
  looksFor: Places;
  /** How the server knows it. */
  is: Registering | Documented;
  /** Redirect URIs: of its first login, and of the next ones. */
  redirectUris: readonly [first: string, ...next: string[]];
  /**
   * Parameters that it sends otherwise than everybody: beside PKCE, everybody asks authorize with the
   * scope `mcp` and the resource of the metadata, redeems with that resource, and refreshes without.
   */
  authorizes?: (found: Found) => Changes;
  redeems?: (found: Found) => Changes;
  refreshes?: (found: Found) => Changes;
  /** What it does with the authorization URL before it opens a browser. */
  tries?: (send: Send, path: string) => Promise<void>;
  /** How the server is set up for it. */
  server?: ConfigInput;
}

/** A client that registers itself (RFC 7591). */
export interface Registering {
  kind: 'registers';
  metadata: Record<string, unknown>;
  /** How often it does so at each connection; 1 unless said. */
  times?: number;
  /** Whether it registers again at the next login, and does not remember what it got. */
  forgets?: boolean;
  /** How it sends its secret, whatever it registered; a client without one has nothing to send. */
  auth?: 'basic' | 'post';
}

/** A client whose id is the URL of its metadata document. */
export interface Documented {
  kind: 'document';
  id: string;
  metadata: Record<string, unknown>;
  /** Its host answers 403 here, and the operator has pinned the document. */
  isPinned?: boolean;
  /** Signs its requests with a key that it publishes at `keysUrl` (RFC 7523). */
  signs?: { signer: Signer; keysUrl: string };
}

/** A server that hosted clients can reach. */
export const PUBLIC_SERVER = { publicUrl: 'https://mcp.example.com' } as const;

/** Where clients look that use the official libraries or follow the specification. */
export const USUAL_PLACES: Places = {
  resource: ['challenge'],
  server: ['oauth inserted', 'openid inserted', 'openid appended'],
};
