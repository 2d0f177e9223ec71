import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { openBrowser } from '../test/support/browser/open-browser.ts';
import { cpuSeconds, residentBytes } from '../test/support/process/proc.ts';
import { BusyWeir } from '../test/support/watching/busy-weir.ts';
import { SCROLLING } from '../test/support/watching/dashboard-tab.ts';
import {
  PROGRAMS,
  type ProgramName,
  type WatchingProgram,
} from '../test/support/watching/programs.ts';
import { median } from './statistics.ts';
import { delayOf, longestTurnOf, WITH_DELAY, WITH_TURNS } from './watching/loop-delays.ts';

const USAGE = `Usage: node bench/watching.ts [PROGRAM...] [options]

What the programs cost that watch a running Weir under load. Each is started, measured for a while and ended, and then
Weir is measured without it; the difference of both is what Weir pays. Needs Linux, and chromium for the dashboard.

Programs (default: all but clash-api-4): ${Object.keys(PROGRAMS).join(', ')}

Options:
  --flows N       open flows (default 10000)
  --rate N        flows opened, and as many closed, each second (default 500)
  --busy N        requests for some 10 KB each second on flows that stay (default 200)
  --rounds N      (default 3)
  --seconds N     length of a measurement (default 15)
  --profile DIR   writes a processor profile of each program, and of Weir, to DIR
  --json FILE     writes all figures to FILE
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    flows: { type: 'string', default: '10000' },
    rate: { type: 'string', default: '500' },
    busy: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '15' },
    profile: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const isProgram = (name: string): name is ProgramName => Object.hasOwn(PROGRAMS, name);
const names =
  positionals.length === 0
    ? (Object.keys(PROGRAMS) as ProgramName[]).filter((name) => name !== 'clash-api-4')
    : positionals.filter(isProgram);
if (values.help || names.length < positionals.length) {
  process.stdout.write(USAGE);
  process.exit(values.help ? 0 : 2);
}

type Figures = Readonly<Record<string, number>>;

const SECONDS = Number(values.seconds);
/** For the first snapshots, and for compilers; Weir collects the garbage of a program that has gone. */
const SETTLE_MS = 8_000;
const MB = 1e6;
const profileArgs =
  values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];

await using busy = await BusyWeir.start({
  flows: Number(values.flows),
  perSecond: Number(values.rate),
  busy: Number(values.busy),
  // Its probe takes the same time with a program and without one.
  weir: { nodeArgs: [...profileArgs, ...WITH_DELAY] },
});
await using browser = await openBrowser();

const results = new Map<ProgramName, Figures[]>();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const name of names) {
    const figures = await measure(name, browser);
    results.set(name, [...(results.get(name) ?? []), figures]);
    process.stderr.write(`round ${round + 1}: ${name}: ${line(figures)}\n`);
  }
}
for (const name of names) {
  const figures = await measureDelay(name, browser);
  results.set(name, [...(results.get(name) ?? []), figures]);
}
process.stdout.write(`\n${table(results)}\n`);
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify(Object.fromEntries(results), undefined, 2)}\n`);
}
if (values.profile !== undefined) await busy.weir.stop('SIGTERM');

/** One measurement with a program, and one without any. */
async function measure(name: ProgramName, browser: Browser): Promise<Figures> {
  const program = await PROGRAMS[name](busy, { browser, nodeArgs: profileArgs });
  let figures: Figures;
  try {
    await sleep(SETTLE_MS);
    figures = await measureWith(program);
  } finally {
    // It writes its profile when it ends.
    if (values.profile !== undefined) await program.child.terminate();
    await program[Symbol.asyncDispose]();
  }
  await sleep(SETTLE_MS);
  await delayOf(busy.weir.child, busy.weir.pid);
  const counts = await busy.counts();
  const without = await window(busy.weir.pid);
  const after = await busy.counts();
  const { p99 } = await delayOf(busy.weir.child, busy.weir.pid);
  const rate = (after.opened - counts.opened) / without.seconds;
  // Other work on the machine may have left too little for all flows: nearly all of the time goes into those.
  const atSameRate = without.cores * ((figures['flows/s'] ?? NaN) / rate);
  return {
    ...figures,
    'Weir without, %': without.cores * 100,
    'Weir loop p99 without, ms': p99,
    'flows/s without': rate,
    'more in Weir, %': (figures['Weir with, %'] ?? NaN) - atSameRate * 100,
  };
}

async function measureWith(program: WatchingProgram): Promise<Figures> {
  const counts = await busy.counts();
  const sent = program.sentBytes();
  await delayOf(busy.weir.child, busy.weir.pid);
  const own = window(program.pid);
  const weir = await window(busy.weir.pid);
  const delay = await delayOf(busy.weir.child, busy.weir.pid);
  const after = await busy.counts();
  const figures = {
    'flows/s': (after.opened - counts.opened) / weir.seconds,
    failed: after.failed,
    'Weir with, %': weir.cores * 100,
    'Weir loop p99 with, ms': delay.p99,
    'program, %': (await own).cores * 100,
    'sent, KB/s': (program.sentBytes() - sent) / weir.seconds / 1e3,
    'program, MB': residentBytes(program.pid) / MB,
  };
  const { tab } = program;
  if (!tab) return figures;
  const scrolled: Record<string, number> = {};
  for (const by of SCROLLING) {
    const { perSecond, longest } = await tab.scroll(by);
    scrolled[`frames/s by ${by}`] = perSecond;
    scrolled[`longest by ${by}, ms`] = longest;
  }
  return { ...figures, ...scrolled, 'tab heap, MB': (await tab.heapBytes()) / MB };
}

/**
 * How late the program's event loop is, and the longest stretch of processor time without a turn of it, which other
 * work on the machine does not lengthen. Measured for itself, because the probes take time too.
 */
async function measureDelay(name: ProgramName, browser: Browser): Promise<Figures> {
  const nodeArgs = [...WITH_DELAY, ...WITH_TURNS];
  await using program = await PROGRAMS[name](busy, { browser, nodeArgs });
  const { child, pid } = program;
  await sleep(SETTLE_MS);
  await delayOf(child, pid);
  await longestTurnOf(child, pid);
  await sleep(SECONDS * 1_000);
  const turn = longestTurnOf(child, pid);
  const { p99, max } = await delayOf(child, pid);
  return {
    'loop p99, ms': p99,
    'loop max, ms': max,
    'longest turn, ms of processor': await turn,
  };
}

async function window(pid: number): Promise<{ readonly cores: number; readonly seconds: number }> {
  const [cpu, begin] = [cpuSeconds(pid), performance.now()];
  await sleep(SECONDS * 1_000);
  const seconds = (performance.now() - begin) / 1_000;
  return { cores: (cpuSeconds(pid) - cpu) / seconds, seconds };
}

function line(figures: Figures): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${value.toFixed(value < 10 ? 2 : 0)}`)
    .join('; ');
}

/** Medians over the rounds. */
function table(all: ReadonlyMap<ProgramName, readonly Figures[]>): string {
  const rows = new Set([...all.values()].flat().flatMap(Object.keys));
  const cell = (name: ProgramName, row: string): string => {
    const found = (all.get(name) ?? []).flatMap((figures) => figures[row] ?? []);
    return found.length === 0 ? '–' : median(found).toFixed(1);
  };
  const programs = [...all.keys()];
  return [
    `| figure | ${programs.join(' | ')} |`,
    `|---|${programs.map(() => '---|').join('')}`,
    ...Array.from(
      rows,
      (row) => `| ${row} | ${programs.map((name) => cell(name, row)).join(' | ')} |`,
    ),
  ].join('\n');
}
