import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exchangeDatagrams } from './datagrams.ts';
import { openFlow, type Via } from './flow.ts';
import type { Figures, Job, LoadName } from './messages.ts';
import { MODE, pour, REQUEST_SIZE, RESPONSE_SIZE, type Origin } from './origin.ts';
import { percentile } from '../statistics.ts';

/** Compilers and buffers of everybody get warm before anything is counted. */
export const WARM_UP_MS = 1000;

/** Runs one load; `begin` is called when the measured part starts. */
export type Load = (job: Job, origin: Origin, begin: () => void) => Promise<Figures>;

export const LOADS: Readonly<Record<LoadName, Load>> = {
  download: async (job, _origin, begin) => {
    let bytes = 0;
    const flows = await openFlows(job, (data) => void (bytes += data.length));
    for (const flow of flows) flow.write(Buffer.from([MODE.download]));
    return streamRate(job, begin, () => bytes, flows);
  },

  upload: async (job, origin, begin) => {
    const flows = await openFlows(job, () => undefined);
    for (const flow of flows) {
      flow.write(Buffer.from([MODE.upload]));
      pour(flow);
    }
    return streamRate(job, begin, origin.swallowed, flows);
  },

  connect: async (job, _origin, begin) => {
    const times: number[] = [];
    let stop = false;
    const worker = async (): Promise<void> => {
      while (!stop) {
        const start = performance.now();
        await connectOnce(job.via);
        times.push(performance.now() - start);
      }
    };
    const workers = Promise.all(Array.from({ length: job.parallel }, worker));
    await sleep(WARM_UP_MS);
    times.length = 0;
    begin();
    const elapsed = await measure(job.seconds);
    const counted = [...times];
    stop = true;
    await workers;
    return { rate: counted.length / elapsed, ...spread(counted) };
  },

  request: async (job, _origin, begin) => {
    const times: number[] = [];
    let stop = false;
    const worker = async (): Promise<void> => {
      let missing = 0;
      let answered = Promise.withResolvers<void>();
      const flow = await openFlow(job.via, (data) => {
        missing -= data.length;
        if (missing === 0) answered.resolve();
      });
      flow.write(Buffer.from([MODE.request]));
      const request = Buffer.alloc(REQUEST_SIZE, 0x63);
      while (!stop) {
        missing = RESPONSE_SIZE;
        answered = Promise.withResolvers<void>();
        const start = performance.now();
        flow.write(request);
        await answered.promise;
        times.push(performance.now() - start);
      }
      flow.destroy();
    };
    const workers = Promise.all(Array.from({ length: job.parallel }, worker));
    await sleep(WARM_UP_MS);
    times.length = 0;
    begin();
    const elapsed = await measure(job.seconds);
    const counted = [...times];
    stop = true;
    await workers;
    return { rate: counted.length / elapsed, ...spread(counted) };
  },

  idle: async (job, _origin, begin) => {
    // A few first, so that what a proxy allocates once is not booked on the flows.
    const WARM = 200;
    for (const flow of await idleFlows(job.via, WARM)) flow.destroy();
    await sleep(WARM_UP_MS);
    begin();
    const flows = await idleFlows(job.via, job.parallel);
    await sleep(job.seconds * 1000);
    const alive = flows.filter((flow) => !flow.destroyed).length;
    // The flows stay open until this process ends: whoever measures memory reads it after this.
    return { flows: alive };
  },

  datagrams: exchangeDatagrams,
};

async function openFlows(job: Job, onData: (data: Uint8Array) => void): Promise<Socket[]> {
  return Promise.all(Array.from({ length: job.parallel }, () => openFlow(job.via, onData)));
}

async function streamRate(
  job: Job,
  begin: () => void,
  bytes: () => number,
  flows: readonly Socket[],
): Promise<Figures> {
  await sleep(WARM_UP_MS);
  const before = bytes();
  begin();
  const elapsed = await measure(job.seconds);
  const moved = bytes() - before;
  for (const flow of flows) flow.destroy();
  return { rate: moved / elapsed, bytes: moved };
}

/**
 * Handshake, one byte there and back, close. The close is not waited for: v2ray takes a second to
 * pass one on, by design, and would be held back by nothing else.
 */
async function connectOnce(via: Via): Promise<void> {
  const echoed = Promise.withResolvers<void>();
  const flow = await openFlow(via, () => echoed.resolve());
  flow.write(Buffer.from([MODE.echo, 0x78]));
  await echoed.promise;
  flow.destroy();
}

/** Flows that have carried one byte each way and then rest. */
async function idleFlows(via: Via, count: number): Promise<Socket[]> {
  const flows: Socket[] = [];
  const AT_ONCE = 100;
  let next = 0;
  const opener = async (): Promise<void> => {
    while (next++ < count) {
      const echoed = Promise.withResolvers<void>();
      const flow = await openFlow(via, () => echoed.resolve());
      flow.write(Buffer.from([MODE.echo, 0x78]));
      await echoed.promise;
      flows.push(flow);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, opener));
  return flows;
}

/** Waits and gives the seconds that really passed. */
async function measure(seconds: number): Promise<number> {
  const start = performance.now();
  await sleep(seconds * 1000);
  return (performance.now() - start) / 1000;
}

const spread = (times: readonly number[]): Figures => ({
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
});
