import type { Browser, CDPSession, Page } from 'playwright-core';
import type { DashboardProcess } from '../browser/dashboard-process.ts';
import { VIEWPORTS } from '../browser/stage.ts';

/** How smoothly a page was drawn while it was scrolled. */
export interface Frames {
  readonly perSecond: number;
  /** Milliseconds between two frames. */
  readonly p99: number;
  readonly longest: number;
}

/** How rows are scrolled: by the wheel or by keys, which freeze their order, or by a script while they move. */
export const SCROLLING = ['wheel', 'keys', 'script'] as const;

const SCROLL_MS = 5_000;
const STEP_MS = 50;

/** A window of a dashboard that shows the connections, the fastest ones first. */
export class DashboardTab implements AsyncDisposable {
  readonly page: Page;
  readonly #session: CDPSession;
  #bytes = 0;

  private constructor(page: Page, session: CDPSession) {
    this.page = page;
    this.#session = session;
    session.on('Network.dataReceived', ({ dataLength }) => (this.#bytes += dataLength));
  }

  static async open(browser: Browser, dashboard: DashboardProcess): Promise<DashboardTab> {
    const context = await browser.newContext({ viewport: VIEWPORTS.desk });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    const tab = new DashboardTab(page, session);
    await session.send('Network.enable');
    await session.send('Performance.enable');
    await page.goto(await dashboard.newLink());
    await page.locator('html[data-ready="true"]').waitFor({ state: 'attached' });
    await page.evaluate('location.hash = "#/connections?sort=rate&order=descending"');
    await page.locator('.grid-body .grid-row').nth(10).waitFor();
    return tab;
  }

  /** Bytes of all responses so far: once the page is there, those of its stream. */
  get receivedBytes(): number {
    return this.#bytes;
  }

  /** Bytes of the JavaScript heap after a collection. */
  async heapBytes(): Promise<number> {
    await this.#session.send('HeapProfiler.collectGarbage');
    const { metrics } = await this.#session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? NaN;
  }

  /** Scrolls the rows for five seconds. */
  async scroll(by: (typeof SCROLLING)[number]): Promise<Frames> {
    const { page } = this;
    const grid = page.locator('.grid');
    await page.mouse.move(1, 1);
    await grid.evaluate('(node) => { node.scrollTop = 0; node.blur(); }');
    await page.evaluate(COUNT_FRAMES);
    const end = performance.now() + SCROLL_MS;
    if (by === 'wheel') {
      const box = await grid.boundingBox();
      if (box) await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    } else if (by === 'keys') await grid.focus();
    else await page.evaluate(SCROLL_ROWS);
    while (performance.now() < end) {
      if (by === 'wheel') await page.mouse.wheel(0, 120);
      else if (by === 'keys') await page.keyboard.press('ArrowDown');
      await page.waitForTimeout(STEP_MS);
    }
    const times = await page.evaluate<readonly number[]>('stopFrames()');
    await page.mouse.move(1, 1);
    await grid.evaluate('(node) => node.blur()');
    return framesOf(times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}

/** Sets `stopFrames`, which returns the times of all frames since. */
const COUNT_FRAMES = `(() => {
  const times = [];
  let running = true;
  const frame = (time) => { times.push(time); if (running) requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  globalThis.stopFrames = () => { running = false; return times; };
})()`;

/** A third of a row in each frame, until \`stopFrames\`. */
const SCROLL_ROWS = `(() => {
  const grid = document.querySelector('.grid');
  const stop = globalThis.stopFrames;
  let running = true;
  const frame = () => { grid.scrollTop += 12; if (running) requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  globalThis.stopFrames = () => { running = false; return stop(); };
})()`;

function framesOf(times: readonly number[]): Frames {
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time));
  const sorted = gaps.toSorted((a, b) => a - b);
  const elapsed = (times.at(-1) ?? 0) - (times[0] ?? 0);
  return {
    perSecond: (gaps.length * 1_000) / elapsed,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? NaN,
    longest: sorted.at(-1) ?? NaN,
  };
}
