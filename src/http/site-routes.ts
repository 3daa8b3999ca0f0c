import { Router } from '@koa/router';
import type { Context } from 'koa';
import { homeSteps } from './home-steps.ts';
import { selectLanguage, textsFor } from './language.ts';
import type { Renderer } from './render.ts';
import { PUBLIC_CORS } from './security-headers.ts';
import { sendPage } from './send-page.ts';

/** The pages that belong to no surface: how to connect, the stylesheet, health, and what is not there. */

export interface SiteParts {
  renderer: Renderer;
  toolCount: () => number;
  isMcpEnabled: () => boolean;
  /** Whether the state store answers. */
  isReady(): Promise<boolean>;
}

const STYLESHEET_AGE_SECONDS = 31_536_000;

export function createSiteRouter(parts: SiteParts): Router {
  const { renderer } = parts;
  const router = new Router({ sensitive: true, strict: true });
  router.get('/', (ctx) => {
    const language = selectLanguage(ctx.get('accept-language'));
    const t = textsFor(language);
    sendPage(ctx, renderer, {
      view: 'home',
      title: t.home.pageTitle,
      language,
      forms: 'none',
      data: {
        apps: homeSteps({ name: renderer.site.name, mcpUrl: renderer.site.mcpUrl }, t),
        toolCount: parts.toolCount(),
        enabled: parts.isMcpEnabled(),
      },
    });
  });
  router.get(renderer.stylesheet.path, (ctx) => {
    ctx.type = 'text/css';
    ctx.set({
      'cache-control': `public, max-age=${STYLESHEET_AGE_SECONDS}, immutable`,
      'x-content-type-options': 'nosniff',
    });
    ctx.body = renderer.stylesheet.body;
  });
  router.get('/healthz', (ctx) => {
    ctx.set('cache-control', 'no-store');
    ctx.body = { status: 'ok' };
  });
  router.get('/readyz', async (ctx) => {
    const ready = await parts.isReady();
    ctx.set('cache-control', 'no-store');
    ctx.status = ready ? 200 : 503;
    ctx.body = { status: ready ? 'ready' : 'not ready' };
  });
  return router;
}

/** Paths that clients probe get JSON, because some stumble over a page; a person gets a page. */
export function notFound(parts: SiteParts, ctx: Context): void {
  ctx.status = 404;
  const isProbe = ctx.path.includes('/.well-known/') || ctx.path.startsWith('/mcp');
  if (isProbe || ctx.method !== 'GET' || ctx.accepts('html', 'json') !== 'html') {
    ctx.set({ ...PUBLIC_CORS, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    ctx.body = { error: 'not_found', error_description: 'There is nothing at this address' };
    return;
  }
  const language = selectLanguage(ctx.get('accept-language'));
  sendPage(ctx, parts.renderer, {
    view: 'notfound',
    title: textsFor(language).notfound.pageTitle,
    language,
    forms: 'none',
    data: {},
  });
}
