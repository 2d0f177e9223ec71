import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { toEndpoint, type IpEndpoint, type PacketDevice } from '@weir/base/ip';
import {
  openKernelTun,
  ownAddressQuery,
} from '../../../../src/net/sockets/kernel/kernel-sockets.ts';
import { connectKernel } from '../../../../src/net/sockets/kernel/kernel-dial.ts';
import { ANY_DEVICE, NO_DEVICE } from '../../../../src/platform/sockets/bindings.ts';
import {
  ENOBUFS,
  ENOMEM,
  SOL_SOCKET,
  SO_BINDTOIFINDEX,
} from '../../../../src/platform/sockets/linux.ts';
import { bindConnected } from '../../../../src/platform/netlink/loop-guard.ts';
import { getOption } from '../../../../src/platform/sockets/socket-options.ts';
import { faultyNetlink } from '../../../../../../test/support/links/netlink-faults.ts';
import { inOwnNetwork } from '../../../../../../test/support/netns/own-network.ts';
import { EVERYTHING, TUN } from '../../../../../../test/support/netns/tun-config.ts';
import { eventually } from '../../../../../../test/support/wait.ts';

const ip = (command: string): string =>
  execFileSync('ip', command.split(' '), { encoding: 'utf8' });

function endpoint(host: string, port = 0): IpEndpoint {
  const found = toEndpoint(host, port);
  assert.ok(found);
  return found;
}

/** Other interfaces, each with a network of its own. */
const OTHERS = 40;

const PLAN = {
  name: TUN.name,
  mtu: 1500,
  addresses: [
    { address: '172.19.0.1', prefix: 30 },
    { address: 'fd19::1', prefix: 126 },
  ],
  // More specific than routes of the uplinks that come and go.
  routes: [...EVERYTHING, '192.0.2.128/25', '198.18.128.0/17'].map((route) => {
    const [address = '', prefix] = route.split('/');
    return { address, prefix: Number(prefix) };
  }),
};

inOwnNetwork(import.meta.url, () => {
  describe('the choice of a device', () => {
    const { io, calls, requests, loseAnswers, loseNotifications, left } = faultyNetlink();
    const reported: string[] = [];
    let device: PacketDevice;
    let uplink = 0;
    let second = 0;

    const deviceFor = (host: string): number => io.devices?.deviceFor(endpoint(host)) ?? -2;

    before(async () => {
      for (let i = 0; i < OTHERS; i++) {
        ip(`link add other${i} type veth peer name peer${i}`);
        ip(`address add 10.50.${i}.1/24 dev other${i}`);
        ip(`link set other${i} up`);
      }
      ip('link add uplink type veth peer name downlink');
      ip('address add 10.9.9.1/24 dev uplink');
      ip('address add fd09::1/64 dev uplink nodad');
      ip('link set uplink up');
      ip('link set downlink up');
      ip('link add uplink2 type veth peer name downlink2');
      ip('address add 10.7.7.1/24 dev uplink2');
      ip('link set uplink2 up');
      ip('route add default via 10.9.9.2');
      ip('route add default via fd09::2');
      uplink = calls.ifNameToIndex('uplink');
      second = calls.ifNameToIndex('uplink2');
      device = openKernelTun(io, PLAN, {
        onRestored: () => undefined,
        onManyRoutes: () => undefined,
        onUnrestored: (_device, reason) => reported.push(reason),
      });
      await eventually('the routes of the device', () => deviceFor('198.51.100.1') === uplink);
    });

    after(async () => {
      device.close();
      await device.closed;
      io.close();
    });

    test('costs one question for a new destination, whatever the number of interfaces', () => {
      const count = requests();
      for (let i = 0; i < 200; i++) assert.equal(deviceFor(`203.0.113.${i}`), uplink);
      assert.equal(requests() - count, 200);
      for (let i = 0; i < 200; i++) assert.equal(deviceFor(`203.0.113.${i}`), uplink);
      assert.equal(requests() - count, 200);
    });

    test('costs no more while interfaces and routes change', async () => {
      const count = requests();
      let questions = 0;
      for (let i = 0; i < 10; i++) {
        ip(`link set other${i} down`);
        ip(`link set other${i} up`);
        ip('route add 192.0.2.0/24 via 10.7.7.2');
        await eventually('the new route', () => {
          questions++;
          return deviceFor('192.0.2.200') === second;
        });
        ip('route delete 192.0.2.0/24');
        await eventually('the old route', () => {
          questions++;
          return deviceFor('192.0.2.200') === uplink;
        });
      }
      // Besides, the own device may have been looked at, and all routes listed.
      const asked = requests() - count;
      assert.ok(asked <= questions + OTHERS, `${asked} requests for ${questions} questions`);
    });

    test('leaves addresses of this host and other interfaces to the kernel', () => {
      assert.equal(deviceFor('127.0.0.1'), ANY_DEVICE);
      assert.equal(deviceFor('10.9.9.1'), ANY_DEVICE);
      assert.equal(deviceFor('172.19.0.1'), ANY_DEVICE);
      assert.equal(deviceFor('10.50.3.7'), ANY_DEVICE);
      assert.equal(deviceFor('2001:db8::1'), uplink);
    });

    test('has no device for other addresses of the own subnets', () => {
      assert.equal(deviceFor('172.19.0.2'), NO_DEVICE);
      assert.equal(deviceFor('fd19::2'), NO_DEVICE);
      assert.equal(deviceFor('172.19.0.5'), uplink);
    });

    test('follows metrics and rules', async () => {
      ip('route add 198.18.0.0/15 via 10.7.7.2 metric 50');
      ip('route add 198.18.0.0/15 via 10.9.9.2 metric 60');
      await eventually('the lesser metric', () => deviceFor('198.18.200.1') === second);
      ip('route delete 198.18.0.0/15 metric 50');
      await eventually('the other one', () => deviceFor('198.18.200.1') === uplink);
      ip('route delete 198.18.0.0/15');
      ip('route add 198.18.0.0/15 via 10.7.7.2 table 77');
      // Behind the main table, where it is looked for when the devices of this process do not count.
      ip('route delete default');
      ip('rule add to 198.18.200.0/24 lookup 77 priority 40000');
      await eventually('the rule', () => deviceFor('198.18.200.1') === second);
      assert.equal(deviceFor('198.18.201.1'), NO_DEVICE);
      ip('route add default via 10.9.9.2');
      await eventually('the main table', () => deviceFor('198.18.200.1') === uplink);
      ip('rule delete priority 40000');
    });

    test('follows an interface that goes down and comes again', async () => {
      ip('route add default via 10.7.7.2 metric 500');
      ip('link set uplink down');
      await eventually('the other way', () => deviceFor('203.0.113.9') === second);
      ip('link set uplink up');
      ip('route add default via 10.9.9.2');
      await eventually('the first way', () => deviceFor('203.0.113.9') === uplink);
      ip('route delete default metric 500');
      ip('address add fd09::1/64 dev uplink nodad');
      ip('route add default via fd09::2');
    });

    for (const [name, number] of [
      ['ENOBUFS', ENOBUFS],
      ['ENOMEM', ENOMEM],
    ] as const) {
      test(`is right when an answer is lost with ${name}, and when all are`, () => {
        for (const losses of [1, 2, 50]) {
          loseAnswers(losses, number);
          for (let i = 0; i < 30; i++) {
            assert.equal(deviceFor(`203.0.${losses}.${i}`), uplink, `${losses} lost, ${i}`);
            if (left() === 0) break;
          }
          assert.equal(deviceFor(`127.3.${losses}.${number}`), ANY_DEVICE);
          loseAnswers(0, 0);
        }
      });
    }

    test('is right again after notifications were lost', async () => {
      loseNotifications(1, ENOBUFS);
      ip('route add 192.0.2.0/24 via 10.7.7.2');
      await eventually('the loss', () => left() === 0);
      await eventually('the route', () => deviceFor('192.0.2.200') === second);
      ip('route delete 192.0.2.0/24');
      await eventually('the old route', () => deviceFor('192.0.2.200') === uplink);
    });

    test('the device is restored also when the news of its change are lost', async () => {
      loseNotifications(1, ENOBUFS);
      ip(`link set ${TUN.name} mtu 1300`);
      await eventually('the loss', () => left() === 0);
      await eventually('the MTU', () => ip(`link show dev ${TUN.name}`).includes('mtu 1500'));
    });

    test('a device that cannot be restored at first is restored later, and reported', async () => {
      assert.deepEqual(reported, []);
      loseAnswers(1e9, ENOBUFS);
      ip(`link set ${TUN.name} mtu 1300`);
      await eventually('the failure', () => reported.length > 0);
      loseAnswers(0, 0);
      await eventually('the MTU', () => ip(`link show dev ${TUN.name}`).includes('mtu 1500'));
    });

    test('a dial with a choice that fails leaks no descriptor', async () => {
      const { signal } = new AbortController();
      const before = calls.debug.open().length;
      const choice = io.devices;
      io.devices = {
        deviceFor: () => {
          throw new Error('a defect');
        },
        answersItself: () => false,
      };
      try {
        await assert.rejects(connectKernel(io, '203.0.113.1', 9, { signal }));
      } finally {
        io.devices = choice;
      }
      assert.equal(calls.debug.open().length, before);
    });

    test('a question to the own DNS service is not asked', async () => {
      const { signal } = new AbortController();
      await assert.rejects(connectKernel(io, '172.19.0.1', 53, { signal }), {
        code: 'unreachable_network',
      });
    });

    test('addresses of this host are found without a list of all', () => {
      const isOwn = ownAddressQuery(io);
      const count = requests();
      for (const host of ['10.9.9.1', 'fd09::1', '10.50.39.1', '127.0.0.9', '::1', '172.19.0.1']) {
        assert.equal(isOwn(host), true, host);
      }
      for (const host of ['10.9.9.2', '203.0.113.1', '2001:db8::1', 'example.test', '172.19.0.2']) {
        assert.equal(isOwn(host), false, host);
      }
      assert.equal(requests() - count, 10);
    });
  });

  describe('sockets that are connected when a device comes', () => {
    test('stay on their interface, those of Node and those that connect included', async () => {
      const { io, calls } = faultyNetlink();
      const enough = new AbortController();
      const { signal } = enough;
      /** The devices of all sockets of this process that are bound to one. */
      const bound = (): number[] =>
        readdirSync('/proc/self/fd').flatMap((name) => {
          const fd = Number(name);
          const isForeign = !calls.debug.open().includes(fd);
          if (isForeign) calls.debug.adopt(fd);
          const device = getOption(io, fd, SOL_SOCKET, SO_BINDTOIFINDEX) ?? 0;
          if (isForeign) calls.debug.disown(fd);
          return device === 0 ? [] : [device];
        });
      // Nothing responds there: the connection stays in its first state.
      const dialling = connectKernel(io, '10.9.9.77', 9, { signal }).catch(() => undefined);
      const datagrams = createSocket('udp4');
      datagrams.connect(9, '203.0.113.5');
      await once(datagrams, 'connect');
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const local = await connectKernel(io, '127.0.0.1', port, { signal });
      assert.deepEqual(bound(), []);
      const routes = [...PLAN.routes, { address: '10.9.9.64', prefix: 26 }];
      const device = openKernelTun(io, { ...PLAN, routes });
      const uplink = calls.ifNameToIndex('uplink');
      // The one that connects and the one of Node, not the one on the loopback.
      assert.deepEqual(bound(), [uplink, uplink]);
      // Another pass asks for no destination of those.
      const asked: number[] = [];
      bindConnected(io, (peer) => {
        asked.push(peer.port);
        return ANY_DEVICE;
      });
      assert.ok(asked.includes(port));
      assert.ok(!asked.includes(9));
      device.close();
      await device.closed;
      enough.abort(new Error('enough'));
      await dialling;
      local.link.destroy();
      datagrams.close();
      server.close();
      io.close();
    });
  });
});
