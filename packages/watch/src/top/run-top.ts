import { writeSync } from 'node:fs';
import type { WriteStream } from 'node:tty';
import { pause, HealthWatch } from '@weir/client/monitor';
import { LEAVE } from './screen.ts';
import { TerminalProgram, type TopParts } from './terminal-program.ts';
import { draw } from './draw.ts';
import { lineText } from './line.ts';
import { sortFlows, FIRST_STATE } from './top-state.ts';

export type { TopParts };

/** Milliseconds for which the end, and a suspension, wait for a stopped terminal, such as after Ctrl-S. */
const LEAVE_MS = 1_000;

/**
 * Runs the program in the terminal of this process until the user quits, a signal ends it or the terminal disconnects.
 * The terminal is restored afterwards, also after a defect, and while the program is suspended.
 */
export async function runInTerminal(parts: TopParts): Promise<number> {
  const { stdin, stdout } = process;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const program = new TerminalProgram(parts, stdout, (request) =>
    request === 'quit' ? end() : suspend(),
  );
  /** Waits until output has reached the terminal, or for `LEAVE_MS`. */
  const taken = async (written: Promise<void>): Promise<void> => {
    const limit = new AbortController();
    await Promise.race([written, pause(parts.clock, LEAVE_MS, limit.signal)]);
    limit.abort();
  };
  let isSuspending = false;
  const suspend = (): void => {
    if (isSuspending) return;
    isSuspending = true;
    void taken(program.suspend()).then(() => {
      isSuspending = false;
      stdin.setRawMode(false);
      setBlocking(stdout, true);
      // Not SIGTSTP, which is handled here.
      process.kill(process.pid, 'SIGSTOP');
    });
  };
  const resume = (): void => {
    setBlocking(stdout, false);
    stdin.setRawMode(true);
    program.resume();
  };
  const resize = (): void => program.redraw();
  const input = (piece: string): void => program.input(piece);
  // The error of a defect belongs on the normal screen. Streams no longer write at this point.
  const restore = (): void => {
    stdin.setRawMode(false);
    setBlocking(stdout, true);
    writeSync(stdout.fd, LEAVE);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

  process.once('exit', restore);
  for (const signal of signals) process.once(signal, end);
  process.on('SIGTSTP', suspend).on('SIGCONT', resume);
  // The terminal has disconnected: every use of it fails from now on.
  stdin.on('error', end).once('end', end);
  stdout.on('error', end).on('resize', resize);
  setBlocking(stdout, false);
  stdin.setRawMode(true).setEncoding('utf8').on('data', input).resume();
  program.start();
  try {
    await ended;
    return 0;
  } finally {
    await taken(program.stop());
    stdin.off('data', input).setRawMode(false).pause();
    setBlocking(stdout, true);
    stdout.off('resize', resize);
    process.off('exit', restore).off('SIGTSTP', suspend).off('SIGCONT', resume);
    for (const signal of signals) process.off(signal, end);
  }
}

/**
 * Sets whether a write blocks until the terminal has accepted it. By default it does for terminals in Node: a stopped
 * one would block the program, including its signals. The setting is available only on the stream's handle.
 */
function setBlocking(stream: WriteStream, isBlocking: boolean): void {
  const handle: unknown = '_handle' in stream ? stream._handle : undefined;
  if (typeof handle !== 'object' || handle === null || !('setBlocking' in handle)) return;
  if (typeof handle.setBlocking === 'function') handle.setBlocking(isBlocking);
}

/** The size of the printed screen: the flows with the highest rates. */
const SIZE = { columns: 120, rows: 40 };
/** Milliseconds for two samples of traffic and two lists, which rates require. */
const WAIT_MS = 2_500;

/**
 * Prints the screen of the terminal program once, as plain text. Resolves with the exit status: 1 if the API cannot be
 * reached.
 */
export async function printOnce(parts: TopParts, output: NodeJS.WritableStream): Promise<number> {
  const { monitor, clock, failing, readOnly, name } = parts;
  using _ = monitor.hold();
  await settled(parts);
  const now = clock.wall();
  const flows = sortFlows(monitor.flows.values(), FIRST_STATE, now);
  const health = new HealthWatch(monitor).at(now);
  const snapshot = {
    now,
    health,
    monitor,
    flows,
    failing: failing.at(now),
    readOnly,
    name,
    size: SIZE,
  };
  const lines = draw(FIRST_STATE, snapshot)
    .slice(0, -1) // the keys
    .map((line) => lineText(line, SIZE.columns, 'none').trimEnd());
  while (lines.at(-1) === '') lines.pop();
  output.write(lines.map((line) => `${line}\n`).join(''));
  return monitor.api.kind === 'reached' ? 0 : 1;
}

/** Resolves when rates are known, or the API is known to be unreachable. */
async function settled({ monitor, clock }: TopParts): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(WAIT_MS, resolve);
  // Keeps the process alive, which a clock's timers do not.
  const alive = setInterval(() => undefined, WAIT_MS);
  using _ = monitor.onChange(() => {
    const isLost = monitor.api.kind === 'lost' || monitor.api.kind === 'absent';
    if (isLost && monitor.socket.kind !== 'connecting') resolve();
  });
  await promise;
  timer.cancel();
  clearInterval(alive);
}
