/*
 * What real clients register with and publish, shape for shape (autumn 2026). Examples of kinds; the
 * rules are what holds.
 */

const CODE_AND_REFRESH = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

export interface KnownRegistration {
  client: string;
  metadata: Record<string, unknown> & { redirect_uris: string[] };
  /** Redirect URIs that it uses at authorize. */
  uses: string[];
}

/** Dynamic client registration requests. */
export const KNOWN_REGISTRATIONS: readonly KnownRegistration[] = [
  {
    client: 'Claude Code',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'Claude Code (notes)',
      redirect_uris: ['http://localhost:54545/callback'],
    },
    uses: ['http://localhost:54545/callback', 'http://localhost:60001/callback'],
  },
  {
    client: 'Claude Code, newer',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'Claude Code (notes)',
      redirect_uris: ['http://localhost:54545/callback'],
      application_type: 'native',
      scope: 'mcp',
    },
    uses: ['http://localhost:54545/callback'],
  },
  {
    client: 'Claude, hosted',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      application_type: 'web',
      scope: 'mcp',
    },
    uses: ['https://claude.ai/api/mcp/auth_callback'],
  },
  {
    client: 'VS Code',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE],
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      application_type: 'native',
    },
    uses: ['https://vscode.dev/redirect', 'http://127.0.0.1:33418/', 'http://127.0.0.1:51234/'],
  },
  {
    client: 'Cursor',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'Cursor',
      redirect_uris: [
        'http://localhost:8787/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'cursor://anysphere.cursor-mcp/oauth/callback',
      ],
    },
    uses: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'http://localhost:8787/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
    ],
  },
  {
    client: 'MCP Inspector',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'MCP Inspector',
      client_uri: 'https://github.com/modelcontextprotocol/inspector',
      redirect_uris: ['http://localhost:6274/oauth/callback'],
      application_type: 'native',
      scope: '',
    },
    uses: ['http://localhost:6274/oauth/callback'],
  },
  {
    client: 'Gemini CLI',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'Gemini CLI MCP Client',
      redirect_uris: ['http://localhost:7777/oauth/callback'],
      scope: '',
    },
    uses: ['http://localhost:7777/oauth/callback', 'http://localhost:41000/oauth/callback'],
  },
  {
    client: 'mcp-remote',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'MCP CLI Proxy',
      client_uri: 'https://github.com/modelcontextprotocol/mcp-cli',
      redirect_uris: ['http://localhost:3334/oauth/callback'],
      software_id: '2e6dc280-f3c3-4e01-99a7-8181dbd1d23d',
      software_version: '0.1.36',
      scope: 'openid email profile',
    },
    uses: ['http://localhost:3334/oauth/callback'],
  },
];

export interface KnownDocument {
  client: string;
  id: string;
  metadata: Record<string, unknown>;
  /** Redirect URIs that it uses at authorize. */
  uses: string[];
}

/** Client ID Metadata Documents of public clients. */
export const KNOWN_DOCUMENTS: readonly KnownDocument[] = [
  {
    client: 'Claude, hosted',
    id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    metadata: {
      client_name: 'Claude',
      client_uri: 'https://claude.ai',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      grant_types: [
        'authorization_code',
        'refresh_token',
        'urn:ietf:params:oauth:grant-type:jwt-bearer',
      ],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['https://claude.ai/api/mcp/auth_callback'],
  },
  {
    client: 'Claude Code',
    id: 'https://claude.ai/oauth/claude-code-client-metadata',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    },
    uses: ['http://localhost:54545/callback', 'http://127.0.0.1:60001/callback'],
  },
  {
    client: 'VS Code',
    id: 'https://vscode.dev/oauth/client-metadata.json',
    metadata: {
      ...CODE_AND_REFRESH,
      client_name: 'Visual Studio Code',
      grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE],
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
      application_type: 'native',
    },
    uses: ['http://127.0.0.1:33418/', 'http://127.0.0.1:50123/', 'https://vscode.dev/redirect'],
  },
];

/** The one that signs its token requests, without its keys. */
export const CHATGPT_DOCUMENT = {
  id: 'https://chatgpt.com/oauth/client.json',
  keysUrl: 'https://chatgpt.com/oauth/jwks.json',
  metadata: {
    client_name: 'ChatGPT',
    client_uri: 'https://chatgpt.com',
    redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'RS256',
    token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
    jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
  },
} as const;

/** The registration of a client in the list above. */
export function registrationOf(client: string): KnownRegistration {
  return oneOf(KNOWN_REGISTRATIONS, client);
}

/** The document of a client in the list above. */
export function documentOf(client: string): KnownDocument {
  return oneOf(KNOWN_DOCUMENTS, client);
}

function oneOf<Known extends { client: string }>(known: readonly Known[], client: string): Known {
  const found = known.find((one) => one.client === client);
  if (found === undefined) throw new Error(`${client} is not among the known clients`);
  return found;
}
