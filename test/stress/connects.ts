/**
 * Connects of the library that are aborted at every moment: before the dial, during it, while the stream opens, and
 * after. Descriptors, timers, flows and memory must then be as before.
 *
 * `npm run stress -- connects`, with WEIR_STRESS_CONNECTS (100,000) and WEIR_STRESS_CLIENTS (32). Exit status 1 when
 * anything is left.
 */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { setImmediate as turn } from 'node:timers/promises';
import { Weir } from '../../packages/weir/src/index.ts';
import { openDescriptors } from '../support/process/proc.ts';
import { eventually } from '../support/wait.ts';

const CONNECTS = Number(process.env['WEIR_STRESS_CONNECTS'] ?? 100_000);
const CLIENTS = Number(process.env['WEIR_STRESS_CLIENTS'] ?? 32);
/** Bytes that the heap may have grown by: what is compiled and cached later. */
const HEAP_GROWTH = 8 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const origin = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => undefined).pipe(socket);
}).listen(0, '127.0.0.1');
await once(origin, 'listening');
const { port } = origin.address() as AddressInfo;

await using weir = await Weir.start({
  config: { outbound: [{ tag: 'direct', protocol: 'freedom' }] },
  route: () => (Math.random() < 0.5 ? 'direct' : undefined),
});

const outcomes = { opened: 0, aborted: 0, failed: 0 };
/** Some connects share a signal that lives as long as the program. */
const lasting = new AbortController();

/** Connects, and aborts after a random time: none, some turns of the event loop, or some milliseconds. */
async function connectOnce(): Promise<void> {
  const own = new AbortController();
  const isLasting = Math.random() < 0.2;
  const dial = weir.connect({
    host: '127.0.0.1',
    port,
    signal: (isLasting ? lasting : own).signal,
  });
  const settled = dial.then(
    (socket) => {
      outcomes.opened++;
      socket.on('error', () => undefined);
      if (Math.random() < 0.5) socket.write('hello');
      if (Math.random() < 0.2) socket.end();
      return socket;
    },
    () => {
      if (own.signal.aborted) outcomes.aborted++;
      else outcomes.failed++;
      return undefined;
    },
  );
  const kind = Math.random();
  if (kind < 0.2) own.abort();
  else if (kind < 0.7) for (let turns = Math.random() * 6; turns > 0; turns--) await turn();
  else await sleep(Math.random() * 3);
  own.abort();
  (await settled)?.destroy();
}

async function run(count: number): Promise<void> {
  let left = count;
  const client = async (): Promise<void> => {
    while (left-- > 0) await connectOnce();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  await eventually('the end of all flows', () => weir.connections().flows.length === 0);
  // Resets that wait for a reader, and closed sockets.
  await sleep(6_000);
}

interface Sample {
  readonly descriptors: number;
  readonly timers: number;
  readonly heap: number;
}

function sample(): Sample {
  for (let collected = 0; collected < 4; collected++) collect();
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  return {
    descriptors: openDescriptors(process.pid),
    timers,
    heap: process.memoryUsage().heapUsed,
  };
}

await run(Math.min(CONNECTS / 10, 5_000));
const before = sample();
await run(CONNECTS);
const after = sample();
console.log(outcomes);
console.log({ before, after });
origin.close();
const isClean =
  after.descriptors <= before.descriptors &&
  after.timers <= before.timers &&
  after.heap - before.heap < HEAP_GROWTH &&
  outcomes.failed === 0;
if (!isClean) process.exitCode = 1;
