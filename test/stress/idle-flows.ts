/**
 * Holds idle flows through one Weir on kernel sockets: each carries a byte there and back, rests,
 * and carries another. At the end descriptors, memory and timers must be where they were.
 *
 * `npm run stress -- idle`, with WEIR_STRESS_FLOWS (20000) and WEIR_STRESS_SECONDS of rest (60).
 * The limit of open files is raised where that is allowed; otherwise fewer flows are held, and the
 * output says so.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openFlow } from '../../bench/load/flow.ts';
import { MODE, startOrigin } from '../../bench/load/origin.ts';
import { RunningWeir } from '../soak/running-weir.ts';
import { connectionsOf } from '../soak/sample.ts';
import { portOf } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { openDescriptors } from '../support/process/proc.ts';
import { compare, sampleAtRest } from './before-and-after.ts';

const SECONDS = Number(process.env['WEIR_STRESS_SECONDS'] ?? 60);
const WANTED = Number(process.env['WEIR_STRESS_FLOWS'] ?? 20_000);
const SCRIPT = fileURLToPath(import.meta.url);
const AT_ONCE = 100;

/** Two sockets a flow here, for the client and the origin, and two in Weir. */
const PER_FLOW = 2;
const NEEDED = PER_FLOW * WANTED + 1000;
const limit = Number(
  /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? NEEDED,
);
if (limit < NEEDED && process.env['WEIR_STRESS_RAISED'] === undefined) {
  // Node raises its own soft limit and knows no call for the hard one, which root may raise.
  const raised = spawnSync(
    'sh',
    ['-c', 'ulimit -n "$0" 2>/dev/null; exec "$@"', String(NEEDED), process.execPath, SCRIPT],
    { stdio: 'inherit', env: { ...process.env, WEIR_STRESS_RAISED: '1' } },
  );
  process.exit(raised.status ?? 1);
}
const FLOWS = Math.min(WANTED, Math.floor((limit - 1000) / PER_FLOW));
if (FLOWS < WANTED) console.log(`The limit of open files allows ${FLOWS} flows.`);

process.env['WEIR_IO_CHECK'] ??= '1';

const origin = await startOrigin();
await using weir = await RunningWeir.start('weir', API + socksIn() + freedom());
const via = {
  host: '127.0.0.1',
  port: portOf(weir.address('socks')),
  target: { host: '127.0.0.1', port: origin.port },
};

/** A flow with the means to wait for its next byte. */
class Flow {
  #socket: Socket | undefined;
  #echoed = Promise.withResolvers<void>();

  async open(): Promise<void> {
    this.#socket = await openFlow(via, () => this.#echoed.resolve());
    this.#socket.on('error', (error) => this.#echoed.reject(error));
    await this.exchange(Buffer.of(MODE.echo, 0x78));
  }

  async exchange(bytes: Uint8Array): Promise<void> {
    this.#echoed = Promise.withResolvers<void>();
    this.#socket?.write(bytes);
    await this.#echoed.promise;
  }

  close(): void {
    this.#socket?.destroy();
  }
}

/** Does something with each, some at a time. */
async function each(flows: readonly Flow[], work: (flow: Flow) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let flow = flows[next++]; flow; flow = flows[next++]) await work(flow);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function hold(count: number, seconds: number): Promise<void> {
  const flows = Array.from({ length: count }, () => new Flow());
  await each(flows, (flow) => flow.open());
  await sleep(seconds * 1000);
  const live = (await connectionsOf(weir)).flows.length;
  if (live !== count) throw new Error(`${live} of ${count} flows are live`);
  await each(flows, (flow) => flow.exchange(Buffer.of(0x79)));
  console.log(`${count} flows held, ${openDescriptors(weir.pid)} descriptors open`);
  for (const flow of flows) flow.close();
}

// Tables keep the size that they once had, so that the first time only sets the mark.
await hold(FLOWS, 0);
const before = await sampleAtRest(weir);
await hold(FLOWS, SECONDS);
const after = await sampleAtRest(weir);
const clean = compare(before, after, FLOWS);
for (const line of weir.complaints) console.log(`LOGGED: ${line}`);
const ok = clean && weir.complaints.length === 0 && weir.alive;
console.log(ok ? 'Nothing is left.' : 'FAILED');
origin.close();
process.exitCode = ok ? 0 : 1;
