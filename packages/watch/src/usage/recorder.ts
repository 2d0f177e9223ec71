import { setTimeout as sleep } from 'node:timers/promises';
import { asError } from '@weir/base';
import { requestUsage } from '@weir/server/control';
import { hourOf } from './periods.ts';
import type { UsageWriter } from './usage-writer.ts';

/** What a recorder needs. */
interface RecorderMeans {
  readonly writer: UsageWriter;
  /** Finds the control socket of the running Weir. */
  readonly find: () => Promise<string>;
  /** Milliseconds between two reports. */
  readonly intervalMs: number;
  /** Called when recording begins to succeed, and with the reason when it begins to fail; not for equal failures in a row. */
  readonly onChange: (problem: Error | undefined) => void;
  readonly now?: () => number;
}

/** Milliseconds that the report at the end may take. */
const LAST_MS = 2_000;

/**
 * Records the usage of a running Weir until `signal` aborts. What cannot be read or written is tried again, and nothing
 * is lost while that Weir runs: it keeps the sums.
 */
export async function recordUsage(means: RecorderMeans, signal: AbortSignal): Promise<void> {
  const { intervalMs, onChange } = means;
  let socket: string | undefined;
  let shown: string | undefined;
  while (!signal.aborted) {
    const began = performance.now();
    try {
      socket ??= await means.find();
      await recordOnce(means, socket, signal);
      if (shown !== '') onChange(undefined);
      shown = '';
    } catch (error) {
      if (signal.aborted) break;
      // A Weir that was started again may have another socket.
      socket = undefined;
      const problem = asError(error);
      if (shown !== problem.message) onChange(problem);
      shown = problem.message;
    }
    await pause(Math.max(0, began + intervalMs - performance.now()), signal);
  }
  if (socket === undefined) return;
  await recordOnce(means, socket, AbortSignal.timeout(LAST_MS)).catch((error: unknown) =>
    onChange(asError(error)),
  );
}

async function recordOnce(
  { writer, now = Date.now }: RecorderMeans,
  socket: string,
  signal: AbortSignal,
): Promise<void> {
  const { position } = writer;
  const { instance, sequence: since } = position;
  const report = await requestUsage(socket, { instance, since }, signal);
  writer.record(report, position, hourOf(now()));
}

/** Waits; ends early when `signal` aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
