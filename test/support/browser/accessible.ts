import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** WCAG 2.2 up to AA. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Fails unless axe-core finds nothing on the page as it is, in the light and in the dark theme. */
export async function checkAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const { violations } = await analyse(page);
    const found = violations.map(({ id, help, nodes }) => ({
      id,
      help,
      nodes: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html}\n${failureSummary}`),
    }));
    assert.deepEqual(found, [], `in the ${colorScheme} theme`);
  }
}

/** The policy of the page forbids scripts in markup; those of the debugger are not subject to it. */
async function analyse(page: Page): Promise<AxeResults> {
  const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  const source = await readFile(axe, 'utf8');
  await page.evaluate(`${source};0`);
  const options = JSON.stringify({ runOnly: TAGS, resultTypes: ['violations'] });
  return page.evaluate<AxeResults>(`axe.run(document, ${options})`);
}

/** Fails if the page can be scrolled sideways. */
export async function checkNoSidewaysScroll(page: Page, what: string): Promise<void> {
  const beyond = await page.evaluate<number>(
    'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth',
  );
  assert.ok(beyond <= 0, `${what}: ${beyond} pixels beyond the edge`);
}
