/** The addresses of this server, all computed from its public URL, so that they never disagree. */
export interface ServerUrls {
  origin: string;
  /** The MCP endpoint: RFC 8707's resource, and the audience of every token. */
  resource: string;
  issuer: string;
  /** What the issuer's own path takes away from the provider's routes. */
  mountPath: string;
  oauth: string;
  resourceMetadata: string;
}

export const OAUTH_PATH = '/mcp/oauth';
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/** @param issuer `mcp` for the MCP URL, `origin` for the public URL itself. */
export function serverUrls(origin: string, issuer: 'mcp' | 'origin'): ServerUrls {
  const resource = `${origin}/mcp`;
  return {
    origin,
    resource,
    issuer: issuer === 'mcp' ? resource : origin,
    mountPath: issuer === 'mcp' ? '/mcp' : '',
    oauth: `${origin}${OAUTH_PATH}`,
    resourceMetadata: `${origin}${RESOURCE_METADATA_PATH}`,
  };
}

/** Whether a `resource` parameter means this server: one trailing slash more or less is the same. */
export function isOurResource(value: string, urls: ServerUrls): boolean {
  const parsed = URL.parse(value);
  return parsed !== null && parsed.hash === '' && parsed.href.replace(/\/$/, '') === urls.resource;
}
