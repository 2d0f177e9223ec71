import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Config, Weir } from '../../packages/weir/src/index.ts';
import { disposable } from '../support/data/address.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { roundTrip } from '../support/read.ts';

/*
 * `npm run stress -- instances [--rounds 1000]`: starts and stops instances of the library in this process, each with a
 * flow, a reload and streams of events. Descriptors, timers and the heap must be as before.
 */

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: { rounds: { type: 'string', default: '1000' } },
});
const rounds = Number(values.rounds);

/** Instances before the first measurement: the first ones load modules and compile. */
const WARM_UP = 50;
/** Bytes by which the heap may grow: V8 goes on to compile and to optimize. */
const MAX_GROWTH = 2_000_000;

const config: Config = {
  inbound: [
    { tag: 'socks', protocol: 'socks', port: 0 },
    {
      tag: 'ss',
      protocol: 'shadowsocks',
      port: 0,
      settings: { method: 'aes-128-gcm', password: 'x' },
    },
    { tag: 'trojan', protocol: 'trojan', port: 0, settings: { users: [{ password: 'x' }] } },
  ],
  outbound: [
    { tag: 'direct', protocol: 'freedom' },
    { tag: 'other', protocol: 'freedom' },
    {
      tag: 'far',
      protocol: 'vless',
      server: '127.0.0.1',
      port: 1,
      settings: { id: 'b831381d-6324-4d53-ad4f-8cda48b30811' },
    },
  ],
  balancer: [{ tag: 'both', outbounds: ['far'] }],
  route: { rule: [{ outbound: 'other', domain_suffix: ['example.com'] }] },
};

await using echo = await echoServer();

async function round(): Promise<void> {
  const weir = await Weir.start({ config, onLog: () => undefined });
  const flows = weir.flowEvents();
  const listeners = weir.listenerEvents();
  const traffic = weir.traffic().next();
  const [socks] = weir.listeners();
  const address = { host: '127.0.0.1', port: socks?.port ?? 0 };
  using socket = disposable(await socksConnect(address, echo.target));
  await roundTrip(socket, 'hello');
  await weir.pick('default', 'other', { persist: false });
  await weir.reload({ config: { ...config, inbound: config.inbound?.slice(0, 2) } });
  await listeners.next();
  await flows.next();
  await weir.stop({ graceMs: 0 });
  await traffic;
}

interface Held {
  readonly heap: number;
  readonly descriptors: number;
  readonly resources: number;
}

/** Idle pipes are closed after two periods of 5 s. */
const REST_MS = 12_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function held(): Promise<Held> {
  await sleep(REST_MS);
  // Finalizers run in turns of their own after a collection.
  for (let at = 0; at < 5; at++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return {
    heap: process.memoryUsage().heapUsed,
    descriptors: readdirSync('/proc/self/fd').length,
    resources: process.getActiveResourcesInfo().length,
  };
}

for (let at = 0; at < WARM_UP; at++) await round();
const before = await held();
const began = performance.now();
for (let at = 0; at < rounds; at++) await round();
const seconds = (performance.now() - began) / 1000;
const after = await held();
console.log(`${rounds} instances in ${seconds.toFixed(1)} s`);
console.log('before', before);
console.log('after ', after);
assert.equal(after.descriptors, before.descriptors, 'descriptors');
assert.equal(after.resources, before.resources, 'timers and handles');
assert.ok(after.heap - before.heap <= MAX_GROWTH, 'heap');
