import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { disposable, open } from '../support/data/address.ts';
import { freedom } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { connectError, Datagrams, upload } from '../support/netns/program.ts';
import { FAR, ip, NEAR, PORT, sentBy, Site } from '../support/netns/site.ts';
import { endFlows, TUN, tunConfig, type TunOptions } from '../support/netns/tun-config.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { roundTrip } from '../support/read.ts';
import { eventually } from '../support/wait.ts';
import type { Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const SIZE = 1 << 20;

/** How Weir reaches the far end, each with the port of its server there. */
const WAYS: ReadonlyMap<string, readonly [port: number, way: Way]> = new Map([
  ['SOCKS', [1080, { protocol: 'socks' }]],
  ['VLESS over TLS', [1081, { protocol: 'vless', carrier: { network: 'tcp', tls: true } }]],
  ['VMess over WebSocket', [1082, { protocol: 'vmess', carrier: { network: 'ws', tls: true } }]],
  ['Trojan over gRPC', [1083, { protocol: 'trojan', carrier: { network: 'grpc', tls: true } }]],
  ['Hysteria 2', [1084, { protocol: 'hysteria2' }]],
]);

const wayTo = (way: Way, server: string, port: number): string =>
  weirOut(way, { host: server, port }).replace('server = "127.0.0.1"', `server = "${server}"`);

const DNS = `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n`;

inOwnNetwork(import.meta.url, () => {
  describe('with routes that cover everything', () => {
    let site: Site;
    let weir: Weir;
    let control: Control;

    shared(async (use) => {
      site = use(await Site.make());
      use(
        await site.startWeir(
          [...WAYS.values()]
            .map(([port, way]) => weirIn(way, { port, more: `listen = "${FAR.host}"` }))
            .join('') + freedom(),
        ),
      );
      weir = use(await Weir.start(tunConfig(freedom())));
      control = await Control.of(weir);
    });

    /** A device is only replaced when it has no live flows. */
    async function replaceDevice(options: TunOptions): Promise<void> {
      await endFlows(control);
      const { restarted } = await control.apply(tunConfig(freedom(), options));
      assert.deepEqual(restarted, ['tun']);
    }

    for (const [name, [port, way]] of WAYS) {
      test(`${name} leaves by the uplink`, async () => {
        await control.apply(tunConfig(wayTo(way, FAR.host, port)));
        const [inside, outside] = [sentBy(TUN.name).bytes, sentBy(NEAR.device).bytes];
        assert.deepEqual(await upload(FAR.host, SIZE), bodyOf(SIZE));
        const [own, carried] = [
          sentBy(TUN.name).bytes - inside,
          sentBy(NEAR.device).bytes - outside,
        ];
        assert.ok(own > SIZE && own < 1.5 * SIZE, `${own} bytes by the device`);
        assert.ok(carried > SIZE, `${carried} bytes by the uplink`);
        await using datagrams = await Datagrams.open();
        await datagrams.echo(Buffer.from(name), FAR.host);
      });
    }

    test('queries for names, and the probes of a balancer, leave by the uplink', async () => {
      const way: Way = { protocol: 'socks' };
      const [one, other] = [wayTo(way, 'one.far.test', 1080), wayTo(way, FAR.host, 9999)];
      const pool = '[[balancer]]\ntag = "pool"\noutbounds = ["other", "out"]\nprobe_interval = 0\n';
      const route = '[route]\ndefault = "pool"\n';
      const rest = one + other.replace('"out"', '"other"') + pool + route;
      await control.apply(DNS + tunConfig(rest));
      // The first choice is down, which only a probe can have found out.
      await eventually('a flow by the member that is up', async () => {
        return (await connectError(FAR.host, PORT.echo)) === 'connected';
      });
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      await roundTrip(socket, 'hello');
      const flows = await control.flowsTo(FAR.host);
      assert.deepEqual([...new Set(flows.map(({ outbound }) => outbound))], ['out']);
      assert.ok((await site.counts()).queries > 0);
    });

    test('a default route with a greater metric is used while the device has the lesser', async () => {
      const routes = ['0.0.0.0/0', '::/0'];
      ip('route delete default');
      ip('-6 route delete default');
      ip(`route add default via ${FAR.gateway} metric 100`);
      ip(`-6 route add default via ${FAR.gateway6} metric 2048`);
      await replaceDevice({ name: 'weir1', routes });
      const before = sentBy('weir1').bytes;
      for (const host of [FAR.host, FAR.host6]) {
        assert.deepEqual(await upload(host, SIZE), bodyOf(SIZE));
      }
      assert.ok(sentBy('weir1').bytes - before > 2 * SIZE);
    });

    test('an uplink that goes down and comes again, and another way out, are found', async () => {
      await replaceDevice({});
      ip('link set uplink down');
      assert.notEqual(await connectError(FAR.host, PORT.echo), 'connected');
      ip('link set uplink up');
      ip(`route add default via ${FAR.gateway}`);
      await eventually('the uplink', async () => {
        return (await connectError(FAR.host, PORT.echo)) === 'connected';
      });
      site.addUplink();
      ip('route replace default via 10.7.7.2 dev uplink2');
      // After several changes in a row destinations are asked for again within 200 ms.
      await eventually('the new way out', async () => {
        const before = sentBy('uplink2').bytes;
        assert.deepEqual(await upload(FAR.host, SIZE), bodyOf(SIZE));
        return sentBy('uplink2').bytes - before > SIZE;
      });
    });
  });
});
