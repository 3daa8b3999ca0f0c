import type { Context } from 'koa';
import type { Language } from './language.ts';
import type { PageData, Renderer, ViewName } from './render.ts';
import { pageHeaders, type FormTarget } from './security-headers.ts';

export interface SentPage<Name extends ViewName> {
  view: Name;
  title: string;
  language: Language;
  /** Where its forms may lead. */
  forms: FormTarget;
  data: PageData[Name];
}

/** Answers with a page. The status is the caller's. */
export function sendPage<Name extends ViewName>(
  ctx: Context,
  renderer: Renderer,
  { view, forms, ...page }: SentPage<Name>,
): void {
  ctx.set(pageHeaders(forms));
  ctx.vary('Accept-Language');
  ctx.set('content-language', page.language);
  ctx.type = 'html';
  ctx.body = renderer.render(view, page);
}
