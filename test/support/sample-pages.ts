import { fileURLToPath } from 'node:url';
import { DAY, MINUTE } from '#src/clock.ts';
import {
  describeClient,
  type ClientDisplay,
  type DisplayedClient,
} from '#src/http/client-display.ts';
import { homeSteps } from '#src/http/home-steps.ts';
import { textsFor, type Language } from '#src/http/language.ts';
import { describeMoment } from '#src/http/moment.ts';
import {
  createRenderer,
  type OfferedPrivilege,
  type PageData,
  type Renderer,
  type Site,
  type ViewName,
} from '#src/http/render.ts';
import type { FormTarget } from '#src/http/security-headers.ts';
import type { Texts } from '#src/http/texts/en.ts';

/*
 * Every page with the data that the server would give it, made by the functions that the server uses.
 * Whatever comes from outside is a parameter, so that the same pages exist with hostile words in them.
 */

/** One page as it is rendered and sent. */
export interface SamplePage<Name extends ViewName = ViewName> {
  view: Name;
  title: string;
  language: Language;
  forms: FormTarget;
  data: PageData[Name];
}

export const viewsFolder = fileURLToPath(new URL('../../views', import.meta.url));
export const now = Date.parse('2026-11-30T14:32:00Z');
export const site: Site = {
  name: 'Sales',
  host: 'sales.example.com',
  mcpUrl: 'https://sales.example.com/mcp',
};

/** Words that somebody else chose, one for each way in which they reach a page. */
export interface OutsideWords {
  /** In place of every app's own name. */
  appName: string;
  userName: string;
  /** Titles, descriptions and tools of a privilege. */
  privilege: string;
  /** Hosts and addresses, and what an error page quotes. */
  quoted: string;
}

const verified: DisplayedClient = {
  claimedName: 'Claude',
  documentHost: 'claude.ai',
  registeredAt: undefined,
  redirectUri: 'https://claude.ai/api/mcp/auth_callback',
};
const registered = { documentHost: undefined, registeredAt: now - 2 * MINUTE };

const apps = {
  verified,
  'verified, on this computer': {
    ...verified,
    claimedName: 'Claude Code',
    redirectUri: 'http://localhost:51212/callback',
  },
  'verified, elsewhere': { ...verified, redirectUri: 'https://claude.com/callback' },
  localhost: {
    ...registered,
    claimedName: 'MCP Inspector',
    registeredAt: now,
    redirectUri: 'http://localhost:6274/oauth/callback',
  },
  scheme: {
    ...registered,
    claimedName: 'Cursor',
    redirectUri: 'cursor://anysphere.cursor-mcp/oauth/callback',
  },
  'registered long ago': {
    ...registered,
    claimedName: 'Reporting tool',
    registeredAt: now - 88 * DAY,
    redirectUri: 'https://reports.example.net/callback',
  },
  'added by an administrator': {
    ...registered,
    claimedName: undefined,
    registeredAt: undefined,
    redirectUri: 'https://intranet.example.net/callback',
  },
} satisfies Record<string, DisplayedClient>;

const privileges: OfferedPrivilege[] = [
  {
    id: 'read',
    on: true,
    title: 'Read customers and orders',
    text: 'Looks things up. Changes nothing.',
    changes: false,
    tools: [
      { name: 'list_customers', does: 'All customers, a page at a time.' },
      { name: 'get_customer', does: 'One customer with addresses.' },
      { name: 'list_orders', does: 'The orders of a customer.' },
    ],
  },
  {
    id: 'write',
    on: true,
    title: 'Change orders',
    text: 'Creates orders and edits open ones. Cannot delete.',
    changes: true,
    tools: [
      { name: 'create_order', does: 'Creates an order.' },
      { name: 'update_order', does: 'Changes an open order.' },
    ],
  },
  {
    id: 'knowledge',
    on: true,
    title: 'Search knowledge: Support',
    text: 'Finds and quotes articles. Changes nothing.',
    changes: false,
    tools: [{ name: 'search_support', does: 'Finds articles about a question.' }],
  },
];
/** A privilege that nobody described and no tool needs. */
const bare: OfferedPrivilege = {
  id: 'bare',
  on: true,
  title: 'Later use',
  text: '',
  changes: false,
  tools: [],
};

/** What all samples of one kind are made with. */
interface Wanted {
  language: Language;
  t: Texts;
  words: OutsideWords | undefined;
}

/** All pages by name, in English unless told; with `words`, every word from outside is replaced by theirs. */
export function samplePages(
  options: { language?: Language; words?: OutsideWords } = {},
): Map<string, SamplePage> {
  const { language = 'en', words } = options;
  const t = textsFor(language);
  const wanted = { language, t, words };
  const title = t.notfound.pageTitle;
  return new Map<string, SamplePage>([
    ...loginPages(wanted),
    ...consentPages(wanted),
    ...donePages(wanted),
    ...errorPages(wanted),
    ['not found', { view: 'notfound', title, language, forms: 'none', data: {} }],
    ['home', homePage(site, true, language)],
    ['home, paused', homePage(site, false, language)],
    [
      'home, this machine',
      homePage({ ...site, mcpUrl: 'http://127.0.0.1:8420/mcp' }, true, language),
    ],
  ]);
}

/** The page at `/` of a server with this name and address. */
export function homePage(
  server: Site,
  enabled: boolean,
  language: Language = 'en',
): SamplePage<'home'> {
  const t = textsFor(language);
  const data = { apps: homeSteps(server, t), toolCount: 12, enabled };
  return { view: 'home', title: t.home.pageTitle, language, forms: 'none', data };
}

function loginPages(wanted: Wanted): [string, SamplePage][] {
  const { language, t, words } = wanted;
  const page = (
    app: DisplayedClient,
    more: Pick<PageData['login'], 'error' | 'retry'> = {},
  ): SamplePage<'login'> => ({
    view: 'login',
    title: more.error === undefined ? t.login.pageTitle : t.login.pageTitleError,
    language,
    forms: 'redirect',
    data: {
      ...more,
      client: appearance(app, wanted),
      username: more.error === 'credentials' ? (words?.userName ?? 'demo.user') : '',
      csrf: 'token-of-the-login-form',
      self: '/mcp/oauth/interaction/u1',
      action: '/mcp/oauth/interaction/u1/login',
      cancelAction: '/mcp/oauth/interaction/u1/cancel',
    },
  });
  const retry = describeMoment(now + 4 * MINUTE, now, t);
  return [
    ['login', page(apps.verified)],
    ['login, unverified', page(apps.scheme)],
    ['login, wrong password', page(apps.verified, { error: 'credentials' })],
    ['login, busy', page(apps.verified, { error: 'busy', retry })],
  ];
}

function consentPages(wanted: Wanted): [string, SamplePage][] {
  const { language, t, words } = wanted;
  const page = (
    app: DisplayedClient,
    more: Partial<PageData['consent']> = {},
  ): SamplePage<'consent'> => {
    const client = appearance(app, wanted);
    const title = more.error === undefined ? t.consent.pageTitle : t.consent.pageTitleError;
    return {
      view: 'consent',
      title: title(client.name),
      language,
      forms: 'redirect',
      data: {
        client,
        user: { name: words?.userName ?? 'demo.user' },
        grants: privileges.map((one) => reword(one, words)),
        openTools: [],
        until: describeMoment(now + 90 * DAY, now, t),
        csrf: 'token-of-the-consent-form',
        action: '/mcp/oauth/interaction/u1/consent',
        switchAction: '/mcp/oauth/interaction/u1/switch',
        ...more,
      },
    };
  };
  const unticked = privileges.map((one) => ({ ...reword(one, words), on: false }));
  const many = Array.from({ length: 40 }, (_, index) => ({
    ...reword(privileges[index % (privileges.length + 1)] ?? bare, words),
    id: `privilege${index}`,
  }));
  return [
    ...Object.entries(apps).map(([name, app]): [string, SamplePage] => [
      `consent, ${name}`,
      page(app),
    ]),
    ['consent, nothing ticked', page(apps.verified, { error: 'none', grants: unticked })],
    ['consent, many privileges', page(apps.verified, { grants: many })],
    ['consent, no privileges', page(apps.verified, { grants: [] })],
    [
      'consent, open tools',
      page(apps.verified, { openTools: reword(privileges[0] ?? bare, words).tools }),
    ],
  ];
}

function donePages(wanted: Wanted): [string, SamplePage][] {
  const { language, t, words } = wanted;
  const client = appearance(apps.scheme, wanted);
  const page = (allowed: PageData['done']['allowed'], answer: string): SamplePage<'done'> => ({
    view: 'done',
    title: t.done.pageTitle(client.name),
    language,
    forms: 'none',
    data: { client, allowed, opens: `${apps.scheme.redirectUri}?${answer}&state=x9` },
  });
  const allowed = {
    privileges: privileges.map((one) => reword(one, words).title),
    until: describeMoment(now + 90 * DAY, now, t),
    user: { name: words?.userName ?? 'demo.user' },
  };
  return [
    ['done', page(allowed, 'code=s7h2')],
    ['done, no privileges', page({ ...allowed, privileges: [] }, 'code=s7h2')],
    ['done, cancelled', page(undefined, 'error=access_denied')],
  ];
}

function errorPages({ language, t, words }: Wanted): [string, SamplePage][] {
  const quoted = words?.quoted ?? 'https://claude-ai.example.net/callback';
  const { labels } = t.error;
  const kinds = Object.entries(t.problems).map(([kind, problem]) => ({
    kind,
    text: problem({ site: site.name, mcpUrl: site.mcpUrl, host: 'claude.ai' }),
  }));
  const nowhere = t.problems['document-unavailable']({ ...site, site: site.name, host: '' });
  return [...kinds, { kind: 'no host', text: nowhere }].map(({ kind, text }) => {
    const details: [string, string][] = [
      [labels.error, `invalid_request: ${quoted}`],
      [labels.client, quoted],
      [labels.time, new Date(now).toISOString()],
      [labels.reference, '4f1c0d9e2b7a6358'],
    ];
    const refused = kind === 'redirect' ? quoted : undefined;
    const data = { problem: text, refused, details };
    return [`error, ${kind}`, { view: 'error', title: text.title, language, forms: 'none', data }];
  });
}

function appearance(app: DisplayedClient, { t, words }: Wanted): ClientDisplay {
  if (words === undefined) return describeClient(app, t, now);
  const shown = describeClient({ ...app, claimedName: words.appName }, t, now);
  const verified = shown.verified === undefined ? undefined : words.quoted;
  // Worse than any address that can be registered.
  return { ...shown, verified, returnTo: words.quoted };
}

function reword(one: OfferedPrivilege, words?: OutsideWords): OfferedPrivilege {
  if (words === undefined) return one;
  const tools = one.tools.map(() => ({ name: words.privilege, does: words.privilege }));
  return { ...one, title: words.privilege, text: one.text === '' ? '' : words.privilege, tools };
}

/** The views of this checkout. */
export function sampleRenderer(): Renderer {
  return createRenderer(viewsFolder, site);
}

/** The page as HTML. */
export function renderSample<Name extends ViewName>(
  renderer: Renderer,
  { view, title, language, data }: SamplePage<Name>,
): string {
  return renderer.render(view, { title, language, data });
}
