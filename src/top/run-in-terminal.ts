import { writeSync } from 'node:fs';
import type { WriteStream } from 'node:tty';
import { pause } from '../monitor/pause.ts';
import { LEAVE } from './screen.ts';
import { TerminalProgram, type TopParts } from './terminal-program.ts';

/** Milliseconds for which the end, and a suspension, wait for a stopped terminal, such as after Ctrl-S. */
const LEAVE_MS = 1_000;

/**
 * Runs the program in the terminal of this process until the user quits, a signal ends it or the terminal disconnects.
 * The terminal is restored afterwards, also after a defect, and while the program is suspended.
 */
export async function runInTerminal(parts: TopParts): Promise<number> {
  const { stdin, stdout } = process;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const program = new TerminalProgram(parts, stdout, (wish) =>
    wish === 'quit' ? end() : suspend(),
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
