import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';

/** What holds for every page that a browser shows. */

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/**
 * No violation of the accessibility rules in light and in dark, folded parts included. The page needs
 * a context of `AXE_CONTEXT`.
 */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  await openDetails(page);
  await page.addScriptTag({ path: axePath });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate<AxeResults>(
      `axe.run({ resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })`,
    );
    const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
    assert.deepEqual(found, [], `${what}, ${colorScheme}`);
  }
}

/** The pages' own policy keeps axe out as it keeps out all else; a colour that fades in is none yet. */
export const AXE_CONTEXT: BrowserContextOptions = { bypassCSP: true, reducedMotion: 'reduce' };

/** Nothing is wider than the screen, which is `width` pixels wide. */
export async function assertFits(page: Page, width: number, what: string): Promise<void> {
  await openDetails(page);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, what);
}

/** What is folded away has to be as good as the rest. */
async function openDetails(page: Page): Promise<void> {
  // Those of one name would close each other.
  await page.locator('details').evaluateAll((all) => {
    for (const one of all) one.removeAttribute('name');
    for (const one of all) one.setAttribute('open', '');
  });
}
