import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDescriptors } from '@weir/io/sockets';
import { type Config, Weir } from '../../../src/index.ts';
import { disposable } from '../../../../../test/support/data/address.ts';
import { echoServer } from '../../../../../test/support/peers/servers.ts';
import { socksConnect } from '../../../../../test/support/peers/socks-client.ts';
import { uncollected } from '../../../../../test/support/process/uncollected.ts';
import { roundTrip } from '../../../../../test/support/read.ts';

const inbound = [
  { tag: 'socks', protocol: 'socks', port: 0 },
  {
    tag: 'ss',
    protocol: 'shadowsocks',
    port: 0,
    settings: { method: 'aes-128-gcm', password: 'x' },
  },
] as const;
const config: Config = {
  inbound,
  outbound: [
    { tag: 'direct', protocol: 'freedom' },
    { tag: 'other', protocol: 'freedom' },
  ],
};

/** Starts an instance, uses it and stops it. */
async function used(port: number): Promise<WeakRef<Weir>> {
  const weir = await Weir.start({ config, onLog: () => undefined });
  const listeners = weir.listenerEvents();
  const [socks] = weir.listeners();
  using socket = disposable(
    await socksConnect({ host: '127.0.0.1', port: socks?.port ?? 0 }, { host: '127.0.0.1', port }),
  );
  await roundTrip(socket, 'hello');
  await weir.pick('default', 'other', { persist: false });
  await weir.reload({ config: { ...config, inbound: inbound.slice(0, 1) } });
  await listeners.next();
  await weir.stop({ graceMs: 0 });
  return new WeakRef(weir);
}

test('instances that have stopped leave neither memory, descriptors nor timers', async () => {
  await using echo = await echoServer();
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  // What modules make once, at the first use, may refer to the first instance.
  await used(echo.port);
  const before = { descriptors: openDescriptors(), timers: timers() };
  const refs: WeakRef<Weir>[] = [];
  for (let round = 0; round < 10; round++) refs.push(await used(echo.port));
  const left = await uncollected(refs);
  assert.equal(left.length, 0);
  assert.ok(openDescriptors() <= before.descriptors, 'descriptors');
  assert.ok(timers() <= before.timers, 'timers');
});
