import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startDemoWeir } from '../support/browser/demo/demo-weir.ts';
import { FakeStage } from '../support/browser/fake-stage.ts';
import { VIEWPORTS } from '../support/browser/stage.ts';

/*
 * Pictures of all pages and of the main dialogs, to be looked at: `WEIR_SCREENS=FOLDER`.
 * `WEIR_SCREENS_ONLY=connections,close` takes some of them. `npm run docs:screens` takes those of the README.
 */

const stage = new FakeStage();
const folder = process.env['WEIR_SCREENS'];
const only = process.env['WEIR_SCREENS_ONLY']?.split(',');

const row = (page: Page, name: RegExp) => page.getByRole('row', { name }).first().click();
const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name }).first().click();

/** What is shown: a name for the file, a place, what is there once all has arrived, and what is done before. */
const SHOWN: readonly (readonly [string, string, string, ((page: Page) => Promise<void>)?])[] = [
  ['now', '#/now', 'text=seoul'],
  ['connections', '#/connections?sort=rate&order=descending', '.grid-row >> text=ann'],
  ['groups', '#/connections?group=outbound&open=%5B"tokyo"%5D', '.grid-row.group'],
  [
    'connection',
    '#/connections?filter=user:ann',
    '.way',
    async (page) => {
      await row(page, /code\.example/);
      await button(page, /^Why/);
    },
  ],
  ['close', '#/connections?filter=out:tokyo', 'dialog', (page) => button(page, /^Close \d/)],
  ['routes', '#/routes', '.grid-row >> text=Meetings'],
  ['target', '#/routes', 'dialog .grid-body .grid-row', (page) => row(page, /^Video/)],
  ['nodes', '#/nodes', 'text=trojan'],
  ['node', '#/nodes', 'dialog', (page) => row(page, /^seoul/)],
  ['probe', '#/nodes', 'dialog', (page) => button(page, /^Probe all/)],
  ['users', '#/users', '.grid-row >> text=ann'],
  ['user', '#/users', 'dialog', (page) => row(page, /^ann/)],
  ['usage', '#/usage', 'main th >> text=ann'],
  ['rules', '#/rules', 'text=code.example'],
  ['where', '#/rules', 'dialog', (page) => button(page, /^Where/)],
  ['config', '#/config', 'text=In force'],
  ['log', '#/log', '.log-line'],
  ['line', '#/log', 'dialog', (page) => row(page, /archive/)],
  ['help', '#/now', 'dialog', (page) => page.keyboard.press('?')],
  ['palette', '#/now', 'dialog', (page) => page.keyboard.press('Control+k')],
];

const { skip } = stage;

if (folder !== undefined) test('pictures of all pages', { skip }, () => takeAll(folder));

async function takeAll(into: string): Promise<void> {
  await using demo = await startDemoWeir();
  await mkdir(into, { recursive: true });
  for (const [size, viewport] of Object.entries(VIEWPORTS)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await using scene = await stage.open({
        ...demo,
        viewport,
        colorScheme,
        timezoneId: 'UTC',
        reducedMotion: 'reduce',
      });
      using _ = demo.play(scene.monitor);
      const { page } = scene;
      for (const [name, at, there, prepare] of SHOWN) {
        if (only?.includes(name) === false) continue;
        await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
        await page.locator(`nav a[href="${at.split('?')[0]}"][aria-current=page]`).waitFor();
        await prepare?.(page);
        await page.locator(there).first().waitFor();
        // For pictures alone: what is still loading would be seen on them.
        await page.waitForTimeout(800);
        await page.screenshot({ path: join(into, `${name}-${size}-${colorScheme}.png`) });
        await page.mouse.move(0, 0);
        if (prepare) await page.keyboard.press('Escape');
      }
    }
  }
}

const README = new URL('../../docs/images/', import.meta.url).pathname;
const MAX_BYTES = 150_000;
/** An empty page has less. */
const LEAST_BYTES = 40_000;

/** Whether the pictures in the repository are replaced. */
const isKept = process.env['WEIR_README_SCREENS'] !== undefined;

test('the pictures of the README can be taken', { skip }, async () => {
  await using demo = await startDemoWeir();
  for (const colorScheme of ['light', 'dark'] as const) {
    await using scene = await stage.open({
      ...demo,
      colorScheme,
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
    });
    using _ = demo.play(scene.monitor);
    const { page } = scene;
    for (const [name, at, there] of SHOWN) {
      if (name !== 'now' && name !== 'connections') continue;
      await scene.window.resize({ width: 1300, height: name === 'now' ? 830 : 580 });
      await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
      await page.locator(there).first().waitFor();
      // Rates are known after the second list.
      if (isKept) await page.waitForTimeout(3000);
      const path = `${README}dashboard-${name}-${colorScheme}.png`;
      const picture = await page.screenshot(isKept ? { path } : {});
      assert.ok(
        picture.length > LEAST_BYTES && picture.length < MAX_BYTES,
        `${path}: ${picture.length} bytes`,
      );
    }
  }
});
