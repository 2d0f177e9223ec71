import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { disposable, open } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { connectError } from '../support/netns/program.ts';
import { FAR, ip, PORT, sentBy, Site } from '../support/netns/site.ts';
import { EVERYTHING, TUN, tunConfig, tunIn } from '../support/netns/tun-config.ts';
import { roundTrip } from '../support/read.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import type { Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

/** Ways whose sockets are opened by the kernel layer and by Node, each with the port of its server. */
const WAYS: ReadonlyMap<string, readonly [port: number, way: Way]> = new Map([
  ['SOCKS', [1080, { protocol: 'socks' }]],
  ['VLESS over TLS', [1081, { protocol: 'vless', carrier: { network: 'tcp', tls: true } }]],
  ['Trojan over gRPC', [1083, { protocol: 'trojan', carrier: { network: 'grpc', tls: true } }]],
  ['Hysteria 2', [1084, { protocol: 'hysteria2' }]],
]);

inOwnNetwork(import.meta.url, () => {
  describe('a device that comes by a reload', () => {
    let site: Site;

    shared(async (use) => {
      site = use(await Site.make());
      use(
        await site.startWeir(
          [...WAYS.values()]
            .map(([port, way]) => weirIn(way, { port, more: `listen = "${FAR.host}"` }))
            .join('') + freedom(),
        ),
      );
    });

    async function reloads(outbound: string, host: string): Promise<void> {
      const config = API + socksIn('socks', 'listen = "127.0.0.1"') + outbound;
      await using weir = await Weir.start(config);
      const control = await Control.of(weir);
      const target = { host, port: PORT.echo };
      using socket = disposable(await socksConnect(weir.address('socks'), target));
      assert.equal(String(await roundTrip(socket, 'before')), 'before');
      assert.deepEqual((await control.apply(config + tunIn())).built, ['inbound tun']);
      for (const word of ['one', 'two', 'three']) {
        assert.equal(String(await roundTrip(socket, word)), word);
      }
      using another = disposable(await socksConnect(weir.address('socks'), target));
      assert.equal(String(await roundTrip(another, 'after')), 'after');
    }

    for (const host of [FAR.host, FAR.host6]) {
      test(`leaves the flows of other inbounds to ${host} as they are`, () =>
        reloads(freedom(), host));
    }

    for (const [name, [port, way]] of WAYS) {
      test(`leaves a flow by ${name} as it is`, () => {
        const out = weirOut(way, { host: FAR.host, port });
        return reloads(out.replace('server = "127.0.0.1"', `server = "${FAR.host}"`), FAR.host);
      });
    }
  });

  describe('a device that another program changes', () => {
    let weir: Weir;
    let control: Control;

    shared(async (use) => {
      use(await Site.make());
      weir = use(await Weir.start(tunConfig(freedom() + socksIn('socks', 'listen = "127.0.0.1"'))));
      control = await Control.of(weir);
    });

    const addressesOf = (device: string): string => ip(`address show dev ${device}`);
    const routesOf = (device: string): string =>
      ip(`route show dev ${device}`) + ip(`-6 route show dev ${device}`);

    const isWhole = (): boolean => {
      const [addresses, routes] = [addressesOf(TUN.name), routesOf(TUN.name)];
      return (
        TUN.addresses.every((address) => addresses.includes(address)) &&
        EVERYTHING.every((route) => routes.includes(route)) &&
        /[<,]UP[,>]/.test(addresses)
      );
    };

    /** What leaves goes by the device again. */
    async function carries(): Promise<void> {
      for (const host of [FAR.host, FAR.host6]) {
        const { packets } = sentBy(TUN.name);
        assert.equal(await connectError(host, PORT.echo), 'connected');
        assert.ok(sentBy(TUN.name).packets > packets, host);
      }
    }

    afterEach(async () => {
      await eventually('the device as it was', isWhole);
    });

    const CHANGED = 'inbound tun: another program has changed the device weir0';

    /** Waits until lines name what was restored; each is written after that. */
    const restored = (...parts: readonly string[]): Promise<true> =>
      weir.child.until(`${parts.join(' and ')} in lines about the device`, () => {
        const named = control.lines
          .filter((line) => line.includes(CHANGED))
          .flatMap((line) => line.split('; restored: ')[1]?.split(', ') ?? []);
        return new Set(named).isSupersetOf(new Set(parts)) || undefined;
      });

    test('has its routes and addresses again after it was set down and up, with a line', async () => {
      const target = { host: FAR.host, port: PORT.echo };
      using socket = disposable(await socksConnect(weir.address('socks'), target));
      assert.ok(isWhole());
      ip(`link set ${TUN.name} down`);
      ip(`link set ${TUN.name} up`);
      await eventually('the device as it was', isWhole);
      await carries();
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
      await restored('the route 0.0.0.0/1', 'the address fd19::1/126');
    });

    test('is up again after it was set down', async () => {
      ip(`link set ${TUN.name} down`);
      await eventually('the device as it was', isWhole);
      await carries();
    });

    test('has a route, an address and its MTU again', async () => {
      ip('route delete 128.0.0.0/1');
      await eventually('the route', isWhole);
      ip(`address delete 172.19.0.1/30 dev ${TUN.name}`);
      await eventually('the address', isWhole);
      ip(`link set ${TUN.name} mtu 1300`);
      await eventually('the MTU', () => addressesOf(TUN.name).includes('mtu 1500'));
      await weir.child.until('a line about the MTU alone', () => {
        return control.lines.includes(`WARN svc_app: ${CHANGED}; restored: up`) || undefined;
      });
      await carries();
    });

    test('is not changed where nothing is missing', async () => {
      const before = control.count(CHANGED);
      ip('link add idle type veth peer name other');
      ip(`link set ${TUN.name} txqueuelen 900`);
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      await roundTrip(socket, 'hello');
      ip('link delete idle');
      assert.equal(control.count(CHANGED), before);
    });
  });
});
