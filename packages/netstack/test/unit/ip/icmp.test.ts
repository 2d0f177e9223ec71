import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressText, isSameAddress, isSameEndpoint, type IpEndpoint } from '@weir/base/ip';
import { Drops, type TraceEvent } from '../../../src/trace.ts';
import type { TcpFlow } from '../../../src/flows/tcp-flow.ts';
import { IcmpMessages } from '../../../src/ip/icmp-messages.ts';
import {
  IcmpErrorLimit,
  icmpErrorSize,
  mayCauseError,
  writeIcmpError,
  type IcmpError,
} from '../../../src/ip/icmp-replies.ts';
import { IpOutput } from '../../../src/ip/ip-output.ts';
import { ICMP_ERRORS_TO_ADDRESS_A_SECOND, LARGEST_PACKET } from '../../../src/limits.ts';
import { IcmpMessage, IcmpQuote, readIcmp, readQuote } from '../../../src/wire/icmp.ts';
import type { IpPacket } from '../../../src/wire/ip-packet.ts';
import {
  amid,
  CLIENT4,
  CLIENT6,
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
} from '../../../../../test/support/data/ip-packets.ts';
import { plainTraits } from '../../../../../test/support/netstack/device-pair.ts';
import { PacketCollector } from '../../../../../test/support/netstack/stack-node.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

const VERSIONS: readonly PacketParts[] = [{}, IPV6];
const isV6 = (parts: PacketParts): boolean => parts === IPV6;
const BEFORE = 9;
const REST = [0x12, 0x34, 0x56, 0x78] as const;

const icmpOf = (parts: PacketParts, type: number, code: number, ...body: number[]): Uint8Array =>
  transportPacket(isV6(parts) ? 58 : 1, Uint8Array.of(type, code, 0, 0, ...body), 2, parts);

/** One record for all messages, as in the stack: nothing of the one before may remain. */
const message = new IcmpMessage();
const quote = new IcmpQuote();

function read(bytes: Uint8Array): IcmpMessage {
  const memory = amid(bytes, BEFORE, 20);
  const packet = parsed(memory, BEFORE);
  assert.equal(readIcmp(packet, false, message), undefined);
  assert.deepEqual([message.version, message.start], [packet.version, packet.payload]);
  assert.deepEqual([message.payload, message.end], [packet.payload + 8, packet.end]);
  assert.equal(message.bytes, memory);
  return message;
}

test('messages have the types of RFC 792, 1191 and 4443', () => {
  const echo = { identifier: 0x1234, sequence: 0x5678 };
  for (const [parts, type, code, kind, fields] of [
    [{}, 8, 0, 'echo request', echo],
    [{}, 3, 0, 'unreachable', {}],
    [{}, 3, 3, 'unreachable', {}],
    [{}, 0, 0, 'echo reply', echo],
    [{}, 3, 4, 'too big', { mtu: 0x5678 }],
    [{}, 11, 0, 'time exceeded', {}],
    [{}, 12, 0, 'parameter problem', {}],
    [{}, 5, 1, 'other', {}],
    [{}, 129, 0, 'other', {}],
    [IPV6, 128, 0, 'echo request', echo],
    [IPV6, 1, 4, 'unreachable', {}],
    [IPV6, 129, 0, 'echo reply', echo],
    [IPV6, 2, 0, 'too big', { mtu: 0x12345678 }],
    [IPV6, 3, 0, 'time exceeded', {}],
    [IPV6, 4, 1, 'parameter problem', {}],
    [IPV6, 135, 0, 'other', {}],
    [IPV6, 8, 0, 'other', {}],
  ] as const) {
    const found = read(icmpOf(parts, type, code, ...REST, 1, 2, 3));
    const { identifier, sequence, mtu } = found;
    const expected = { identifier: 0, sequence: 0, mtu: 0, ...fields };
    assert.deepEqual([found.type, found.code, found.kind], [type, code, kind]);
    assert.deepEqual({ identifier, sequence, mtu }, expected, `${type} ${code}`);
  }
});

describe('what an error quotes', () => {
  const UDP4 = udpPacket(new Uint8Array(0));
  const UDP6 = udpPacket(new Uint8Array(0), IPV6);
  const fragment6 = (...flags: number[]): Uint8Array =>
    udpPacket(new Uint8Array(8), {
      ...IPV6,
      extensions: Uint8Array.of(17, 0, ...flags, 0, 0, 0, 1),
      nextHeader: 44,
    });
  const quoted = (parts: PacketParts, bytes: Uint8Array): boolean =>
    readQuote(read(icmpOf(parts, isV6(parts) ? 1 : 3, 1, 0, 0, 0, 0, ...bytes)), quote);

  test('is read from its header and first 8 bytes, in one record', () => {
    const tcp = tcpPacket(segment({ flags: 0x10, sequence: 0xcafebabe })).subarray(0, 28);
    const options = Uint8Array.of(0x46, ...UDP4.subarray(1, 20), 1, 1, 1, 0, ...UDP4.subarray(20));
    const other = new Uint8Array(8).fill(9);
    for (const [parts, bytes, expected] of [
      [{}, tcp, 'IPv4 protocol 6, ports 40000 443, sequence 3405691582, 40 bytes'],
      // Ports of the packet quoted before are not those of this one.
      [{}, ipPacket(47, other), 'IPv4 protocol 47, ports 0 0, sequence 0, 28 bytes'],
      [IPV6, UDP6, 'IPv6 protocol 17, ports 40000 443, sequence 0, 48 bytes'],
      [{}, UDP4, 'IPv4 protocol 17, ports 40000 443, sequence 0, 28 bytes'],
      [{}, options, 'IPv4 protocol 17, ports 40000 443, sequence 0, 28 bytes'],
      [IPV6, fragment6(0, 1), 'IPv6 protocol 17, ports 40000 443, sequence 0, 64 bytes'],
      [IPV6, ipPacket(58, other, IPV6), 'IPv6 protocol 58, ports 0 0, sequence 0, 48 bytes'],
    ] as const) {
      assert.equal(quoted(parts, bytes), true);
      const { version, protocol, source, destination, sequence, size } = quote;
      const ports = `${source.port} ${destination.port}`;
      const shown = `protocol ${protocol}, ports ${ports}, sequence ${sequence}, ${size} bytes`;
      assert.equal(`IPv${version} ${shown}`, expected);
      const [from, to] = isV6(parts) ? [CLIENT6, SERVER6] : [CLIENT4, SERVER4];
      assert.ok(isSameAddress(source, from) && isSameAddress(destination, to));
    }
  });

  test('is not read when any byte of that is missing, or the header is of another version or too short', () => {
    for (const [parts, bytes] of [
      [{}, UDP4],
      [IPV6, UDP6],
      [IPV6, fragment6(0, 1).subarray(0, 56)],
    ] as const) {
      assert.equal(quoted(parts, bytes), true);
      for (let size = 0; size < bytes.length; size++) {
        assert.equal(quoted(parts, bytes.subarray(0, size)), false, `${size} bytes`);
      }
    }
    assert.equal(quoted({}, UDP6), false);
    assert.equal(quoted(IPV6, Uint8Array.of(...UDP4, ...new Uint8Array(40))), false);
    assert.equal(quoted({}, Uint8Array.of(0x44, ...UDP4.subarray(1), ...new Uint8Array(8))), false);
  });

  test('is not read of a fragment other than the first, which has no ports', () => {
    for (const [first, second, isRead] of [
      [0x20, 0, true],
      [0x40, 0, true],
      [0x20, 1, false],
      [0x10, 0, false],
      [0, 1, false],
    ] as const) {
      const bytes = UDP4.slice();
      bytes.set([first, second], 6);
      assert.equal(quoted({}, bytes), isRead);
    }
    for (const [first, second, isRead] of [
      [0, 1, true],
      [0, 7, true],
      [0, 9, false],
      [0, 8, false],
      [0x80, 1, false],
    ] as const) {
      assert.equal(quoted(IPV6, fragment6(first, second)), isRead);
    }
  });
});

describe('an error', () => {
  /** The error about `cause`, written over other bytes, as its sender reads it. */
  function errorAbout(error: IcmpError, cause: IpPacket, mtu = 0): IcmpMessage {
    const size = icmpErrorSize(cause);
    const into = amid(new Uint8Array(size).fill(0xa5), 13, 9);
    assert.equal(writeIcmpError(error, cause, cause.destination, mtu, into, 13), size);
    assert.ok(into.subarray(13 + size).every((byte) => byte === 0xa5));
    const packet = parsed(into, 13, 13 + size);
    assert.equal(packet.end, 13 + size);
    assert.ok(isSameAddress(packet.destination, cause.source));
    assert.equal(mayCauseError(packet), false);
    // RFC 1812 §4.3.2.5: internetwork control; an error may be fragmented on its way.
    assert.equal(packet.trafficClass, packet.version === 6 ? 0 : 0xc0);
    assert.equal(packet.dontFragment, packet.version === 6);
    const found = read(into.subarray(13, 13 + size));
    assert.equal(readQuote(found, quote), true);
    return found;
  }
  const second = ({ bytes, start }: IcmpMessage): number =>
    new DataView(bytes.buffer).getUint32(start + 4);

  test('has the type, code and parameter of its version', () => {
    for (const [error, ...expected] of [
      ['no route', '3 0 unreachable', '1 0 unreachable'],
      ['host unreachable', '3 1 unreachable', '1 3 unreachable'],
      ['protocol unreachable', '3 2 unreachable', '4 1 parameter problem'],
      ['port unreachable', '3 3 unreachable', '1 4 unreachable'],
      ['prohibited', '3 13 unreachable', '1 1 unreachable'],
      ['too big', '3 4 too big', '2 0 too big'],
      ['hop limit', '11 0 time exceeded', '3 0 time exceeded'],
      ['reassembly', '11 1 time exceeded', '3 1 time exceeded'],
    ] as const) {
      for (const [index, parts] of VERSIONS.entries()) {
        const cause = parsed(amid(udpPacket(pattern(100), parts), 7, 5), 7);
        const found = errorAbout(error, cause, 1400);
        assert.equal(`${found.type} ${found.code} ${found.kind}`, expected[index]);
        const pointer = error === 'protocol unreachable' && isV6(parts) ? 6 : 0;
        assert.equal(second(found), error === 'too big' ? 1400 : pointer);
      }
    }
    const [four, six] = VERSIONS.map((parts) => parsed(udpPacket(pattern(8), parts)));
    assert.ok(four && six);
    assert.equal(second(errorAbout('too big', four, 70_000)), 0xffff);
    assert.equal(second(errorAbout('too big', six, 70_000)), 70_000);
    // The pointer is at the field that names the protocol.
    const extensions = Uint8Array.of(200, 0, 1, 4, 0, 0, 0, 0);
    const parts = { ...IPV6, extensions, nextHeader: 60 };
    const unknown = parsed(ipPacket(200, pattern(50), parts));
    assert.equal(second(errorAbout('protocol unreachable', unknown)), 40);
  });

  test('quotes what caused it, as much as it may', () => {
    for (const [parts, most] of [
      [{}, 576],
      [IPV6, 1280],
    ] as const) {
      for (const size of [0, 100, 3000]) {
        const bytes = tcpPacket(
          segment({ flags: 0x10, sequence: 0xcafebabe }),
          pattern(size),
          parts,
        );
        const found = errorAbout('port unreachable', parsed(bytes));
        const header = isV6(parts) ? 48 : 28;
        const length = Math.min(bytes.length, most - header);
        assert.equal(found.end - found.payload, length);
        assert.deepEqual(found.bytes.slice(found.payload, found.end), bytes.slice(0, length));
        assert.deepEqual([quote.sequence, quote.size], [0xcafebabe, bytes.length]);
      }
    }
  });

  test('is not caused by errors, groups, later fragments, nor what may be an error', () => {
    for (const parts of VERSIONS) {
      const [protocol, unreachable, echo] = isV6(parts) ? [58, 1, 128] : [1, 3, 8];
      const low = { ...parts, source: { ...(parts.source ?? CLIENT4), port: 53 } };
      for (const [bytes, mayCause] of [
        [udpPacket(pattern(8), parts), true],
        // From a low port: its first byte is not a type of ICMP.
        [udpPacket(pattern(8), low), true],
        [icmpOf(parts, echo, 0, ...REST), true],
        [icmpOf(parts, unreachable, 3, 0, 0, 0, 0, ...udpPacket(pattern(8), parts)), false],
        [icmpOf(parts, 99, 0, ...REST), false],
        [ipPacket(protocol, Uint8Array.of(echo), parts), true],
        // Without a type: what follows in memory is none.
        [ipPacket(protocol, new Uint8Array(0), parts), false],
      ] as const) {
        const memory = amid(bytes, 0, Uint8Array.of(echo));
        assert.equal(mayCauseError(parsed(memory, 0, bytes.length)), mayCause);
      }
    }
    const toGroup = { destination: endpoint('224.0.0.1', 9) };
    assert.equal(mayCauseError(parsed(udpPacket(pattern(8), toGroup))), false);
    const later = parsed(udpPacket(pattern(8)));
    later.fragmentOffset = 8;
    assert.equal(mayCauseError(later), false);
  });

  test('is limited to one address and in total, and counted where it is sent', () => {
    const limit = new IcmpErrorLimit(1);
    const toMany = (index: number): IpEndpoint => ({ ...CLIENT6, d: index });
    const taken = (count: number, now: number, to: (index: number) => IpEndpoint): number =>
      Array.from({ length: count }, (_, index) => limit.take(to(index), now)).filter(Boolean)
        .length;
    assert.equal(
      taken(1000, 0, () => CLIENT4),
      200,
    );
    assert.equal(
      taken(10, 0, () => SERVER4),
      10,
    );
    // A tenth of a second later 20 more to this address, 100 more in total.
    assert.equal(
      taken(1000, 100, () => CLIENT4),
      20,
    );
    assert.equal(taken(5000, 100, toMany), 1000 - 200 - 10 + 100 - 20);
    assert.equal(taken(5000, 10_000, toMany), 1000);
    // What the total forbids does not count for its address.
    assert.equal(
      taken(500, 10_000, () => CLIENT4),
      0,
    );
    assert.equal(
      taken(500, 10_100, () => CLIENT4),
      100,
    );
  });
});

const NOW = 1000;
const IN_FLIGHT = 77;

/** ICMP of a stack with a connection and an association from the client's endpoint to the server's. */
function icmp({ isTraced = true } = {}) {
  const device = new PacketCollector();
  const output = new IpOutput(device, plainTraits(), 1);
  const traced: TraceEvent[] = [];
  const reports: string[] = [];
  const drops = new Drops(isTraced ? (event) => traced.push(event) : undefined);
  const shown = (local: IpEndpoint, remote: IpEndpoint): string =>
    [local, remote].map((each) => `${addressText(each)} ${each.port}`).join(' to ');
  const isOurs = (local: IpEndpoint, remote: IpEndpoint): boolean =>
    local.port === CLIENT4.port &&
    (isSameEndpoint(remote, SERVER4) || isSameEndpoint(remote, SERVER6));
  const flow = { connection: { isInFlight: (sequence: number) => sequence === IN_FLIGHT } };
  const tcp: ConstructorParameters<typeof IcmpMessages>[3] = {
    // Of a flow only its connection is asked.
    find: (local, remote) => (isOurs(local, remote) ? (flow as unknown as TcpFlow) : undefined),
    onPathMtu: (local, remote) => reports.push(`mtu ${shown(local, remote)}`),
    onUnreachable: (local, remote, sequence) =>
      reports.push(`unreachable ${shown(local, remote)} ${sequence}`),
  };
  const messages = new IcmpMessages(new SeededRandom(1), output, drops, tcp, isOurs);
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

describe('a message to a stack', () => {
  test('that is an echo request is replied to with its own data, where there is room', () => {
    for (const parts of VERSIONS) {
      const { device, receive, output } = icmp();
      device.room = 1;
      const request = icmpOf(parts, isV6(parts) ? 128 : 8, 0, ...REST, ...pattern(60));
      receive(request);
      receive(request);
      assert.deepEqual([device.packets.length, output.packets], [1, 1]);
      const [reply = new Uint8Array(0)] = device.packets;
      const { source, destination } = parsed(reply);
      const [from, to] = isV6(parts) ? [SERVER6, CLIENT6] : [SERVER4, CLIENT4];
      assert.ok(isSameAddress(source, from) && isSameAddress(destination, to));
      const found = read(reply);
      assert.deepEqual(
        [found.kind, found.identifier, found.sequence],
        ['echo reply', 0x1234, 0x5678],
      );
      assert.deepEqual(found.bytes.slice(found.payload, found.end), pattern(60));
    }
  });

  test('of another type causes nothing, and a damaged one is dropped with its reason', () => {
    const { device, receive, drops, reports, traced } = icmp();
    const body = [...new Uint8Array(60)];
    for (const type of [0, 3, 5, 11, 12, 13]) receive(icmpOf({}, type, 0, ...body));
    for (const type of [3, 4, 129, 135]) receive(icmpOf(IPV6, type, 0, ...body));
    receive(reported('hop limit', tcp()));
    assert.deepEqual([device.packets.length, drops.count, reports.length], [0, 0, 0]);
    const bytes = icmpOf({}, 8, 0, ...body);
    bytes[40] = 1;
    receive(bytes);
    const drop = { kind: 'packet-dropped', reason: 'icmp checksum', bytes: bytes.length };
    assert.deepEqual([traced, device.packets], [[drop], []]);
  });

  const elsewhere = { destination: endpoint('203.0.113.1', 443) };
  for (const [what, cause, remote, isBelieved] of [
    ['of a connection', tcp(), SERVER4, true],
    ['of a connection by IPv6', tcp(IN_FLIGHT, IPV6), SERVER6, true],
    ['of an association', udpPacket(pattern(1460)), SERVER4, true],
    ['that is not in flight', tcp(IN_FLIGHT + 1), SERVER4, false],
    ['of no connection', tcp(IN_FLIGHT, elsewhere), elsewhere.destination, false],
    [
      'of no association',
      udpPacket(pattern(1460), { source: { ...CLIENT4, port: 9 } }),
      SERVER4,
      false,
    ],
    ['of another protocol', ipPacket(47, pattern(1460)), SERVER4, false],
  ] as const) {
    test(`of a packet ${what} that was too big ${isBelieved ? 'lowers' : 'does not lower'} the MTU`, () => {
      const { messages, receive, reports } = icmp();
      receive(reported('too big', cause, 1400));
      assert.equal(messages.pathMtu(remote, NOW), isBelieved ? 1400 : LARGEST_PACKET);
      receive(reported('too big', cause, 1450));
      assert.equal(reports.length, isBelieved ? 1 : 0, 'it is not lower');
    });
  }

  test('is reported to the connection whose segment it quotes, and to no other', () => {
    const { receive, reports } = icmp();
    receive(reported('too big', tcp(), 1400));
    receive(reported('host unreachable', tcp(5)));
    receive(reported('port unreachable', udpPacket(pattern(9))));
    receive(icmpOf({}, 3, 0, ...new Uint8Array(10)));
    const ends = '192.0.2.1 40000 to 198.51.100.2 443';
    assert.deepEqual(reports, [`mtu ${ends}`, `unreachable ${ends} 5`]);
  });
});

describe('a report of a stack', () => {
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
      assert.deepEqual([sent, device.packets.length], [3, 3]);
      assert.deepEqual(traced.at(-1), isTraced ? { kind: 'response-limited' } : undefined);
      assert.equal(traced.length, isTraced ? 4 : 0);
    }
  });
});
