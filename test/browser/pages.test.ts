import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { checkNoSidewaysScroll } from '../support/browser/accessible.ts';
import { startDemoWeir, type DemoWeir } from '../support/browser/demo/demo-weir.ts';
import { FakeStage } from '../support/browser/fake-stage.ts';
import { VIEWPORTS } from '../support/browser/stage.ts';
import { shared } from '../support/shared.ts';

const stage = new FakeStage();
const { skip } = stage;

let demo: DemoWeir;
if (skip === false) {
  shared(async (use) => {
    demo = use(await startDemoWeir());
  });
}

/** Each page, and what is there once it has its data. */
const PAGES = [
  ['now', 'text=seoul'],
  ['connections', '.grid-row >> text=ann'],
  ['routes', '.grid-row >> text=Meetings'],
  ['nodes', '.grid-row >> text=trojan'],
  ['users', '.grid-row >> text=ann'],
  ['usage', 'main th >> text=ann'],
  ['rules', '.grid-row >> text=code.example'],
  ['config', '.grid-row >> text=[log]'],
  ['log', '.log-line'],
] as const;

async function show(page: Page, name: string, there: string): Promise<void> {
  await page.evaluate(`location.hash = '#/${name}'`);
  await page.locator(`nav a[href="#/${name}"][aria-current=page]`).waitFor();
  await page.locator(there).first().waitFor();
}

for (const [name, there] of PAGES) {
  test(
    `the page ${name} is accessible in both themes, from a phone to a desk`,
    { skip },
    async () => {
      await using scene = await stage.open({ ...demo, reducedMotion: 'reduce' });
      const { page } = scene;
      await show(page, name, there);
      await scene.checkAccessible();
      await scene.window.resize(VIEWPORTS.phone);
      await page.locator(there).first().waitFor();
      await scene.checkAccessible();
      // 640 pixels are 1280 at a zoom of 200 %, 320 are those at 400 %: WCAG 1.4.10.
      for (const width of [320, 640, 768, 820, 1024, 1200, 1300, 1440]) {
        await scene.window.resize({ width, height: width === 640 ? 400 : 640 });
        await page.locator(there).first().waitFor();
        await checkNoSidewaysScroll(page, `${name}, ${width}`);
        assert.ok(
          await page.evaluate(FITS),
          `${name}, ${width}: columns beyond the edge of the list`,
        );
        const cut = await page.evaluate<readonly string[]>(CUT);
        assert.deepEqual(cut, [], `${name}, ${width}: beyond the edge`);
      }
    },
  );
}

test('on a phone tabs have room for a finger, and log lines for the reason', { skip }, async () => {
  await using scene = await stage.open({ ...demo, viewport: VIEWPORTS.phone, at: '#/log' });
  const { page } = scene;
  await page.locator('.log-line .card-title').first().waitFor();
  const heights = await page.evaluate<number[]>(
    `[...document.querySelectorAll('nav.pages a')].map((each) => each.getBoundingClientRect().height)`,
  );
  assert.equal(heights.length, 9);
  for (const height of heights) assert.ok(height >= 36, String(height));
  // Three lines of text, within the card.
  const beyond = await page.evaluate<readonly string[]>(`
    [...document.querySelectorAll('.log-line .card-title')]
      .filter((each) => {
        const card = each.closest('.grid-row').getBoundingClientRect();
        const { top, bottom } = each.getBoundingClientRect();
        return top < card.top || bottom > card.bottom || getComputedStyle(each).whiteSpace !== 'normal';
      })
      .map((each) => each.textContent)`);
  assert.deepEqual(beyond, []);
});

test(
  'the way of a connection has its rule with group and place in one column',
  { skip },
  async () => {
    await using scene = await stage.open({ ...demo, at: '#/connections?filter=host:*music*' });
    const { page } = scene;
    await page.locator('main .grid-body .grid-row', { hasText: 'music' }).first().click();
    const step = page.locator('.way li', { hasText: 'route' });
    await step.getByText(/^rule \d+ of Music, \S+\.toml:\d+$/).waitFor();
    assert.equal(await step.locator('> *').count(), 2, 'a label, and all the rest beside it');
  },
);

/** Pages with rows that open: the key after g, a word to search for, and the row with it. */
const LISTS = [
  ['c', 'connections', 'registry', 'registry.example'],
  ['r', 'routes', 'meet', 'Meetings'],
  ['o', 'nodes', 'seoul', 'seoul'],
  ['u', 'users', 'carla', 'carla'],
  ['l', 'rules', 'music', 'music.example'],
  ['t', 'log', 'photos', 'photos.archive.example'],
] as const;

test('rows are found, opened and left by keyboard alone, on every page', { skip }, async () => {
  await using scene = await stage.open({ ...demo, readOnly: false });
  const { page } = scene;
  for (const [letter, name, word, text] of LISTS) {
    await scene.window.pressBoth('g', letter);
    await page.locator(`nav a[href="#/${name}"][aria-current=page]`).waitFor();
    const row = page.locator('main .grid-body .grid-row', { hasText: text }).first();
    await row.waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(word);
    await page
      .locator('main .grid-row', { hasNotText: text })
      .nth(1)
      .waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.role'), 'grid', `${name}: Enter`);
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.locator('.grid-row.active', { hasText: text }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    await scene.checkAccessible();
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement.role'), 'grid', `${name}: Escape`);
    await page.locator('.grid-row.active', { hasText: text }).waitFor();
  }
});

/** Whether no list has to be scrolled sideways. */
const FITS = `[...document.querySelectorAll('.grid')].every((each) => each.scrollWidth <= each.clientWidth)`;

/** Buttons and fields that stand partly outside of what clips them, which no scrolling brings into view. */
const CUT = `[...document.querySelectorAll('button, input, select, a')]
  .filter((each) => {
    const { left, right, width } = each.getBoundingClientRect();
    return width > 1 && (left < 0 || right > innerWidth) && !each.closest('.grid, pre, .scroll');
  })
  .map((each) => each.outerHTML)`;
