import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { findRunning, type RunningWeir } from '@weir/client/running';
import {
  type DashboardContext,
  DashboardServer,
  loadPageFiles,
  SOURCES,
} from '@weir/watch/dashboard';
import { hintsOf, type WeirError, VERSION } from '@weir/base';
import { parseLocalListen, defectText } from '@weir/server/local-http';
import { RunningMonitor } from '@weir/client/monitor/running-monitor';
import { printable, printableLines } from '@weir/base/printable';
import { commandOf, type CommandIo, optionLines, parserOf, untilStopped } from '../command.ts';
import { listenOf, searchOf } from '../running-options.ts';
import { defaultDatabase } from '../usage/default-database.ts';
import { DASHBOARD } from './specs.ts';

const DASHBOARD_HELP = `weir dashboard, which shows and steers a running Weir in a browser

Usage: weir dashboard [options]

It prints a link, which works once: the browser that opens it has access until it is closed. Enter
in this terminal, or SIGUSR2, prints a new link, for another browser. Only browsers of this host can
connect, to a random port unless --listen names one. SIGINT and SIGTERM end it.

Options:
${optionLines(DASHBOARD.options)}
docs/dashboard.md describes its pages, and how to use it from another host.
`;

const parseDashboard = parserOf(DASHBOARD, (values) => values);

const STANDARD_LISTEN = '127.0.0.1:0';

/**
 * `weir dashboard`: serves until a signal stops it. Resolves with the exit status.
 * @throws {UsageError}
 */
export const dashboardCommand = commandOf(
  DASHBOARD.name,
  DASHBOARD_HELP,
  parseDashboard,
  async (values, io) => {
    const note = (text: string): void =>
      void io.stderr.write(`weir dashboard: ${printableLines(text)}\n`);
    const listen = await parseLocalListen(listenOf(values), STANDARD_LISTEN);
    const files = await loadPageFiles();
    const running = await findRunning({ ...searchOf(values), env: io.env });
    if (running.problem) noteProblem(running.problem, note);
    const usage = values.usage ?? defaultDatabase(io.env);
    const context = contextOf(running, io.env, values['read-only'] === true, usage);
    await using server = await DashboardServer.start({
      listen,
      files,
      context,
      sources: SOURCES.map((create) => create(context)),
      version: VERSION,
      onDefect: (error) => note(defectText(error)),
    });
    const print = (): void => void io.stdout.write(`${server.newLink()}\n`);
    print();
    using links = onNewLink(print);
    note(`the link works once; ${links.how} for another one`);
    if (listen.kind === 'unix') note(forwardText(listen.path));
    await untilStopped();
    return 0;
  },
);

/** The context of topics and actions; it follows a Weir that restarts at other addresses. */
function contextOf(
  running: RunningWeir,
  env: CommandIo['env'],
  readOnly: boolean,
  usage: string,
): DashboardContext {
  return {
    monitor: RunningMonitor.of(running),
    api: running.api,
    get socket() {
      return running.socket;
    },
    get config() {
      return running.config;
    },
    usage,
    env,
    readOnly,
    now: Date.now,
  };
}

function noteProblem(problem: WeirError, note: (text: string) => void): void {
  note(problem.message);
  for (const hint of hintsOf(problem)) note(`hint: ${hint}`);
}

const forwardText = (path: string): string =>
  `it listens on ${printable(path)}: forward a port to it, as ssh -L PORT:${printable(path)} does, ` +
  'and open the link with this port, http://localhost:PORT/#…';

/** The way in which a user requests another link. */
interface NewLinks extends Disposable {
  /** Instruction within a sentence: `press Enter`. */
  readonly how: string;
}

/** Not SIGUSR1, which starts Node's debugger. */
const SIGNAL = 'SIGUSR2';

/** Calls `print` at each Enter in the terminal, if there is one, and at each SIGUSR2. */
function onNewLink(print: () => void): NewLinks {
  process.on(SIGNAL, print);
  const lines =
    process.stdin.isTTY && isInForeground() ? createInterface(process.stdin) : undefined;
  lines?.on('line', print);
  return {
    how: lines ? 'press Enter' : `send ${SIGNAL} to process ${process.pid}`,
    [Symbol.dispose]: () => {
      process.off(SIGNAL, print);
      lines?.close();
    },
  };
}

/** Whether the process is in the foreground. Reading from the terminal suspends a background process of a shell. */
function isInForeground(): boolean {
  try {
    // proc_pid_stat(5): after the name, which may contain any characters, state ppid pgrp session tty_nr tpgid.
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[2] === fields[5];
  } catch {
    return true; // not Linux
  }
}
