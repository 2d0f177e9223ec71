import { fileURLToPath } from 'node:url';
import type { Child } from '../../test/support/process/child.ts';

/** Milliseconds for which an event loop was late. */
export interface LoopDelay {
  readonly p99: number;
  readonly max: number;
}

const load = (name: string): readonly string[] => [
  '--import',
  fileURLToPath(new URL(name, import.meta.url)),
];

/** Arguments of Node with which `delayOf` works. */
export const WITH_DELAY = load('../loop-delay.ts');
/** Those with which `longestTurnOf` works; its probe takes more time. */
export const WITH_TURNS = load('../stall-probe.ts');

/** Since the last report of this process. @param pid the process itself, where `child` has started it */
export async function delayOf(child: Child, pid: number): Promise<LoopDelay> {
  const report = await nextReport(child, pid, /loop-delay p50=\S+ p99=(\S+) max=(\S+)/g);
  return { p99: Number(report[1]), max: Number(report[2]) };
}

/**
 * The longest stretch of processor time, in milliseconds, without a turn of the event loop since the last report of
 * this process; other work on the machine does not lengthen it.
 */
export async function longestTurnOf(child: Child, pid: number): Promise<number> {
  const report = await nextReport(child, pid, /stall-probe wall=\S+ cpu=(\S+) gc=/g);
  return Number(report[1]);
}

/** Both probes report at this signal. */
async function nextReport(child: Child, pid: number, report: RegExp): Promise<RegExpExecArray> {
  const reports = () => [...`${child.stdout}${child.stderr}`.matchAll(report)];
  const known = reports().length;
  process.kill(pid, 'SIGUSR2');
  return child.until('a report of its event loop', () => reports()[known]);
}
