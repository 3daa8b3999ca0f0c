import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import type { AppSteps } from './home-steps.ts';
import { quoteVisibly, type ClientDisplay } from './client-display.ts';
import { textsFor, type Language } from './language.ts';
import type { Moment } from './moment.ts';
import { sentenceHtml } from './sentence.ts';
import type { ProblemText } from '#src/http/texts/en.ts';

/*
 * Pages. Each view has exactly the data that is declared here; texts come from the language's file,
 * and all values are escaped by the views. Views are read and compiled once, when the server starts.
 */

export interface Site {
  /** The name that people read. */
  name: string;
  /** Host and port, as the address bar shows them. */
  host: string;
  mcpUrl: string;
}

/** A privilege as the consent page shows it. */
export interface OfferedPrivilege {
  id: string;
  on: boolean;
  title: string;
  text: string;
  /** One of its tools can change something. */
  changes: boolean;
  tools: OfferedTool[];
}

export interface OfferedTool {
  name: string;
  /** A few words. */
  does: string;
}

export interface PageData {
  login: {
    client: ClientDisplay;
    username: string;
    error?: 'credentials' | 'busy' | undefined;
    /** When it may be tried again, with `busy`. */
    retry?: Moment | undefined;
    csrf: string;
    self: string;
    action: string;
    cancelAction: string;
  };
  consent: {
    client: ClientDisplay;
    user: { name: string };
    grants: OfferedPrivilege[];
    /** What needs no privilege: it goes to everybody who is allowed in. */
    openTools: OfferedTool[];
    until: Moment;
    error?: 'none' | undefined;
    csrf: string;
    action: string;
    switchAction: string;
  };
  /** Where the answer goes to an app on this device. */
  done: {
    client: Pick<ClientDisplay, 'name' | 'initial'>;
    /** What the person allowed; undefined when they cancelled. */
    allowed: { privileges: string[]; until: Moment; user: { name: string } } | undefined;
    /** The app's address with the answer: opened at once, and again by a link. */
    opens: string;
  };
  error: {
    problem: ProblemText;
    /** The address that the app asked for, as it was sent. */
    refused?: string | undefined;
    details: [label: string, value: string][];
  };
  notfound: Record<string, never>;
  home: { apps: AppSteps[]; toolCount: number; enabled: boolean };
}

export type ViewName = keyof PageData;

export interface Renderer {
  /** The page as HTML. */
  render<Name extends ViewName>(
    view: Name,
    page: { title: string; language: Language; data: PageData[Name] },
  ): string;
  stylesheet: { path: string; url: string; body: string };
  site: Site;
}

const WIDTHS: Record<ViewName, string> = {
  login: 'narrow',
  consent: 'mid',
  done: 'narrow',
  error: 'narrow',
  notfound: 'narrow',
  home: 'wide',
};
const NAVIGATION: Partial<Record<ViewName, string>> = { home: 'home', notfound: 'none' };
const STYLESHEET_PATH = '/assets/castellan.css';

/** Compiles the views of a folder. @throws Error when one cannot be read or compiled. */
export function createRenderer(viewsFolder: string, site: Site): Renderer {
  const eta = new Eta({ views: viewsFolder, cache: true, autoEscape: true, autoTrim: false });
  const body = readFileSync(join(viewsFolder, 'castellan.css'), 'utf8');
  const url = `${STYLESHEET_PATH}?v=${hash('sha256', body, 'hex').slice(0, 12)}`;
  for (const view of readdirSync(viewsFolder).filter((file) => file.endsWith('.eta'))) {
    const path = eta.resolvePath(`./${view}`);
    eta.templatesSync.define(path, eta.compile(eta.readFile(path)));
  }
  return {
    site,
    stylesheet: { path: STYLESHEET_PATH, url, body },
    render: (view, { title, language, data }) =>
      eta.render(`./${view}`, {
        ...data,
        title,
        lang: language,
        dir: 'ltr',
        t: textsFor(language),
        html: sentenceHtml,
        quote: quoteVisibly,
        site,
        stylesheet: url,
        width: WIDTHS[view],
        nav: NAVIGATION[view],
      }),
  };
}
