/**
 * What the control API costs the thread that also moves traffic.
 *
 *     node packages/server/bench/api.ts
 *
 * The clients run in a worker thread. "Busy" is the share of its time that the server's thread works
 * (event loop utilisation), "late" how late a timer on that thread is: what traffic would feel. The row
 * without clients is the baseline: what opening and closing the flows costs by itself.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import type { ControlledApp } from '../src/api/contract.ts';
import { ApiServer } from '../src/api/http/server.ts';
import { lowerApi } from '../../config/src/api.ts';
import { systemClock } from '@weir/io/time';
import type { FlowInfo } from '../../proxy/src/tracker/flow.ts';
import { Tracker } from '@weir/proxy/tracker';
import { parseAddress, portOf } from '../../../test/support/data/address.ts';
import { silentLogger } from '@weir/base/log';

interface Job {
  readonly port: number;
  readonly kind: 'connections' | 'health' | 'events';
  /** Responses to fetch one after the other, or streams to open. */
  readonly count: number;
  /** Of the streams, how many are never read. */
  readonly deaf: number;
}

interface Done {
  readonly milliseconds: number;
  readonly bytes: number;
}

const EVENTS = '/v1/connections/events';
const SECONDS = 5;
const FLOWS_PER_SECOND = 5_000;

async function main(): Promise<void> {
  console.table([await responses('health', 0, 5_000), await responses('connections', 10_000, 30)]);
  const rows = [];
  for (const [clients, deaf] of [
    [0, 0],
    [1, 0],
    [10, 0],
    [100, 0],
    [1_000, 500],
  ] as const) {
    rows.push(await events(clients, deaf));
  }
  console.table(rows);
}

const info = (i: number): FlowInfo => ({
  session: undefined,
  inbound: 'socks',
  user: i % 2 === 0 ? 'ann@example.org' : undefined,
  source: '192.0.2.7',
  destination: { network: 'tcp', host: `host-${i}.cdn.example.com`, port: 443 },
  sniffed: undefined,
  outbound: `outbound-${i % 10}`,
  outboundVersion: 1,
  rule: i % 7,
  routingEpoch: 3,
});

/** An API over nothing but a tracker. */
async function start(): Promise<{ tracker: Tracker; server: ApiServer; port: number }> {
  const tracker = new Tracker(systemClock);
  const refuse = (): never => {
    throw new Error('not measured');
  };
  const app: ControlledApp = {
    version: '0',
    tracker,
    clock: systemClock,
    routes: refuse,
    pick: refuse,
    reload: refuse,
  };
  const listen = { value: '127.0.0.1:0', span: { start: 0, end: 0 } };
  const server = await ApiServer.start(lowerApi({ listen, secret: undefined }), app, silentLogger);
  return { tracker, server, port: portOf(parseAddress(server.address)) };
}

/** Fetches the same response repeatedly over one connection. */
async function responses(kind: 'connections' | 'health', flows: number, count: number) {
  const { tracker, server, port } = await start();
  for (let i = 0; i < flows; i++) tracker.openFlow(info(i), () => undefined);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const { milliseconds, bytes } = await run({ port, kind, count, deaf: 0 });
  delay.disable();
  await server.stop();
  return {
    response: kind,
    flows,
    'ms each': (milliseconds / count).toFixed(3),
    'MB each': (bytes / count / 1e6).toFixed(3),
    'late p50 ms': late(delay.percentile(50)),
    'late max ms': late(delay.max),
  };
}

/** Opens and closes flows at a steady pace while clients listen, or do not. */
async function events(clients: number, deaf: number) {
  const { tracker, server, port } = await start();
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { port, kind: 'events', count: clients, deaf } satisfies Job,
  });
  await once(worker, 'message');
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const memory = process.memoryUsage().rss;
  const before = performance.eventLoopUtilization();
  delay.enable();
  const begin = performance.now();
  let flows = 0;
  while (performance.now() - begin < SECONDS * 1_000) {
    const due = ((performance.now() - begin) / 1_000) * FLOWS_PER_SECOND;
    for (; flows < due; flows++) tracker.openFlow(info(flows), () => undefined).close();
    await sleep(1);
  }
  delay.disable();
  const busy = performance.eventLoopUtilization(before).utilization;
  const grown = process.memoryUsage().rss - memory;
  const report = once(worker, 'message') as Promise<[Done]>;
  worker.postMessage('enough');
  const [{ bytes }] = await report;
  await worker.terminate();
  await server.stop();
  return {
    clients,
    'never read': deaf,
    'events/s': Math.round((flows * 2) / SECONDS),
    'busy %': (busy * 100).toFixed(1),
    'late p50 ms': late(delay.percentile(50)),
    'late p99 ms': late(delay.percentile(99)),
    'sent MB': (bytes / 1e6).toFixed(1),
    'RSS + MB': (grown / 1e6).toFixed(1),
  };
}

/** The monitor's own millisecond is not lateness. */
const late = (nanoseconds: number): string => Math.max(0, nanoseconds / 1e6 - 1).toFixed(2);

async function run(job: Job): Promise<Done> {
  const worker = new Worker(new URL(import.meta.url), { workerData: job });
  const [done] = (await once(worker, 'message')) as [Done];
  await worker.terminate();
  return done;
}

/** The clients' side, in its own thread. */
async function work(job: Job): Promise<void> {
  if (job.kind === 'events') await listen(job);
  else parentPort?.postMessage(await fetchAll(job));
}

const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

async function fetchAll({ port, kind, count }: Job): Promise<Done> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  let [left, bytes, length] = [0, 0, 0];
  const begin = performance.now();
  for (let i = 0; i < count; i++) {
    socket.write(request(`/v1/${kind}`));
    left = Infinity;
    while (left > 0) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      if (left === Infinity) {
        const head = chunk.indexOf('\r\n\r\n') + 4;
        length = Number(/content-length: (\d+)/i.exec(chunk.toString('latin1', 0, head))?.[1]);
        left = length + head;
        bytes += length;
      }
      left -= chunk.length;
    }
  }
  socket.destroy();
  return { milliseconds: performance.now() - begin, bytes };
}

/** Opens streams, some of which it never reads, and counts bytes until it is stopped. */
async function listen({ port, count, deaf }: Job): Promise<void> {
  const begin = performance.now();
  let bytes = 0;
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect(port, '127.0.0.1');
    socket.write(request(EVENTS));
    await once(socket, 'readable'); // the head: the subscription stands
    if (i >= deaf) socket.on('data', (chunk: Buffer) => void (bytes += chunk.length));
    else socket.pause();
    sockets.push(socket);
  }
  parentPort?.once('message', () => {
    parentPort?.postMessage({ milliseconds: performance.now() - begin, bytes });
    for (const socket of sockets) socket.destroy();
  });
  parentPort?.postMessage('ready');
}

if (isMainThread) await main();
else await work(workerData as Job);
