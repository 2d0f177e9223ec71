import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestDrain } from '@weir/server/control';
import { disposable, open } from '../support/data/address.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, PORT, Site } from '../support/netns/site.ts';
import { tunConfig } from '../support/netns/tun-config.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { Weir } from '../support/process/weir.ts';
import { roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';

inOwnNetwork(import.meta.url, () => {
  test('a device goes on in a drain, which does not wait for its flows, and a stop cuts them', async () => {
    await using _ = await Site.make();
    const config = tunConfig(freedom() + socksIn('socks', 'listen = "127.0.0.1"'));
    await using weir = await Weir.start(config, { control: true, args: ['--grace', '1s'] });
    const target = { host: FAR.host, port: PORT.echo };
    using before = disposable(await open(target));
    before.on('error', () => undefined);
    assert.equal(String(await roundTrip(before, 'before')), 'before');
    using socks = disposable(await socksConnect(weir.address('socks'), target));
    assert.equal(String(await roundTrip(socks, 'socks')), 'socks');

    const begun = await requestDrain(weir.controlPath, 'begin');
    assert.deepEqual([begun.flows, begun.sessions, begun.device_flows], [1, 1, 1]);
    assert.equal(String(await roundTrip(before, 'goes on')), 'goes on');
    using during = disposable(await open(target));
    during.on('error', () => undefined);
    assert.equal(String(await roundTrip(during, 'during')), 'during');
    socks.destroy();
    await eventually('nothing but flows of the device', async () => {
      const { flows, sessions, device_flows } = await requestDrain(weir.controlPath, 'show');
      return flows + sessions === 0 && device_flows === 2;
    });
    const line = 'drained: nothing is left; 2 flows of devices, which go on until the stop\n';
    await weir.child.until(
      'the end of the drain',
      ({ stderr }) => stderr.includes(line) || undefined,
    );
    assert.equal((await weir.stop()).code, 0);
    assert.match(weir.child.stderr, / cut 2 flows that were still open after 1s\n$/);
  });

  test('a stop with a long --grace waits for the flows of a device, and serves others meanwhile', async () => {
    await using _ = await Site.make();
    await using weir = await Weir.start(tunConfig(freedom()), {
      control: true,
      args: ['--grace', '1h'],
    });
    const target = { host: FAR.host, port: PORT.echo };
    using flow = disposable(await open(target));
    assert.equal(String(await roundTrip(flow, 'before')), 'before');
    // Nothing but the device is left.
    await requestDrain(weir.controlPath, 'begin');
    await weir.child.until('its end', ({ stderr }) => stderr.includes('drained: ') || undefined);
    weir.child.signal('SIGTERM');
    await weir.child.until(
      'the stop',
      ({ stderr }) => stderr.includes('has 1h to end') || undefined,
    );
    using during = disposable(await open(target));
    assert.equal(String(await roundTrip(during, 'during')), 'during');
    assert.equal(String(await roundTrip(flow, 'goes on')), 'goes on');
    flow.destroy();
    during.destroy();
    assert.deepEqual(await within(weir.child.exited, 'its end'), { code: 0, signal: null });
    assert.doesNotMatch(weir.child.stderr, /cut \d/);
  });
});
