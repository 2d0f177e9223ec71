import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openBrowser } from '../support/browser/open-browser.ts';
import type { Child } from '../support/process/child.ts';
import { residentBytes } from '../support/process/proc.ts';
import { BusyWeir } from '../support/watching/busy-weir.ts';
import { PROGRAMS } from '../support/watching/programs.ts';
import { busyHeapOf } from './busy-heap.ts';
import { Inspector } from './inspector.ts';
import { slope } from './verdict.ts';

/**
 * The soak of the dashboard: a Weir under a steady load, a dashboard and a tab that stays at Connections, for as long
 * as it is told to. Each minute another tab looks at each page, scrolls the connections and is closed; then the heaps
 * of all three are measured after a collection. It fails when one of them grows. Compiled code is measured apart:
 * see `BusyHeap`.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    flows: { type: 'string', default: '5000' },
    rate: { type: 'string', default: '100' },
    /** Minutes at the end of which the growth is measured; caches fill up before. */
    measured: { type: 'string' },
    /** More arguments of Node for Weir and the dashboard, such as those that keep it from compiling. */
    'node-args': { type: 'string', default: '' },
  },
});
const minutes = Number(values.minutes);
const measured = Number(values.measured ?? (minutes * 2) / 3);
const INSPECT = {
  nodeArgs: [
    '--inspect=127.0.0.1:0',
    ...values['node-args'].split(' ').filter((each) => each !== ''),
  ],
};
const PAGES = ['now', 'connections', 'routes', 'nodes', 'users', 'rules', 'config', 'log'];
const LOOK_MS = 1_000;
/** Between the end of a visit and the measurement, at least. */
const REST_MS = 30_000;
const MINUTE_MS = 60_000;
const MB = 1e6;
/** Megabytes an hour that a heap without its code may grow by: samples of a busy heap differ by that. */
const LIMIT = 2;

type Figures = Readonly<Record<string, number>>;

await using busy = await BusyWeir.start({
  flows: Number(values.flows),
  perSecond: Number(values.rate),
  busy: 50,
  weir: INSPECT,
});
await using browser = await openBrowser();
await using dashboard = await PROGRAMS.dashboard(busy, { browser, ...INSPECT });
const { tab } = dashboard;
if (!tab) throw new Error('the dashboard has no tab');

const began = performance.now();
const points: { readonly minute: number; readonly figures: Figures }[] = [];
for (let at = 0; at < minutes;) {
  await visit();
  // The first whole minute after a rest: the dashboard holds more for a while after a visit.
  at = Math.ceil((performance.now() - began + REST_MS) / MINUTE_MS);
  await sleep(began + at * MINUTE_MS - performance.now());
  const minute = (performance.now() - began) / MINUTE_MS;
  const figures = await sample();
  if (points.length === 0) console.log(row(['minute', ...Object.keys(figures)]));
  points.push({ minute, figures });
  console.log(row([minute.toFixed(1), ...Object.values(figures).map((each) => each.toFixed(1))]));
}

const late = points.filter(({ minute }) => minute > minutes - measured);
for (const name of Object.keys(points[0]?.figures ?? {}).filter((each) => each.endsWith('MB'))) {
  const growth =
    60 *
    slope(
      late.map(({ minute }) => minute),
      late.map(({ figures }) => figures[name] ?? NaN),
    );
  const grows = name.includes('heap') && growth > LIMIT;
  console.log(`${name}: ${growth.toFixed(2)} MB an hour${grows ? ' GROWS' : ''}`);
  if (grows) process.exitCode = 1;
}

/** Another browser looks at each page. */
async function visit(): Promise<void> {
  if (!dashboard.open) return;
  await using other = await dashboard.open();
  for (const page of PAGES) {
    await other.page.evaluate(`location.hash = "#/${page}"`);
    await (page === 'connections' ? other.scroll('wheel') : sleep(LOOK_MS));
  }
}

async function sample(): Promise<Figures> {
  const { opened, failed } = await busy.counts();
  const weir = await memoryOf(busy.weir.child);
  const own = await memoryOf(dashboard.child);
  return {
    'Weir heap MB': weir.heap,
    'Weir code MB': weir.code,
    'Weir external MB': weir.external,
    'Weir resident MB': weir.resident,
    'dashboard heap MB': own.heap,
    'dashboard code MB': own.code,
    'dashboard external MB': own.external,
    'dashboard resident MB': own.resident,
    'tab heap MB': ((await tab?.heapBytes()) ?? NaN) / MB,
    opened,
    failed,
  };
}

async function memoryOf(child: Child) {
  const [, url = ''] = /^Debugger listening on (\S+)$/m.exec(child.stderr) ?? [];
  using inspector = await Inspector.open(url);
  const { heap, code, external } = await busyHeapOf(inspector);
  const resident = residentBytes(child.pid);
  return { heap: heap / MB, code: code / MB, external: external / MB, resident: resident / MB };
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
