import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exchangeDatagrams } from './datagrams.ts';
import { openFlow, type Via } from './flow.ts';
import { sessionHost } from './session-host.ts';
import { elapse, warmUp, type Load } from './load.ts';
import type { Figures, Job, LoadName } from './messages.ts';
import { MODE, pour, REQUEST_SIZE, RESPONSE_SIZE } from './origin.ts';
import { percentile } from '../statistics.ts';

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
    return streamRate(job, begin, origin.discarded, flows);
  },

  connect: (job, _origin, begin) =>
    timings(job, begin, async (isOver, record) => {
      while (!isOver()) {
        const start = performance.now();
        await connectOnce(job.via);
        record(performance.now() - start);
      }
    }),

  request: (job, _origin, begin) =>
    timings(job, begin, async (isOver, record) => {
      let missing = 0;
      let complete = Promise.withResolvers<void>();
      const flow = await openFlow(job.via, (data) => {
        missing -= data.length;
        if (missing === 0) complete.resolve();
      });
      flow.write(Buffer.from([MODE.request]));
      const request = Buffer.alloc(REQUEST_SIZE, 0x63);
      while (!isOver()) {
        missing = RESPONSE_SIZE;
        complete = Promise.withResolvers<void>();
        const start = performance.now();
        flow.write(request);
        await complete.promise;
        record(performance.now() - start);
      }
      flow.destroy();
    }),

  idle: async (job, _origin, begin) => {
    // A few first, so that what a proxy allocates once does not count as memory of the flows.
    const WARM = 200;
    for (const flow of await idleFlows(job.via, WARM)) flow.destroy();
    await warmUp();
    begin();
    const flows = await idleFlows(job.via, job.parallel);
    await sleep(job.seconds * 1000);
    const alive = flows.filter((flow) => !flow.destroyed).length;
    // The flows stay open until this process ends: their memory is read after this.
    return { flows: alive };
  },

  sessions: async (job, _origin, begin) => {
    // As above: what a server allocates once is not memory of a connection.
    const WARM = 20;
    await useSessions(job.via, 0, WARM);
    await warmUp();
    begin();
    await useSessions(job.via, WARM, job.parallel);
    await sleep(job.seconds * 1000);
    return { flows: job.parallel - WARM };
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
  await warmUp();
  const before = bytes();
  begin();
  const elapsed = await elapse(job.seconds);
  const moved = bytes() - before;
  for (const flow of flows) flow.destroy();
  return { rate: moved / elapsed, bytes: moved };
}

/** Performs one operation after the other until `isOver`, and records the milliseconds of each. */
type Worker = (isOver: () => boolean, record: (ms: number) => void) => Promise<void>;

/** Runs `job.parallel` workers: operations a second, and the spread of their times. */
async function timings(job: Job, begin: () => void, worker: Worker): Promise<Figures> {
  const times: number[] = [];
  let over = false;
  const work = (): Promise<void> =>
    worker(
      () => over,
      (ms) => times.push(ms),
    );
  const workers = Promise.all(Array.from({ length: job.parallel }, work));
  await warmUp();
  times.length = 0;
  begin();
  const elapsed = await elapse(job.seconds);
  const counted = [...times];
  over = true;
  await workers;
  return { rate: counted.length / elapsed, ...spread(counted) };
}

/**
 * Handshake, one byte there and back, close. The close is not waited for: v2ray takes a second to
 * pass one on, by design, and the rate would show nothing else.
 */
export async function connectOnce(via: Via): Promise<void> {
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

const sessionVia = (via: Via, number: number): Via =>
  via.target ? { ...via, target: { ...via.target, host: sessionHost(number) } } : via;

/** Opens one flow through each of these connections, which stay when the flow has ended. */
async function useSessions(via: Via, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++) await connectOnce(sessionVia(via, number));
}

const spread = (times: readonly number[]): Figures => ({
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
});
