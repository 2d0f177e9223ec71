import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REQUESTS_A_TURN } from '../../src/limits.ts';
import type { DeviceHandlers, PacketDevice } from '@weir/base/ip';
import { Netstack } from '../../src/netstack.ts';
import { TcpFlag } from '../../src/wire/tcp.ts';
import {
  endpoint,
  segment,
  SERVER4,
  tcpPacket,
  udpPacket,
} from '../../../../test/support/data/ip-packets.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { plainTraits } from '../../../../test/support/netstack/device-pair.ts';
import { settings } from '../../../../test/support/netstack/stack-pair.ts';
import { PacketCollector } from '../../../../test/support/netstack/stack-node.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';

const CLIENT = '192.0.2.1';
const DNS = endpoint('172.19.0.2', 53);
const SYN = { destinationPort: SERVER4.port, flags: TcpFlag.SYN };

/** A stack on a device whose packets and turns of the event loop are in the hands of the test. */
function rig() {
  let handlers: DeviceHandlers | undefined;
  const device: PacketDevice = {
    name: 'device',
    traits: plainTraits(),
    output: new PacketCollector(),
    closed: new Promise(() => undefined),
    dropped: 0,
    start: (given) => (handlers = given),
    flush: () => undefined,
    close: () => undefined,
  };
  const tasks: (() => void)[] = [];
  const requests: number[] = [];
  const links: { close(): void }[] = [];
  const stack = new Netstack({
    device,
    clock: new ManualClock(),
    random: new SeededRandom(1),
    addresses: 'any',
    isPaced: false,
    settings,
    soon: (task) => tasks.push(task),
    handlers: {
      onConnection: ({ source }) => requests.push(source.port),
      onAssociation: ({ source, link }) => {
        requests.push(source.port);
        links.push(link);
      },
    },
  });
  /** The device delivers packets in one turn. @returns the requests that were passed on. */
  const receive = (...packets: readonly Uint8Array[]): number[] => {
    for (const buffer of packets) {
      const rest = { start: 0, end: buffer.length, checksumVouched: false, segmentSize: 0 };
      handlers?.onPacket({ buffer, ...rest });
    }
    handlers?.onDrained();
    return requests.splice(0);
  };
  /** Runs what was deferred to the next turn, at most. */
  const turn = (): number[] => {
    for (const task of tasks.splice(0)) task();
    return requests.splice(0);
  };
  return { stack, receive, turn, links };
}

const datagram = (port: number, destination = SERVER4): Uint8Array =>
  udpPacket(Buffer.from('data'), { source: endpoint(CLIENT, port), destination });

const syn = (port: number): Uint8Array =>
  tcpPacket(segment({ ...SYN, sourcePort: port }), undefined, {
    source: endpoint(CLIENT, port),
    destination: SERVER4,
  });

const ports = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => from + i);

test('requests are passed on a few in each turn, in order, however often the stack runs in one', () => {
  const { receive, turn } = rig();
  const all = ports(1024, 3 * REQUESTS_A_TURN + 1);
  const passed = receive(...all.map((port) => datagram(port)));
  assert.deepEqual(passed, all.slice(0, REQUESTS_A_TURN));
  assert.deepEqual(receive(), []);
  for (let left = 3; left > 0; left--) {
    const next = turn();
    assert.ok(next.length <= REQUESTS_A_TURN);
    passed.push(...next);
  }
  assert.deepEqual(passed, all);
  assert.deepEqual(turn(), []);
  assert.deepEqual(receive(datagram(40_000)), [40_000]);
});

test('a flood of one kind delays a connection, or a query, for no turn', () => {
  const { receive, turn } = rig();
  const flood = ports(1024, 1000).map((port) => datagram(port));
  receive(...flood);
  turn();
  receive(syn(50_000), datagram(50_001, DNS));
  const passed = turn();
  assert.ok(passed.includes(50_000) && passed.includes(50_001), passed.join());
  const others = rig();
  others.receive(...ports(1024, 1000).map((port) => datagram(port, DNS)));
  others.receive(syn(50_000), datagram(50_001));
  const next = others.turn();
  assert.ok(next.includes(50_000) && next.includes(50_001), next.join());
});

test('a request that waits keeps its datagrams, and events of open flows do not wait', () => {
  const { receive, turn, stack, links } = rig();
  receive(datagram(1024));
  receive(...ports(2000, 100).map((port) => datagram(port)));
  assert.equal(stack.flows, 101);
  links[0]?.close();
  assert.equal(stack.flows, 100);
  while (turn().length > 0);
  assert.equal(links.length, 101);
});
