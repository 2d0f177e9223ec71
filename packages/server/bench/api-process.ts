/**
 * The control API of a real Weir: how soon a pick is in force, and what listening clients cost traffic.
 *
 *     node packages/server/bench/api-process.ts
 *
 * Weir is a process of its own; the clients of its events run in a worker thread here, beside the
 * load, so on a machine with few processors they take some of the load's time as well.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ApiClient } from '../test/conformance/api-client.ts';
import { parseAddress, portOf } from '../../../test/support/data/address.ts';
import { freedom, socksIn } from '../../../test/support/process/config.ts';
import { residentBytes } from '../../../test/support/process/proc.ts';
import { discardServer } from '../../../test/support/peers/servers.ts';
import { socksConnect } from '../../../test/support/peers/socks-client.ts';
import { Weir } from '../../../test/support/process/weir.ts';

const SECONDS = 3;
const ROUNDS = 3;
const PICKS = 200;
/** Flows opened and closed a second beside the load. */
const CHURN = 50;
const CHUNK = Buffer.alloc(256 << 10);

interface Job {
  readonly port: number;
  readonly clients: number;
}

async function main(): Promise<void> {
  console.table(await picks());
  const rows = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const clients of [0, 1_000]) rows.push(await traffic(clients));
  }
  console.table(rows);
}

async function start(): Promise<{ weir: Weir; client: ApiClient }> {
  const outbounds = Array.from({ length: 20 }, (_, index) => freedom(`out${index}`)).join('');
  const weir = await Weir.start(`${socksIn()}${outbounds}[api]\nlisten = "127.0.0.1:0"\n`);
  const address = await weir.child.until(
    'the API',
    ({ stderr }) => /API listening on (\S+)/.exec(stderr)?.[1],
  );
  return { weir, client: new ApiClient(parseAddress(address)) };
}

/** From the request of a pick to its response, after which new flows follow it, with no other load. */
async function picks() {
  const { weir, client } = await start();
  await using _ = weir;
  const time = async (work: () => Promise<unknown>): Promise<number> => {
    const begin = performance.now();
    await work();
    return performance.now() - begin;
  };
  const health: number[] = [];
  const switches: number[] = [];
  for (let i = 0; i < PICKS; i++) {
    health.push(await time(() => client.get('/v1/health')));
    switches.push(await time(() => client.pick('default', `out${i % 20}`)));
  }
  return [
    { request: 'GET /v1/health', ...quantiles(health) },
    { request: 'PUT /v1/routes/default', ...quantiles(switches) },
  ];
}

function quantiles(times: number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): string => (sorted[Math.floor(part * sorted.length)] ?? 0).toFixed(2);
  return { 'p50 ms': at(0.5), 'p99 ms': at(0.99) };
}

/** One stream through SOCKS at full speed while so many clients listen, half of which never read. */
async function traffic(clients: number) {
  const { weir, client } = await start();
  await using _ = weir;
  await using sink = await discardServer();
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { port: portOf(client.address), clients } satisfies Job,
  });
  await once(worker, 'message');
  const memory = residentBytes(weir.pid);
  const stream = await socksConnect(weir.address('socks'), sink.target);
  const end = performance.now() + SECONDS * 1_000;
  const churn = (async () => {
    while (performance.now() < end) {
      const flow = await socksConnect(weir.address('socks'), sink.target);
      flow.destroy();
      await sleep(1_000 / CHURN);
    }
  })();
  let bytes = 0;
  while (performance.now() < end) {
    bytes += CHUNK.length;
    if (!stream.write(CHUNK)) await once(stream, 'drain');
  }
  await churn;
  const grown = residentBytes(weir.pid) - memory;
  stream.destroy();
  await worker.terminate();
  return {
    clients,
    'never read': clients / 2,
    'Gbit/s': ((bytes * 8) / SECONDS / 1e9).toFixed(2),
    'RSS + MB': (grown / 1e6).toFixed(1),
  };
}

/** The clients: half of them never read. */
async function listen({ port, clients }: Job): Promise<void> {
  const sockets: Socket[] = [];
  for (let i = 0; i < clients; i++) {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /v1/connections/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'readable');
    if (i % 2 === 0) socket.resume();
    sockets.push(socket);
  }
  parentPort?.postMessage('ready');
}

if (isMainThread) await main();
else await listen(workerData as Job);
