import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressText, isSameEndpoint, type IpEndpoint } from '../../../../src/ip/ip-endpoint.ts';
import { Drops } from '../../../../src/netstack/drops.ts';
import type { TcpFlow } from '../../../../src/netstack/flows/tcp-flow.ts';
import { IcmpMessages } from '../../../../src/netstack/ip/icmp-messages.ts';
import {
  icmpErrorSize,
  writeIcmpError,
  type IcmpError,
} from '../../../../src/netstack/ip/icmp-replies.ts';
import { IpOutput } from '../../../../src/netstack/ip/ip-output.ts';
import { ICMP_ERRORS_TO_ADDRESS_A_SECOND } from '../../../../src/netstack/ip/wire-limits.ts';
import { LARGEST_PACKET } from '../../../../src/netstack/limits.ts';
import type { TraceEvent } from '../../../../src/netstack/trace.ts';
import { IcmpMessage, readIcmp } from '../../../../src/netstack/wire/icmp.ts';
import {
  amid,
  CLIENT4,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  segment,
  SERVER4,
  SERVER6,
  tcpPacket,
  transportPacket,
  udpPacket,
  type PacketParts,
} from '../../../support/data/ip-packets.ts';
import { plainTraits } from '../../../support/netstack/device-pair.ts';
import { PacketCollector } from '../../../support/netstack/stack-node.ts';
import { SeededRandom } from '../../../support/simnet/seeded-random.ts';

const NOW = 1000;
const IN_FLIGHT = 77;

const shown = ({ port, ...address }: IpEndpoint): string =>
  `${addressText({ port, ...address })} ${port}`;

/** ICMP of a stack with a connection and an association from the client's endpoint to the server's. */
function icmp({ isTraced = true } = {}) {
  const device = new PacketCollector();
  const output = new IpOutput(device, plainTraits(), 1);
  const traced: TraceEvent[] = [];
  const reports: string[] = [];
  const drops = new Drops(isTraced ? (event) => traced.push(event) : undefined);
  const isOurs = (local: IpEndpoint, remote: IpEndpoint): boolean =>
    local.port === CLIENT4.port &&
    (isSameEndpoint(remote, SERVER4) || isSameEndpoint(remote, SERVER6));
  const flow = { connection: { isInFlight: (sequence: number) => sequence === IN_FLIGHT } };
  const messages = new IcmpMessages({
    random: new SeededRandom(1),
    output,
    drops,
    tcp: {
      // Of a flow only its connection is asked.
      find: (local, remote) => (isOurs(local, remote) ? (flow as unknown as TcpFlow) : undefined),
      onPathMtu: (local, remote) => reports.push(`mtu ${shown(local)} to ${shown(remote)}`),
      onUnreachable: (local, remote, sequence) =>
        reports.push(`unreachable ${shown(local)} to ${shown(remote)} ${sequence}`),
    },
    hasUdp: isOurs,
  });
  const receive = (bytes: Uint8Array): void =>
    messages.receive(parsed(amid(bytes, 5, 9), 5), false, NOW);
  return { messages, device, output, traced, reports, drops, receive };
}

/** What a router reports of a packet. */
function reported(error: IcmpError, cause: Uint8Array, mtu = 0): Uint8Array {
  const packet = parsed(cause);
  const bytes = new Uint8Array(icmpErrorSize(packet));
  writeIcmpError(error, packet, packet.destination, mtu, bytes, 0);
  return bytes;
}

const tcp = (sequence = IN_FLIGHT, parts: PacketParts = {}): Uint8Array =>
  tcpPacket(segment({ flags: 0x10, sequence }), pattern(1460), parts);

const icmpOf = (type: number, parts: PacketParts, body: Uint8Array): Uint8Array =>
  transportPacket(parts === IPV6 ? 58 : 1, Uint8Array.of(type, 0, 0, 0, ...body), 2, parts);

describe('an echo request', () => {
  test('is replied to with its own data', () => {
    for (const [parts, request, reply] of [
      [{}, 8, 'echo reply'],
      [IPV6, 128, 'echo reply'],
    ] as const) {
      const { device, receive, output } = icmp();
      receive(icmpOf(request, parts, pattern(60)));
      assert.equal(device.packets.length, 1);
      const message = new IcmpMessage();
      const packet = parsed(device.packets[0] ?? new Uint8Array(0));
      assert.equal(readIcmp(packet, false, message), undefined);
      assert.equal(message.kind, reply);
      assert.deepEqual(packet.bytes.slice(message.start + 4, message.end), pattern(60));
      assert.equal(output.packets, 1);
    }
  });

  test('has no reply when there is no room', () => {
    const { device, receive, output } = icmp();
    device.room = 0;
    receive(icmpOf(8, {}, pattern(60)));
    assert.equal(device.packets.length, 0);
    assert.equal(output.packets, 0);
  });
});

test('other messages cause nothing, and a damaged one is dropped with its reason', () => {
  const damaged = icmp();
  const bytes = icmpOf(8, {}, pattern(60));
  bytes[40] = (bytes[40] ?? 0) ^ 1;
  damaged.receive(bytes);
  const drop = { kind: 'packet-dropped', reason: 'icmp checksum', bytes: bytes.length };
  assert.deepEqual([damaged.traced, damaged.device.packets], [[drop], []]);
  const { device, receive, drops, reports } = icmp();
  for (const type of [0, 5, 11, 12, 13]) receive(icmpOf(type, {}, new Uint8Array(60)));
  receive(reported('hop limit', tcp()));
  for (const type of [3, 4, 129, 135]) receive(icmpOf(type, IPV6, new Uint8Array(60)));
  assert.deepEqual([device.packets.length, drops.count, reports.length], [0, 0, 0]);
});

describe('a packet that was too big', () => {
  for (const [name, cause, remote, isBelieved] of [
    ['of a connection', tcp(), SERVER4, true],
    ['of a connection by IPv6', tcp(IN_FLIGHT, IPV6), SERVER6, true],
    ['of an association', udpPacket(pattern(1460)), SERVER4, true],
    ['that is not in flight', tcp(IN_FLIGHT + 1), SERVER4, false],
    [
      'of no connection',
      tcp(IN_FLIGHT, { destination: endpoint('203.0.113.1', 443) }),
      endpoint('203.0.113.1'),
      false,
    ],
    [
      'of no association',
      udpPacket(pattern(1460), { source: { ...CLIENT4, port: 9 } }),
      SERVER4,
      false,
    ],
    ['of another protocol', ipPacket(47, pattern(1460)), SERVER4, false],
  ] as const) {
    test(`${name} ${isBelieved ? 'lowers' : 'does not lower'} the MTU of its path`, () => {
      const { messages, receive, reports } = icmp();
      assert.equal(messages.pathMtu(remote, NOW), LARGEST_PACKET);
      receive(reported('too big', cause, 1400));
      assert.equal(messages.pathMtu(remote, NOW), isBelieved ? 1400 : LARGEST_PACKET);
      assert.equal(reports.length, isBelieved ? 1 : 0);
      receive(reported('too big', cause, 1450));
      assert.equal(reports.length, isBelieved ? 1 : 0, 'it is not lower');
    });
  }

  test('is reported to its connection', () => {
    const { receive, reports } = icmp();
    receive(reported('too big', tcp(), 1400));
    assert.deepEqual(reports, ['mtu 192.0.2.1 40000 to 198.51.100.2 443']);
  });
});

test('a segment that was not delivered is reported to its connection, and nothing else is', () => {
  const { receive, reports } = icmp();
  receive(reported('host unreachable', tcp(5)));
  receive(reported('port unreachable', udpPacket(pattern(9))));
  receive(icmpOf(3, {}, new Uint8Array(10)));
  assert.deepEqual(reports, ['unreachable 192.0.2.1 40000 to 198.51.100.2 443 5']);
});

describe('a report', () => {
  const cause = udpPacket(pattern(100));

  test('is sent to the source, about packets that may cause one', () => {
    const { messages, device, traced } = icmp();
    assert.equal(messages.report('port unreachable', parsed(cause), NOW), true);
    assert.deepEqual(device.packets, [reported('port unreachable', cause)]);
    assert.deepEqual(traced, [{ kind: 'icmp-sent', error: 'port unreachable' }]);
    const own = parsed(reported('no route', cause));
    assert.equal(messages.report('port unreachable', own, NOW), false);
    assert.equal(messages.reportCopy('no route', cause, NOW), true);
    assert.equal(messages.reportCopy('no route', cause.subarray(0, 19), NOW), false);
    assert.equal(device.packets.length, 2);
  });

  test('is limited, and not counted when there is no room', () => {
    for (const isTraced of [true, false]) {
      const { messages, device, traced } = icmp({ isTraced });
      device.room = 3;
      let sent = 0;
      for (let count = 0; count <= ICMP_ERRORS_TO_ADDRESS_A_SECOND; count++) {
        if (messages.report('no route', parsed(cause), NOW)) sent++;
      }
      assert.equal(sent, 3);
      assert.equal(device.packets.length, 3);
      assert.deepEqual(traced.at(-1), isTraced ? { kind: 'response-limited' } : undefined);
      assert.equal(traced.length, isTraced ? 4 : 0);
    }
  });
});
