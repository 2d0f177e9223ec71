import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { DashboardProcess } from '../browser/dashboard-process.ts';
import { ClashProcess } from '../clash/clash-process.ts';
import { Child } from '../process/child.ts';
import { weirCommand } from '../process/weir.ts';
import { eventually } from '../wait.ts';
import type { BusyWeir } from './busy-weir.ts';
import { DashboardTab } from './dashboard-tab.ts';

/** A program that watches a Weir, with what it is for: a tab, a client, a scraper, a terminal. */
export interface WatchingProgram extends AsyncDisposable {
  readonly pid: number;
  readonly child: Child;
  /** Bytes that its user has got so far. */
  readonly sentBytes: () => number;
  readonly tab?: DashboardTab;
  /** Opens another tab, in a session of its own. */
  readonly open?: () => Promise<DashboardTab>;
}

export interface StartOptions {
  readonly browser: Browser;
  /** Arguments of Node, such as a probe to load. */
  readonly nodeArgs?: readonly string[];
}

type Start = (busy: BusyWeir, options: StartOptions) => Promise<WatchingProgram>;

const SCRAPE_MS = 5_000;
const TOP_SIZE = 'stty rows 50 cols 160';

/** One tab, at Connections. */
const startDashboard: Start = async ({ args }, { browser, nodeArgs = [] }) => {
  await using stack = new AsyncDisposableStack();
  const dashboard = stack.use(await DashboardProcess.start(args, { nodeArgs }));
  const tab = stack.use(await DashboardTab.open(browser, dashboard));
  const started = stack.move();
  return {
    pid: dashboard.child.pid,
    child: dashboard.child,
    sentBytes: () => tab.receivedBytes,
    tab,
    open: () => DashboardTab.open(browser, dashboard),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
};

/** WebSockets at `/connections`, as dashboards for mihomo have one open. */
const startClashApi =
  (clients: number): Start =>
  async ({ args }, { nodeArgs = [] }) => {
    const clash = await ClashProcess.start(args, { nodeArgs });
    const url = new URL('/connections', clash.url.replace(/^http/, 'ws'));
    url.searchParams.set('token', clash.secret);
    let bytes = 0;
    const sockets = Array.from({ length: clients }, () => {
      const socket = new WebSocket(url);
      socket.binaryType = 'arraybuffer';
      socket.addEventListener('message', ({ data }) => (bytes += String(data).length));
      return socket;
    });
    return {
      pid: clash.child.pid,
      child: clash.child,
      sentBytes: () => bytes,
      [Symbol.asyncDispose]: async () => {
        for (const socket of sockets) socket.close();
        await clash[Symbol.asyncDispose]();
      },
    };
  };

/** Scraped every five seconds. */
const startMetrics: Start = async ({ args }, { nodeArgs = [] }) => {
  const child = weirCommand(['metrics', '--listen', '127.0.0.1:0', ...args], { nodeArgs });
  const url = await child.until(
    'where it listens',
    ({ stdout }) => /^metrics on (\S+)$/m.exec(stdout)?.[1],
  );
  let bytes = 0;
  const scrape = async (): Promise<void> => {
    bytes += (await (await fetch(url)).text()).length;
  };
  const timer = setInterval(() => void scrape().catch(() => undefined), SCRAPE_MS);
  return {
    pid: child.pid,
    child,
    sentBytes: () => bytes,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await child[Symbol.asyncDispose]();
    },
  };
};

/** In a terminal of 160 × 50. */
const startTop: Start = async ({ args }, { nodeArgs = [] }) => {
  const words = [process.execPath, ...nodeArgs, 'packages/weir/src/main.js', 'top', ...args];
  const command = words.map((word) => `'${word}'`).join(' ');
  const child = new Child('script', ['-qfc', `${TOP_SIZE}; exec ${command}`, '/dev/null'], {
    env: { TERM: 'xterm-256color', RUST_LOG: undefined, NODE_OPTIONS: undefined },
  });
  let bytes = 0;
  child.process.stdout?.on('data', (text: string) => (bytes += Buffer.byteLength(text)));
  const pid = await eventually(
    () => `weir top in a terminal:\n${child.stdout}${child.stderr}`,
    () => (bytes > 1_000 ? childOf(child.pid) : undefined),
  );
  return { pid, child, sentBytes: () => bytes, [Symbol.asyncDispose]: () => child.terminate() };
};

/** The process that `script` has started, which the shell has become. */
function childOf(pid: number): number | undefined {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return child === undefined || child === '' ? undefined : Number(child);
}

export const PROGRAMS = {
  dashboard: startDashboard,
  'clash-api': startClashApi(1),
  'clash-api-4': startClashApi(4),
  metrics: startMetrics,
  top: startTop,
} as const satisfies Readonly<Record<string, Start>>;

export type ProgramName = keyof typeof PROGRAMS;
