import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningWeir } from '../soak/running-weir.ts';
import { connectionsOf, sampleOf, type Sample } from '../soak/sample.ts';
import { grows, trends } from '../soak/verdict.ts';
import { eventually } from '../support/wait.ts';

/** Idle pipes are closed after two periods of 5 s, lingering links after 5 s. */
const REST_MS = 12_000;
const PATIENCE_MS = 60_000;

/** What the process holds once all flows have ended. */
export async function sampleAtRest(weir: RunningWeir): Promise<Sample> {
  await eventually(
    'the end of all flows',
    async () => (await connectionsOf(weir)).flows.length === 0,
    PATIENCE_MS,
  );
  await sleep(REST_MS);
  return sampleOf(weir);
}

/** Prints both samples, and says whether the second is within the soak's tolerances of the first. */
export function compare(before: Sample, after: Sample, connections: number): boolean {
  const found = trends([
    { connections: 0, sample: before },
    { connections, sample: after },
  ]);
  for (const trend of found) {
    const { quantity, first, last, limit } = trend;
    const verdict = grows(trend) ? `GROWS by more than ${limit.toFixed(0)}` : '';
    console.log(`${quantity.padEnd(12)}${first} -> ${last} ${verdict}`);
  }
  return !found.some(grows);
}
