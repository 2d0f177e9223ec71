import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures, Job } from './messages.ts';
import type { Origin } from './origin.ts';

/** Runs one load; `begin` is called when the measured part starts. */
export type Load = (job: Job, origin: Origin, begin: () => void) => Promise<Figures>;

const WARM_UP_MS = 1000;

/** Lets compilers and buffers of all processes warm up before anything is counted. */
export const warmUp = (): Promise<void> => sleep(WARM_UP_MS);

/** Waits for `seconds` and returns the seconds that really passed. */
export async function elapse(seconds: number): Promise<number> {
  const start = performance.now();
  await sleep(seconds * 1000);
  return (performance.now() - start) / 1000;
}
