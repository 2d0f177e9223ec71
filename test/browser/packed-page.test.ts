import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { build, type Plugin } from 'esbuild';
import { LESS_CHART } from '../../packaging/chart.ts';
import { packPage } from '../../packaging/page.ts';
import { ROOT } from '../../packaging/root.ts';
import { filesOf } from '../../packaging/substitutes/package/packed-page.ts';
import { FakeStage } from '../support/browser/fake-stage.ts';

const stage = new FakeStage();
const { skip } = stage;

/** A script that makes a chart, changes and removes it; it returns what each step has drawn. */
const DRAW = `
import uPlot from 'uplot';
import { optionsFor } from './rates.ts';
globalThis.draw = (sets) => sets.map((data) => {
  const parent = document.createElement('div');
  parent.style.width = '700px';
  document.body.append(parent);
  const drawn = [];
  const step = async (change) => {
    change();
    await Promise.resolve();
    drawn.push(chart.ctx.canvas.toDataURL() + parent.innerHTML);
  };
  let chart;
  const shown = () => ({ end: 1_700_000_119_000, span: 120_000 });
  return [
    () => (chart = new uPlot(optionsFor(parent, shown), data, parent)),
    () => chart.setData(sets[0]),
    () => chart.setData(data),
    () => chart.setSize({ width: 300, height: 180 }),
    () => chart.setSize({ width: 0, height: 180 }),
    () => chart.setSize({ width: 640, height: 180 }),
    () => dispatchEvent(new Event('resize')),
    () => chart.over.dispatchEvent(new MouseEvent('mousemove', { bubbles: true })),
    () => chart.over.dispatchEvent(new MouseEvent('mousedown', { bubbles: true })),
    () => chart.destroy(),
  ].reduce((before, change) => before.then(() => step(change)), Promise.resolve()).then(() => drawn);
}).reduce((before, drawn) => before.then(async (all) => [...all, await drawn]), Promise.resolve([]));
`;

type Series = readonly (readonly (number | null)[])[];

/** Times in seconds, bytes a second down and up, as the chart takes them. */
const series = (count: number, step: number, rate: (at: number) => number | null): Series => [
  Array.from({ length: count }, (_, at) => 1_700_000_000 + at * step),
  Array.from({ length: count }, (_, at) => rate(at)),
  Array.from({ length: count }, (_, at) => (rate(at + 3) ?? 0) / 2),
];

const SETS = [
  series(120, 1, (at) => Math.abs(Math.sin(at)) * 1e6),
  series(120, 30, (at) => at * 1e9),
  series(120, 1, (at) => (at > 40 && at < 80 ? null : at)),
  series(2, 1, (at) => at),
  series(1, 1, () => 5),
  series(0, 1, () => 0),
  series(120, 30, () => 0),
  series(3000, 1, (at) => (at % 7) * 1e12),
];

async function scriptWith(plugins: Plugin[]): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    stdin: {
      contents: DRAW,
      resolveDir: `${ROOT}/packages/watch/src/dashboard/page/now`,
      loader: 'ts',
    },
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    plugins,
  });
  return outputFiles[0]?.text ?? '';
}

describe('the page in packages', () => {
  test('draws charts as uPlot does, of which it contains a part', { skip }, async () => {
    await using scene = await stage.open();
    const errors: Error[] = [];
    const drawnBy = async (script: string): Promise<string[][]> => {
      const page = await scene.window.context.newPage();
      page.on('pageerror', (error) => errors.push(error));
      await page.setContent('<style>:root { --accent: #06c; --line: #aaa; --dim: #444 }</style>');
      await page.evaluate(script);
      const drawn: string[][] = await page.evaluate(`draw(${JSON.stringify(SETS)})`);
      await page.close();
      return drawn;
    };
    const [whole, less] = await Promise.all([scriptWith([]), scriptWith([LESS_CHART])]);
    assert.ok(less.length < whole.length * 0.8);
    const expected = await drawnBy(whole);
    assert.equal(new Set(expected.flat()).size > SETS.length, true);
    assert.deepEqual(await drawnBy(less), expected);
    assert.deepEqual(errors, []);
  });

  test('shows every page', { skip }, async () => {
    const { page } = await packPage();
    await using scene = await stage.open({ files: filesOf(page) });
    const links = scene.page.locator('nav.pages a');
    assert.equal(await links.count(), 9);
    for (const link of await links.all()) {
      await link.click();
      await scene.page
        .locator('h1', { hasText: await link.innerText() })
        .waitFor({ state: 'attached' });
    }
    const paths = scene.window.requests.map((url) => new URL(url).pathname);
    assert.equal(paths.filter((path) => path.endsWith('.js')).length, 1);
    assert.equal(paths.filter((path) => path.endsWith('.css')).length, 1);
  });
});
