import type { IncomingMessage, ServerResponse } from 'node:http';
import { readForm } from '#src/http/body.ts';
import { pageHeaders } from '#src/http/security-headers.ts';
import { listening } from '../http/listening.ts';
import { renderSample, sampleRenderer, type SamplePage } from './sample-pages.ts';

/*
 * Sends sample pages with the headers that the server sends, to be looked at in a browser. Every form
 * is answered as at the end of a login: by a redirect to the app, which is another origin.
 */

/** A form as it came to the server. */
export interface Submission {
  path: string;
  fields: [name: string, value: string][];
}

export interface SampleServer extends AsyncDisposable {
  /** Every form that was sent. */
  submissions: Submission[];
  /** Where a page is; `kind` is the name of its collection. */
  addressOf(name: string, kind?: string): string;
  /** A page of the app's, with one of ours in a frame and behind a link to a window of its own. */
  appPageFor(name: string): string;
}

/** Serves collections of pages, each by its names. */
export async function serveSamples(
  collections: Record<string, Map<string, SamplePage>>,
): Promise<SampleServer> {
  const renderer = sampleRenderer();
  const submissions: Submission[] = [];
  const server = await listening((request, response) => void answer(request, response));
  const app = server.url.replace('127.0.0.1', 'localhost');
  const addressOf = (name: string, kind = 'page'): string =>
    `${server.url}/${kind}/${encodeURIComponent(name)}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', server.url);
    const [, kind = '', name = ''] = pathname.split('/').map(decodeURIComponent);
    const page = collections[kind]?.get(name);
    if (pathname === renderer.stylesheet.path) {
      response.writeHead(200, { 'content-type': 'text/css' }).end(renderer.stylesheet.body);
    } else if (request.method === 'POST') {
      submissions.push({ path: pathname, fields: [...(await readForm(request))] });
      const headers = { ...pageHeaders('redirect'), location: `${app}/app/callback` };
      response.writeHead(303, headers).end();
    } else if (page !== undefined) {
      const headers = { ...pageHeaders(page.forms), 'content-type': 'text/html; charset=utf-8' };
      response.writeHead(200, headers).end(renderSample(renderer, page));
    } else {
      const address = addressOf(kind === 'app' ? name : '');
      response.writeHead(200, { 'content-type': 'text/html' })
        .end(`<!doctype html><title>App</title><iframe src="${address}"></iframe>
          <a href="${address}" target="_blank" rel="opener">Connect</a>`);
    }
  }

  return {
    submissions,
    addressOf,
    appPageFor: (name) => `${app}/app/${encodeURIComponent(name)}`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
