import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { IcmpMessage, readIcmp } from '../../../src/wire/icmp.ts';
import {
  IpPacket,
  IpProtocol,
  packetPseudoSum,
  writePartialChecksum,
} from '../../../src/wire/ip-packet.ts';
import { readIpPacket } from '../../../src/wire/ip.ts';
import { hasWholeHeaderChain, NextHeader } from '../../../src/wire/ipv6.ts';
import { readTcpSegment, TcpFlag, TcpSegment } from '../../../src/wire/tcp.ts';
import { readUdpDatagram, UdpDatagram } from '../../../src/wire/udp.ts';
import {
  amid,
  CLIENT4,
  CLIENT6,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  repairIPv4Checksum,
  segment,
  SERVER4,
  SERVER6,
  tcpPacket,
  transportPacket,
  udpPacket,
  type PacketParts,
} from '../../../../../test/support/data/ip-packets.ts';

const { HOP_BY_HOP, ROUTING, FRAGMENT, NONE, DESTINATION_OPTIONS: OPTIONS } = NextHeader;
const { UDP, TCP, ICMP, ICMPV6 } = IpProtocol;
const { FIN, SYN, RST, PSH, ACK, URG } = TcpFlag;
const BEFORE = 7;
const DATA = pattern(32);

/** Why a packet is dropped, in memory that goes on with `after`; undefined if it is not. */
function fault(packet: Uint8Array, after: Uint8Array | number = 30, isVouched = false): unknown {
  const ip = new IpPacket();
  const bytes = amid(packet, BEFORE, after);
  const dropped = readIpPacket(bytes, BEFORE, BEFORE + packet.length, ip);
  if (dropped !== undefined || ip.isFragment) return dropped;
  switch (ip.protocol) {
    case TCP:
      return readTcpSegment(ip, isVouched, new TcpSegment());
    case UDP:
      return readUdpDatagram(ip, isVouched, new UdpDatagram());
    case ICMP:
    case ICMPV6:
      return readIcmp(ip, isVouched, new IcmpMessage());
    default:
      return undefined;
  }
}

/** Changes bytes of a packet; of a valid IPv4 header, whose checksum is made right. */
function changed(changes: Record<number, number>, bytes = udpPacket(DATA)): Uint8Array {
  for (const [at, value] of Object.entries(changes)) bytes[Number(at)] = value;
  return (bytes[0] ?? 0) >> 4 === 4 ? repairIPv4Checksum(bytes) : bytes;
}
const cut = (bytes: Uint8Array, from: number, to = bytes.length): Uint8Array[] =>
  Array.from({ length: to - from }, (_, index) => bytes.subarray(0, from + index));
const flipped = (bytes: Uint8Array, at: number): Uint8Array => {
  bytes[at < 0 ? bytes.length + at : at] = (bytes.at(at) ?? 0) ^ 0x10;
  return bytes;
};
const to = (host: string, parts: PacketParts = {}): Uint8Array =>
  udpPacket(DATA, { ...parts, destination: endpoint(host, 53) });
const from = (host: string, parts: PacketParts = {}): Uint8Array =>
  udpPacket(DATA, { ...parts, source: endpoint(host, 53) });

/** A packet whose first header, of the type `first`, begins these bytes after the IPv6 header. */
const chain = (first: number, ...after: readonly number[]): Uint8Array =>
  ipPacket(first, Uint8Array.from(after), IPV6);
const PADDED = [1, 4, 0, 0, 0, 0] as const;
/** `count` headers of destination options with nothing but padding, the last before `next`. */
const paddings = (count: number, next: number): number[] =>
  Array.from({ length: count }, (_, at) => [
    at === count - 1 ? next : OPTIONS,
    0,
    ...PADDED,
  ]).flat();
const withOptions = (...options: readonly number[]): Uint8Array =>
  chain(OPTIONS, NONE, (options.length - 6) >> 3, ...options);
const OTHERS = (count: number): number[] => Array.from({ length: count }, () => [0x1e, 0]).flat();
const LONG = [NONE, 1, 1, 12, ...new Uint8Array(12)] as const;
const ATOMIC = [NONE, 0, 0, 0, 0, 0, 0, 1] as const;
/** An IPv6 fragment with `size` bytes at `offset`. */
const fragment6 = (offset: number, more: boolean, size: number): Uint8Array => {
  const flags = offset | (more ? 1 : 0);
  return chain(FRAGMENT, UDP, 0, flags >> 8, flags & 0xff, 0, 0, 0, 1, ...pattern(size));
};
/** The last IPv4 fragment of a datagram. */
const last4 = (offset: number, size: number): Uint8Array =>
  changed({ 6: offset >> 11, 7: (offset >> 3) & 0xff }, ipPacket(UDP, pattern(size)));
const ipv4Options = changed(
  { 0: 0x46, 3: 24 },
  Uint8Array.of(...ipPacket(UDP, pattern(0)), 1, 1, 1, 0),
);

const tcpOf = (flags: number): Uint8Array => tcpPacket(segment({ flags }));
const echo = (parts: PacketParts, protocol: number): number[] => [
  parts === IPV6 && protocol === ICMPV6 ? 128 : 8,
  0,
  0,
  0,
  0,
  1,
  0,
  2,
];
const udpLength = (length: number): Uint8Array =>
  changed({ 24: length >> 8, 25: length & 0xff }, udpPacket(pattern(4)));
const withoutChecksum = (parts: PacketParts): Uint8Array => {
  const bytes = udpPacket(pattern(3), parts);
  return bytes.fill(0, bytes.length - 5, bytes.length - 3);
};

/** Packets by the reason for which they are dropped. */
const MALFORMED: Readonly<Record<string, readonly Uint8Array[]>> = {
  empty: [new Uint8Array(0)],
  'ipv4 truncated': cut(udpPacket(DATA), 1, 20),
  'ipv4 total length': [...cut(udpPacket(DATA), 20), changed({ 3: 19 }), changed({ 3: 61 })],
  'ipv4 header length': [
    changed({ 0: 0x44 }),
    changed({ 0: 0x4f }, ipPacket(UDP, DATA)),
    ...cut(ipv4Options, 20),
  ],
  'ipv4 ttl zero': [changed({ 8: 0 })],
  'ipv4 checksum': [flipped(udpPacket(DATA), 8)],
  'ipv4 fragment': [
    // Not a multiple of 8 bytes, though more is to come; without data; beyond 65,535 bytes.
    changed({ 3: 51, 6: 0x20 }),
    changed({ 3: 20, 6: 0x20 }),
    changed({ 6: 0x1f, 7: 0xff }),
    last4(65_512, 4),
    last4(8, 0),
  ],
  'ipv4 source': [
    '0.0.0.0',
    '0.1.2.3',
    '127.0.0.1',
    '127.9.9.9',
    '224.0.0.1',
    '239.1.1.1',
    '255.255.255.255',
  ].map((host) => from(host)),
  'ipv4 destination': ['0.0.0.0', '127.0.0.1'].map((host) => to(host)),
  'ipv4 source is destination': [from('198.51.100.2', { destination: SERVER4 })],
  'unknown version': [changed({ 0: 0x55 })],
  'ipv6 truncated': cut(udpPacket(DATA, IPV6), 1, 40),
  'ipv6 payload length': cut(udpPacket(DATA, IPV6), 40),
  'ipv6 hop limit zero': [udpPacket(DATA, { ...IPV6, hopLimit: 0 })],
  'ipv6 source': [
    ...['::', '::1', 'ff02::1', 'ff0e::1'].map((host) => from(host, { destination: SERVER6 })),
    // Mapped: not taken for an IPv4 endpoint.
    udpPacket(DATA, IPV6).fill(0, 8, 18).fill(0xff, 18, 20),
  ],
  'ipv6 destination': [
    ...['::', '::1'].map((host) => to(host, { source: CLIENT6 })),
    udpPacket(DATA, IPV6).fill(0, 24, 34).fill(0xff, 34, 36),
  ],
  'ipv6 source is destination': [from('2001:db8:1::2', { destination: SERVER6 })],
  'ipv6 too many extension headers': [chain(OPTIONS, ...paddings(9, NONE))],
  'ipv6 extension header': [
    chain(OPTIONS, UDP, 200, ...PADDED),
    // RFC 8200 §4.1: hop-by-hop options are first.
    chain(OPTIONS, HOP_BY_HOP, 0, ...PADDED, NONE, 0, ...PADDED),
  ],
  'ipv6 routing header': [0, 4].map((type) =>
    chain(ROUTING, NONE, 0, type, type === 0 ? 0 : 1, 0, 0, 0, 0),
  ),
  'ipv6 option': [
    // RFC 8200 §4.2: the two highest bits of an unknown type.
    ...[0x5e, 0x9e, 0xde, 0xc2].map((type) => withOptions(type, 4, 0, 0, 0, 0)),
    // They end with their header, and are 8 at most besides padding, in all headers together.
    withOptions(1, 5, 0, 0, 0, 0),
    withOptions(1, 3, 0, 0, 0, 1),
    withOptions(0x1e, 5, 0, 0, 0, 0),
    withOptions(...OTHERS(8), 0x1e, 0, 1, 2, 0, 0),
    chain(HOP_BY_HOP, OPTIONS, 0, ...OTHERS(3), OPTIONS, 0, ...OTHERS(3), NONE, 0, ...OTHERS(3)),
  ],
  'ipv6 fragment': [
    fragment6(65_528, false, 8),
    fragment6(8, false, 0),
    ...[0, 1, 4, 7].map((size) => fragment6(8, true, size)),
  ],
  'tcp truncated': [transportPacket(TCP, new Uint8Array(19), 16)],
  'tcp data offset': [0, 4, 6, 15].map((offset) => changed({ 32: offset << 4 }, tcpOf(ACK))),
  'tcp flags': [
    0,
    SYN | RST,
    SYN | FIN,
    FIN,
    RST | FIN,
    SYN | FIN | ACK,
    SYN | RST | ACK,
    PSH | URG,
    FIN | PSH | URG,
    0xff,
  ].map(tcpOf),
  'tcp checksum': [{}, IPV6].flatMap((parts) =>
    [-1, -110, -105].map((at) =>
      flipped(tcpPacket(segment({ flags: ACK }), pattern(100), parts), at),
    ),
  ),
  'tcp port zero': [
    tcpPacket(segment({ flags: SYN, sourcePort: 0 })),
    tcpPacket(segment({ flags: SYN, destinationPort: 0 })),
  ],
  'tcp to group': [
    tcpPacket(segment({ flags: SYN }), undefined, { destination: endpoint('224.0.0.1', 80) }),
  ],
  'udp truncated': [ipPacket(UDP, new Uint8Array(7))],
  'udp length': [0, 7, 13, 0xffff].map(udpLength),
  'udp checksum': [{}, IPV6].map((parts) => flipped(udpPacket(pattern(64), parts), -3)),
  'udp checksum missing': [withoutChecksum(IPV6)],
  'udp port zero': [udpPacket(DATA, { destination: { ...SERVER4, port: 0 } })],
  'icmp truncated': [
    ...cut(Uint8Array.from(echo({}, ICMP)), 0).map((bytes) => ipPacket(ICMP, bytes)),
    ...cut(Uint8Array.from(echo(IPV6, ICMPV6)), 0).map((bytes) => ipPacket(ICMPV6, bytes, IPV6)),
  ],
  'icmp version': [ipPacket(ICMPV6, pattern(8)), ipPacket(ICMP, pattern(8), IPV6)],
  'icmp checksum': [
    flipped(transportPacket(ICMP, Uint8Array.from(echo({}, ICMP)), 2), -1),
    flipped(transportPacket(ICMPV6, Uint8Array.from(echo(IPV6, ICMPV6)), 2, IPV6), -1),
    // The sum has no pseudo-header in IPv4, and has one in IPv6 (RFC 4443 §2.3).
    ipPacket(ICMPV6, Uint8Array.of(128, 0, 0x7f, 0xfc, 0, 1, 0, 2), IPV6),
  ],
};

/** Packets that are at the bounds, or look like those above. */
const VALID: Readonly<Record<string, readonly Uint8Array[]>> = {
  'with memory behind it, or padding': [{}, IPV6].flatMap((parts) => [
    udpPacket(DATA, parts),
    Uint8Array.of(...udpPacket(DATA, parts), 0, 0, 0),
    ipPacket(200, new Uint8Array(0), parts),
  ]),
  'with IPv4 options, also at its end': [changed({ 0: 0x46, 3: 24, 9: 200 }, ipv4Options.slice())],
  'a fragment up to the largest packet': [
    last4(65_512, 3),
    last4(8, 1),
    fragment6(65_528, false, 7),
    fragment6(8, false, 1),
    fragment6(8, true, 8),
  ],
  'of addresses that differ from forbidden ones in one word': [
    '1::1',
    '0:0:1::1',
    '::1:0:0',
    '::1:0:1',
    '::2',
    '1::',
    '1::ffff:1.2.3.4',
    '0:0:1:0:0:ffff:1.2.3.4',
  ].flatMap((host) => [from(host, { destination: SERVER6 }), to(host, { source: CLIENT6 })]),
  'to an address that differs from its own in one word': ['2001:db8', '1:2', '3:4', '5:6'].map(
    (_, index, words) =>
      to(words.with(index, '2001:db9').join(':'), { source: endpoint(words.join(':'), 53) }),
  ),
  'to groups, and of class E': [
    to('239.255.255.250'),
    to('240.0.0.1'),
    to('ff02::fb', { source: CLIENT6 }),
  ],
  'with extension headers as many as are read, or that end it (RFC 8200 §4.7)': [
    chain(OPTIONS, ...paddings(8, NONE)),
    chain(OPTIONS, ...LONG),
    chain(FRAGMENT, ...ATOMIC),
    chain(ROUTING, NONE, 0, 2, 0, 0, 0, 0, 0),
    // Behind that of a fragment a header belongs to the data.
    chain(FRAGMENT, HOP_BY_HOP, 0, 0, 9, 0, 0, 0, 9, ...pattern(8)),
  ],
  'with options that are padding, however often, or 8 others': [
    withOptions(0, 0, 0, 0, 0, 0),
    withOptions(0, 1, 3, 0, 0, 0),
    withOptions(1, 2, 0, 0, 1, 0),
    withOptions(...Array.from({ length: 11 }, () => [1, 0]).flat()),
    withOptions(...OTHERS(8), ...PADDED),
    withOptions(0x1e, 4, 0, 0, 0, 0),
    chain(
      HOP_BY_HOP,
      OPTIONS,
      0,
      ...OTHERS(3),
      OPTIONS,
      0,
      ...OTHERS(3),
      NONE,
      0,
      ...OTHERS(2),
      1,
      0,
    ),
  ],
  'with flags that states send': [
    SYN,
    SYN | ACK,
    SYN | TcpFlag.ECE | TcpFlag.CWR,
    ACK,
    FIN | ACK,
    RST,
    RST | ACK,
    ACK | PSH | URG,
  ].map(tcpOf),
  'a datagram without a checksum in IPv4, or from port 0': [
    withoutChecksum({}),
    udpPacket(DATA, { source: { ...CLIENT4, port: 0 } }),
  ],
};

describe('a packet is dropped, whatever is in memory after it,', () => {
  for (const [reason, packets] of Object.entries(MALFORMED)) {
    test(`as ${reason}`, () => {
      for (const [index, packet] of packets.entries()) {
        assert.equal(fault(packet), reason, `row ${index}`);
      }
    });
  }

  test('that lacks any byte of an extension header', () => {
    for (const [first, header] of [
      [OPTIONS, LONG],
      [FRAGMENT, ATOMIC],
    ] as const) {
      for (let size = 0; size < header.length; size++) {
        const packet = chain(first, ...header.slice(0, size));
        const after = Uint8Array.from(header.slice(size));
        assert.equal(fault(packet, after), 'ipv6 extension header', `${size} bytes`);
      }
    }
  });
});

describe('a packet is not dropped', () => {
  for (const [what, packets] of Object.entries(VALID)) {
    test(what, () => {
      for (const [index, packet] of packets.entries()) {
        assert.equal(fault(packet), undefined, `row ${index}`);
      }
    });
  }

  test('for a checksum for which the device vouches', () => {
    for (const reason of ['tcp checksum', 'udp checksum', 'icmp checksum'] as const) {
      for (const packet of MALFORMED[reason] ?? []) assert.equal(fault(packet, 9, true), undefined);
    }
    for (const parts of [{}, IPV6]) {
      const partial = tcpPacket(segment({ flags: ACK }), pattern(100), parts);
      const packet = parsed(partial);
      writePartialChecksum(partial, packet.payload + 16, packetPseudoSum(packet, 120));
      assert.deepEqual([fault(partial), fault(partial, 9, true)], ['tcp checksum', undefined]);
    }
  });
});

describe('the header chain of a first fragment (RFC 7112 §5)', () => {
  /** Whether it is whole, in memory that goes on with `after`. */
  function isWhole(
    protocol: number,
    data: readonly number[],
    ...after: readonly number[]
  ): boolean {
    const bytes = amid(Uint8Array.from(data), BEFORE, Uint8Array.from(after));
    const packet = new IpPacket();
    Object.assign(packet, { bytes, protocol, payload: BEFORE, end: BEFORE + data.length });
    return hasWholeHeaderChain(packet);
  }
  const transport = [...pattern(8)];
  const [short, long] = [paddings(1, UDP), [UDP, ...LONG.slice(1)]];

  test('is whole with 8 bytes of the transport header, or with a header that none follows', () => {
    for (const protocol of [UDP, TCP, ICMPV6, 200]) {
      assert.equal(isWhole(protocol, transport), true);
      assert.equal(isWhole(protocol, transport.slice(1), 9), false);
      assert.equal(isWhole(OPTIONS, [...paddings(8, protocol), ...transport]), true);
    }
    assert.equal(isWhole(NONE, []) && isWhole(OPTIONS, paddings(1, NONE)), true);
    assert.equal(isWhole(ROUTING, [...long, ...transport]), true);
  });

  test('is not whole where a header ends with it or behind it, or is a fragment or one too many', () => {
    assert.equal(isWhole(OPTIONS, [...short, ...transport.slice(1)], 9), false);
    assert.equal(isWhole(OPTIONS, short, ...transport), false);
    assert.equal(isWhole(ROUTING, long, ...transport), false);
    assert.equal(isWhole(ROUTING, long.slice(0, 8), ...long.slice(8), ...transport), false);
    assert.equal(isWhole(OPTIONS, [...paddings(9, UDP), ...transport]), false);
    const inner = [UDP, 0, 0, 0, 0, 0, 0, 1, ...transport];
    assert.equal(isWhole(FRAGMENT, inner), false);
    assert.equal(isWhole(OPTIONS, [...paddings(1, FRAGMENT), ...inner]), false);
  });
});
