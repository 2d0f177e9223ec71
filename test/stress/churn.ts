/**
 * Churn: short connections of every kind through one Weir on kernel sockets, with resets,
 * half-closes, kills over the API and reloads, and every byte that must arrive compared. At the end
 * descriptors, memory and timers must be where they were.
 *
 * `npm run stress -- churn`, with WEIR_STRESS_SECONDS (60; a release is tested for an hour, 3600)
 * and WEIR_STRESS_CLIENTS (48). Exit status 1 when a client was not served as it should be or
 * anything is left.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { MODE, startOrigin } from '../soak/origin.ts';
import { RunningWeir } from '../soak/running-weir.ts';
import { connectionsOf } from '../soak/sample.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { receiveBody, sendBody } from '../support/data/pattern.ts';
import { readAll, readUpTo } from '../support/read.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { compare, sampleAtRest } from './before-and-after.ts';

const SECONDS = Number(process.env['WEIR_STRESS_SECONDS'] ?? 60);
const CLIENTS = Number(process.env['WEIR_STRESS_CLIENTS'] ?? 48);
const WARM_UP_SECONDS = 5;
const PATIENCE_MS = 20_000;
/** Flows that come through this inbound are killed, and no others. */
const DOOMED = 'doomed';

process.env['WEIR_IO_CHECK'] ??= '1';

const configuration = (spare: boolean): string =>
  API + socksIn() + socksIn(DOOMED) + (spare ? socksIn('spare') : '') + freedom();

await using origin = await startOrigin();
await using weir = await RunningWeir.start('weir', configuration(false));

const below = (limit: number): number => Math.floor(Math.random() * limit);

async function withFlow<T>(
  mode: number,
  use: (socket: Socket) => Promise<T>,
  inbound = 'socks',
): Promise<T> {
  const target = { host: '127.0.0.1', port: origin.port };
  const socket = await socksConnect(weir.address(inbound), target);
  socket.on('error', () => undefined);
  try {
    socket.write(Buffer.of(mode));
    return await use(socket);
  } finally {
    socket.destroy();
  }
}

/** Fails when a flow takes too long: an event may have been lost. */
async function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = sleep(PATIENCE_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`${what}: not over after ${PATIENCE_MS} ms`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

const KINDS: Readonly<Record<string, () => Promise<void>>> = {
  echo: () =>
    withFlow(MODE.echo, async (socket) => {
      const sent = randomBytes(1 + below(50_000));
      socket.end(sent);
      const { data, clean } = await readAll(socket);
      if (!clean || !data.equals(sent)) throw new Error(`${data.length} of ${sent.length} bytes`);
    }),
  'bulk up': () =>
    withFlow(MODE.digest, async (socket) => {
      const sent = await sendBody(socket, 1_000_000 + below(3_000_000));
      socket.end();
      const { data } = await readAll(socket);
      if (data.toString() !== JSON.stringify(sent)) throw new Error(`digest ${data.toString()}`);
    }),
  'the server ends first': () =>
    withFlow(MODE.body, async (socket) => {
      await receiveBody(socket);
      socket.end('late');
    }),
  'a reset of the server': () =>
    withFlow(MODE.reset, async (socket) => {
      if ((await readAll(socket)).clean) throw new Error('a reset arrived as an end');
    }),
  'a reset of the client': () =>
    withFlow(MODE.body, async (socket) => {
      await readUpTo(socket, 1);
      socket.resetAndDestroy();
    }),
  'a client that leaves': () => withFlow(MODE.silence, () => sleep(below(20))),
  killed: () =>
    withFlow(
      MODE.silence,
      (socket) => new Promise<void>((resolve) => void socket.resume().once('close', resolve)),
      DOOMED,
      // Also in the middle of its handshake.
    ).catch(() => undefined),
};
const NAMES = Object.keys(KINDS);

const served = new Map<string, number>();
const failures = new Map<string, number>();
const count = (counts: Map<string, number>, name: string): unknown =>
  counts.set(name, (counts.get(name) ?? 0) + 1);
const total = (counts: Map<string, number>): number =>
  [...counts.values()].reduce((sum, each) => sum + each, 0);

/** Clients, kills and reloads until the time is over. */
async function churn(seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  let clients = CLIENTS;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      const name = NAMES[below(NAMES.length)] ?? 'echo';
      count(served, name);
      try {
        await inTime(name, KINDS[name]?.() ?? Promise.resolve());
      } catch (error) {
        count(failures, `${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    clients--;
  };
  const killer = async (): Promise<void> => {
    while (clients > 0) {
      await sleep(20);
      // One by its number, then all of the inbound.
      const { flows } = await connectionsOf(weir);
      const one = flows.find(({ inbound }) => inbound === DOOMED);
      if (one) await weir.api.ask('DELETE', `/v1/connections/${one.id}`);
      await weir.api.ask('DELETE', `/v1/connections?inbound=${DOOMED}`);
      count(served, 'kills over the API');
    }
  };
  const reloader = async (): Promise<void> => {
    for (let spare = true; clients > 0; spare = !spare) {
      await weir.write(configuration(spare));
      await weir.api.json('POST', '/v1/reload');
      count(served, 'reloads');
      await sleep(500);
    }
    await weir.write(configuration(false));
    await weir.api.json('POST', '/v1/reload');
  };
  await Promise.all([killer(), reloader(), ...Array.from({ length: CLIENTS }, client)]);
}

await churn(WARM_UP_SECONDS);
const before = await sampleAtRest(weir);
served.clear();
await churn(SECONDS);
const after = await sampleAtRest(weir);

console.log('Served:', Object.fromEntries(served));
const clean = compare(before, after, total(served));
for (const [what, times] of failures) console.log(`FAILED ${times}: ${what}`);
for (const line of weir.complaints) console.log(`LOGGED: ${line}`);
const ok = clean && failures.size === 0 && weir.complaints.length === 0 && weir.alive;
console.log(ok ? 'Nothing is left.' : 'FAILED');
process.exitCode = ok ? 0 : 1;
