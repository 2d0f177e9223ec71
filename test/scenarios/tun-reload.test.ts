import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { beforeEach, describe, test } from 'node:test';
import { disposable, open } from '../support/data/address.ts';
import { blackhole, freedom, rule } from '../support/process/config.ts';
import { Control, errorOf } from '../support/process/control.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { connectError, Datagrams, failureOf } from '../support/netns/program.ts';
import { FAR, hasDevice, ip, mtuOf, PORT, sentBy, Site } from '../support/netns/site.ts';
import { tunConfig, tunIn, type TunOptions } from '../support/netns/tun-config.ts';
import { roundTrip } from '../support/read.ts';
import { endFlows } from '../support/netns/tun-config.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const configOf = (options?: TunOptions, rules = ''): string =>
  tunConfig(freedom() + blackhole() + rules, options);

const CONFIG = configOf();

const LIVE = ', which would end its live connections; restart to apply it';

inOwnNetwork(import.meta.url, () => {
  describe('a reload', () => {
    let weir: Weir;
    let control: Control;

    shared(async (use) => {
      use(await Site.make());
      weir = use(await Weir.start(CONFIG, { env: { RUST_LOG: 'debug' } }));
      control = await Control.of(weir);
    });

    const closeAll = (): Promise<unknown> => endFlows(control);

    beforeEach(async () => {
      await closeAll();
      await control.apply(CONFIG);
    });

    /** A connection by the device that works. */
    async function live() {
      const socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      await roundTrip(socket, 'hello');
      return socket;
    }

    test('swaps settings and rules under live flows', async () => {
      using socket = await live();
      await using datagrams = await Datagrams.open();
      await datagrams.echo(Buffer.from('before'), FAR.host);
      const settings = 'max_flows = 2\nudp_idle_timeout = 30';
      const { swapped, reused, restarted } = await control.apply(
        configOf(
          { settings, inbound: 'sniffing = true' },
          rule('block', `port = ["${PORT.http}"]`),
        ),
      );
      assert.deepEqual([swapped, reused.includes('tun'), restarted], [['tun'], false, []]);
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
      await datagrams.echo(Buffer.from('after'), FAR.host);
      // The two flows are all that max_flows permits.
      using third = disposable(connect({ host: FAR.host, port: PORT.echo }));
      await control.logged('max_flows (2) is reached');
      assert.equal(third.connecting, true);
      await control.apply(configOf({}, rule('block', `port = ["${PORT.http}"]`)));
      assert.equal(await connectError(FAR.host, PORT.http), 'ECONNREFUSED');
    });

    test('without udp no datagram passes, and connections do', async () => {
      await control.apply(configOf({ settings: 'udp = false' }));
      await using datagrams = await Datagrams.open();
      await datagrams.send(Buffer.from('dropped'), PORT.echo, FAR.host);
      using _socket = await live();
      const { flows } = await control.connections();
      assert.deepEqual(
        flows.map(({ network }) => network),
        ['tcp'],
      );
      assert.deepEqual(datagrams.received, []);
    });

    test('max_flows = 0 drops every flow', async () => {
      await control.apply(configOf({ settings: 'max_flows = 0' }));
      const { packets } = sentBy('weir0');
      using socket = disposable(connect({ host: FAR.host, port: PORT.echo }));
      await eventually('a SYN at the device', () => sentBy('weir0').packets > packets);
      assert.equal(socket.connecting, true);
      assert.deepEqual((await control.connections()).flows, []);
    });

    test('udp_idle_timeout ends an association, and 0 ends it after the first datagram', async () => {
      for (const seconds of [1, 0]) {
        await control.apply(configOf({ settings: `udp_idle_timeout = ${seconds}` }));
        await using datagrams = await Datagrams.open();
        const data = Buffer.from('x');
        // On a slow machine a second may pass before the response: then it is sent again.
        if (seconds > 0) await datagrams.echo(data, FAR.host);
        else await datagrams.send(data, PORT.echo, FAR.host);
        await eventually('the end of the association', async () => {
          return (await control.connections()).flows.length === 0;
        });
      }
    });

    test('restarts the device for another MTU only without live flows', async () => {
      const next = configOf({ settings: 'mtu = 9000' });
      const socket = await live();
      await control.write(next);
      const refused = await control.post();
      assert.deepEqual(
        [refused.status, errorOf(refused)],
        [422, `inbound tun: mtu changed${LIVE}`],
      );
      await control.logged('mtu changed');
      assert.equal(mtuOf('weir0'), 1500);
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
      socket.destroy();
      await closeAll();
      assert.deepEqual((await control.apply(`${next}# again`)).restarted, ['tun']);
      assert.equal(mtuOf('weir0'), 9000);
      using _socket = await live();
    });

    test('a device that cannot be made leaves the one that there was', async () => {
      await closeAll();
      ip('link add taken type veth peer name other');
      await control.write(configOf({ name: 'taken' }));
      const refused = await control.post();
      ip('link delete taken');
      assert.equal(refused.status, 500);
      assert.match(errorOf(refused), /taken/);
      using _socket = await live();
      assert.ok(hasDevice('weir0'));
    });

    test('a removed inbound keeps its device until its last flow ends', async () => {
      const socket = await live();
      const other = { tag: 'other', name: 'weir1', address: [], routes: [] };
      assert.deepEqual((await control.apply(configOf(other))).removed, ['tun']);
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
      assert.equal(await connectError(FAR.host, PORT.echo), 'ECONNREFUSED');
      socket.end();
      await eventually('the device to go', () => !hasDevice('weir0'));
    });

    test('an inbound that comes back while its device drains takes it up again', async () => {
      using socket = await live();
      const other = { tag: 'other', name: 'weir1', address: [], routes: [] };
      await control.apply(configOf(other));
      await control.apply(CONFIG);
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
      using _another = await live();
    });

    test('a device moves to another tag with its flows', async () => {
      using socket = await live();
      await control.apply(configOf({ tag: 'renamed' }));
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
      using another = await live();
      const { flows } = await control.connections();
      assert.deepEqual(flows.map(({ inbound }) => inbound).sort(), ['renamed', 'tun']);
      another.destroy();
    });

    test('the name of a device moves to another tag with other settings', async () => {
      await control.apply(configOf({ tag: 'renamed', settings: 'mtu = 1400' }));
      assert.equal(mtuOf('weir0'), 1400);
      using _socket = await live();
    });

    test('two inbounds exchange the names of their devices', async () => {
      const small = { address: [], routes: [] };
      const both = (a: string, b: string): string =>
        configOf({ tag: 'a', name: a, ...small }) +
        tunIn({ tag: 'b', name: b, ...small, settings: 'mtu = 1400' });
      await control.apply(both('weir1', 'weir2'));
      assert.deepEqual([mtuOf('weir1'), mtuOf('weir2')], [1500, 1400]);
      await control.apply(both('weir2', 'weir1'));
      assert.deepEqual([mtuOf('weir1'), mtuOf('weir2')], [1400, 1500]);
    });

    test('a device with live flows is not closed for the name or the routes of another', async () => {
      using socket = await live();
      await control.write(configOf({ tag: 'renamed', settings: 'mtu = 1400' }));
      const refused = await control.post();
      assert.deepEqual(
        [refused.status, errorOf(refused)],
        [
          422,
          `inbound tun: the name or a route of its device is needed for inbound renamed${LIVE}`,
        ],
      );
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
    });

    test('the routes of a device move to one of another tag and name', async () => {
      await control.apply(configOf({ tag: 'renamed', name: 'weir3' }));
      assert.deepEqual([hasDevice('weir0'), hasDevice('weir3')], [false, true]);
      using _socket = await live();
    });

    test('a device that was removed by another program ends its flows, and is logged', async () => {
      using _socket = await live();
      ip('link delete weir0');
      await control.logged('inbound tun: the device weir0 has failed');
      await eventually('the end of the flow', async () => {
        return (await control.connections()).flows.length === 0;
      });
      assert.deepEqual((await control.apply(`${CONFIG}# again`)).restarted, ['tun']);
      using _another = await live();
    });

    test('a killed flow is reset, and the others go on', async () => {
      const socket = await live();
      const failure = failureOf(socket);
      const [flow] = await control.flowsTo(FAR.host);
      using other = await live();
      await control.api.ask('DELETE', `/v1/connections/${flow?.id}`);
      assert.equal(await failure, 'ECONNRESET');
      await roundTrip(other, 'still here');
    });
  });
});
