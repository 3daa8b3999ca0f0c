/** Headers of every page. No script, no frames, nothing from elsewhere, nothing kept. */

export type FormTarget = 'none' | 'self' | 'redirect';

/**
 * @param forms where forms may lead: nowhere, here, or through here to wherever the app wants the
 * person back. Chromium applies `form-action` to the whole redirect chain, so the last has none; nor
 * has it an opener policy, which would cut a web app off from the pop-up that it opened here.
 */
export function pageHeaders(forms: FormTarget): Record<string, string> {
  const leadsAway = forms === 'redirect';
  const formAction = leadsAway ? '' : `; form-action '${forms}'`;
  return {
    'content-security-policy': `default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'${formAction}`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    ...(leadsAway ? {} : { 'cross-origin-opener-policy': 'same-origin' }),
    'cache-control': 'no-store',
    'permissions-policy': 'publickey-credentials-get=(), camera=(), microphone=(), geolocation=()',
  };
}

/** CORS for documents and endpoints that hold no cookie: any origin, no credentials. */
export const PUBLIC_CORS: Record<string, string> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, Retry-After',
};

/** What a preflight to such an endpoint is answered. */
export const PUBLIC_PREFLIGHT: Record<string, string> = {
  ...PUBLIC_CORS,
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'Authorization, Content-Type, Accept, MCP-Protocol-Version',
  'access-control-max-age': '3600',
};
