import assert from 'node:assert/strict';
import { CookieJar } from './cookie-jar.ts';
import { readForms, readRefresh, type PageForm } from './page-forms.ts';
import { TEST_PASSWORD } from './project.ts';

/*
 * A person with a browser, without a browser: follows redirects, keeps cookies as a browser does,
 * fills in the forms that a page shows and sends them with a browser's headers. What it holds after
 * a step is a page, or the address that the browser left for.
 */

/** Where a server is: what it calls itself, and where it listens. A `TestApp` is one. */
export interface Site {
  origin: string;
  url: string;
}

/** What the browser shows, or where it went. */
export interface Page {
  url: URL;
  status: number;
  headers: Headers;
  html: string;
  forms: PageForm[];
  /** The address outside of the site that the last redirect leads to, or that the page opens. */
  leftFor: URL | undefined;
}

export interface Person {
  readonly cookies: CookieJar;
  /** One request with cookies, without following its redirect. */
  request(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Opens an address and follows redirects within the site. */
  follow(url: string | URL, headers?: Record<string, string>): Promise<Page>;
  /** Sends one of a page's forms as the browser would. */
  submit(page: Page, form: PageForm, sent?: Submission): Promise<Page>;
  logIn(page: Page, who: { name: string; password?: string }): Promise<Page>;
  /** Allows what is ticked, or only the privileges that are named. */
  allow(page: Page, options?: { privileges?: readonly string[] }): Promise<Page>;
  /** Refuses, on the login page or the consent page. */
  cancel(page: Page): Promise<Page>;
  /** "Not you?" on the consent page. */
  switchUser(page: Page): Promise<Page>;
}

/** What a form is sent with beside its hidden fields. */
export interface Submission {
  fields?: [name: string, value: string][];
  /** Instead of what a browser sends. */
  headers?: Record<string, string>;
}

const MAX_REDIRECTS = 10;

/** @param site the server, or its address when it is known by no other. */
export function createPerson(site: Site | string): Person {
  const { origin, url: via } = typeof site === 'string' ? { origin: site, url: site } : site;
  const cookies = new CookieJar();

  async function request(target: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(target, origin);
    const headers = new Headers({
      accept: 'text/html',
      'accept-language': 'en',
      ...plain(init.headers),
    });
    const cookie = cookies.header(url);
    if (cookie !== '' && !headers.has('cookie')) headers.set('cookie', cookie);
    const reached = new URL(url.pathname + url.search, via);
    const response = await fetch(reached, { ...init, headers, redirect: 'manual' });
    cookies.store(url, response.headers.getSetCookie());
    return response;
  }

  async function arrive(first: Response, at: URL): Promise<Page> {
    let response = first;
    let url = at;
    for (let count = 0; count < MAX_REDIRECTS; count += 1) {
      const location = response.headers.get('location');
      if (location === null) return toPage(response, url);
      const next = new URL(location, url);
      if (next.origin !== origin) return { ...(await toPage(response, url)), leftFor: next };
      await response.arrayBuffer();
      url = next;
      response = await request(url);
    }
    throw new Error(`More than ${MAX_REDIRECTS} redirects, the last to ${url.href}`);
  }

  const person: Person = {
    cookies,
    request,
    async follow(target, headers = {}) {
      const url = new URL(target, origin);
      return arrive(await request(url, { headers }), url);
    },
    async submit(page, form, { fields = [], headers = {} } = {}) {
      const url = new URL(form.action, page.url);
      const body = new URLSearchParams([...form.hidden, ...fields]);
      // Pages have the referrer policy no-referrer, so their forms come with `Origin: null`.
      const sent = {
        origin: 'null',
        'sec-fetch-site': 'same-origin',
        'sec-fetch-mode': 'navigate',
        ...headers,
      };
      return arrive(await request(url, { method: 'POST', body, headers: sent }), url);
    },
    logIn(page, { name, password = TEST_PASSWORD }) {
      const fields: Submission['fields'] = [
        ['username', name],
        ['password', password],
      ];
      return person.submit(page, formWith(page, 'username'), { fields });
    },
    allow(page, { privileges } = {}) {
      const form = formWith(page, 'decision');
      const ticked = privileges ?? form.ticked.map(([, value]) => value);
      const boxes = ticked.map((one): [string, string] => ['grant', one]);
      return person.submit(page, form, { fields: [...boxes, ['decision', 'allow']] });
    },
    cancel(page) {
      const consent = page.forms.find((form) => form.names.has('decision'));
      if (consent === undefined) return person.submit(page, formAt(page, '/cancel'));
      return person.submit(page, consent, { fields: [...consent.ticked, ['decision', 'cancel']] });
    },
    switchUser: (page) => person.submit(page, formAt(page, '/switch')),
  };
  return person;
}

/** The values of the ticked boxes on a consent page. */
export function tickedOn(page: Page): string[] {
  return formWith(page, 'decision').ticked.map(([, value]) => value);
}

/** The form of a page that has a field of this name. */
export function formWith(page: Page, name: string): PageForm {
  const form = page.forms.find((one) => one.names.has(name));
  assert.ok(
    form,
    `${page.status} ${page.url.href} has no form with ${name}:\n${page.html.slice(0, 3_000)}`,
  );
  return form;
}

function formAt(page: Page, ending: string): PageForm {
  const form = page.forms.find((one) => one.action.endsWith(ending));
  assert.ok(
    form,
    `${page.status} ${page.url.href} has no form to ${ending}:\n${page.html.slice(0, 3_000)}`,
  );
  return form;
}

async function toPage(response: Response, url: URL): Promise<Page> {
  const html = await response.text();
  const opens = readRefresh(html);
  return {
    url,
    status: response.status,
    headers: response.headers,
    html,
    forms: readForms(html),
    leftFor: opens === undefined ? undefined : new URL(opens),
  };
}

function plain(headers: RequestInit['headers']): Record<string, string> {
  return Object.fromEntries(new Headers(headers));
}
