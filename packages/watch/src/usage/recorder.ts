import { setTimeout as sleep } from 'node:timers/promises';
import { asError } from '@weir/base';
import { followUsage, requestUsage, type RunningUsage } from '@weir/server/control';
import { hourOf } from './periods.ts';
import type { ReadPosition, UsageWriter } from './usage-writer.ts';

/** What a recorder needs. */
interface RecorderMeans {
  readonly writer: UsageWriter;
  /** Finds the control socket of the running Weir. */
  readonly find: () => Promise<string>;
  /** Milliseconds of usage that a process that is killed may lose: the time between two reports is a little less. */
  readonly intervalMs: number;
  /** Called when recording begins to succeed, and with the reason when it begins to fail; not for equal failures in a row. */
  readonly onChange: (problem: Error | undefined) => void;
}

/**
 * Milliseconds by which a report is asked for early: a timer of a busy process is late, and what a report takes until the
 * kernel has it is lost with a process that is killed meanwhile.
 */
const EARLY_MS = 150;
/** Milliseconds until a failure is followed by another try. */
const RETRY_MS = 1_000;
/** Milliseconds that the report at the end may take. */
const LAST_MS = 2_000;

/**
 * Records the usage of a running Weir until `signal` aborts. What cannot be read or written is tried again, and nothing
 * is lost while that Weir runs: it keeps the sums.
 */
export async function recordUsage(means: RecorderMeans, signal: AbortSignal): Promise<void> {
  const { onChange } = means;
  let socket: string | undefined;
  let shown: string | undefined;
  const recorded = (): void => {
    if (shown !== '') onChange(undefined);
    shown = '';
  };
  while (!signal.aborted) {
    try {
      // A Weir that was started again may have another socket.
      socket = await means.find();
      await followOnce(means, socket, recorded, signal);
    } catch (error) {
      if (signal.aborted) break;
      socket = undefined;
      const problem = asError(error);
      if (shown !== problem.message) onChange(problem);
      shown = problem.message;
    }
    await pause(RETRY_MS, signal);
  }
  if (socket === undefined) return;
  await recordLast(means, socket).catch((error: unknown) => onChange(asError(error)));
}

/** Records reports until the process ends, or another recorder has recorded one. */
async function followOnce(
  means: RecorderMeans,
  socket: string,
  recorded: () => void,
  signal: AbortSignal,
): Promise<void> {
  let { position } = means.writer;
  const { instance, sequence: since } = position;
  const asked = { instance, since, every: means.intervalMs - EARLY_MS };
  for await (const report of followUsage(socket, asked, signal)) {
    if (!record(means, report, position)) return;
    position = report;
    recorded();
  }
}

async function recordLast(means: RecorderMeans, socket: string): Promise<void> {
  const { position } = means.writer;
  const { instance, sequence: since } = position;
  const limit = AbortSignal.timeout(LAST_MS);
  record(means, await requestUsage(socket, { instance, since }, limit), position);
}

const record = ({ writer }: RecorderMeans, report: RunningUsage, position: ReadPosition): boolean =>
  writer.record(report, position, hourOf(Date.now()));

/** Waits; ends early when `signal` aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);
