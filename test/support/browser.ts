import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { unpackChromium } from './chromium.ts';

/** How a page is looked at. */
export interface PageOptions {
  /** False: the page's scripts do not run. */
  javaScript?: boolean;
  colorScheme?: 'light' | 'dark';
  /** CSS pixels; 1280 x 800 unless told. */
  width?: number;
  height?: number;
  /** BCP 47, also sent as Accept-Language; `en-US` unless told. */
  locale?: string;
}

/** A headless Chromium; leaving its scope closes it with all its pages. */
export interface OpenBrowser extends AsyncDisposable {
  browser: Browser;
  /** A page in a profile of its own, without cookies or storage; what it waits for takes 10 s at most. */
  newPage(options?: PageOptions): Promise<Page>;
}

/** No network but the pages under test, and no sandbox, which root cannot have. */
const FLAGS = [
  '--no-sandbox',
  '--disable-setuid-sandbox',
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--no-first-run',
  '--font-render-hinting=none',
];

/**
 * Starts a browser, in half a second once it is unpacked.
 * @param hosts names of https servers on this machine, with their ports; their certificates are believed.
 */
export async function openBrowser(hosts: Record<string, number> = {}): Promise<OpenBrowser> {
  const { executable, environment } = await unpackChromium();
  const rules = Object.entries(hosts).map(([name, port]) => `MAP ${name}:443 127.0.0.1:${port}`);
  const resolver = [...rules, 'MAP * ~NOTFOUND', 'EXCLUDE localhost', 'EXCLUDE 127.0.0.1'].join();
  const browser = await chromium.launch({
    executablePath: executable,
    args: [...FLAGS, `--host-resolver-rules=${resolver}`],
    env: { ...process.env, ...environment },
  });
  return {
    browser,
    async newPage(options = {}) {
      const ignoreHTTPSErrors = Object.keys(hosts).length > 0;
      const context = await browser.newContext({ ...contextOptions(options), ignoreHTTPSErrors });
      context.setDefaultTimeout(10_000);
      return context.newPage();
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

function contextOptions(options: PageOptions): BrowserContextOptions {
  return {
    javaScriptEnabled: options.javaScript ?? true,
    colorScheme: options.colorScheme ?? 'light',
    viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
    locale: options.locale ?? 'en-US',
  };
}
