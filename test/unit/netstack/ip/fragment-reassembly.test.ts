import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fragmentation } from '../../../../src/netstack/ip/fragmentation.ts';
import { FragmentReassembly } from '../../../../src/netstack/ip/fragment-reassembly.ts';
import { readUdpDatagram, UdpDatagram } from '../../../../src/netstack/wire/udp.ts';
import type { IpPacket } from '../../../../src/netstack/wire/ip-packet.ts';
import {
  MAX_FRAGMENT_BYTES,
  MAX_FRAGMENT_BYTES_FROM_SOURCE,
  MAX_INCOMPLETE_DATAGRAMS,
  MAX_INCOMPLETE_FROM_SOURCE,
  REASSEMBLY_TIMEOUT_MS,
} from '../../../../src/netstack/ip/wire-limits.ts';
import {
  CLIENT6,
  endpoint,
  IPV6,
  parsed,
  pattern,
  repairIPv4Checksum,
  SERVER6,
  udpPacket,
  type PacketParts,
} from '../../../support/data/ip-packets.ts';

/** The fragments of a packet, in order. */
function fragments(bytes: Uint8Array, mtu: number, identification = 7): IpPacket[] {
  const fragmentation = new Fragmentation();
  assert.equal(fragmentation.begin(parsed(bytes), mtu, identification), true);
  const pieces: IpPacket[] = [];
  for (let size = fragmentation.nextSize(); size > 0; size = fragmentation.nextSize()) {
    assert.ok(size <= mtu);
    const piece = new Uint8Array(size);
    fragmentation.write(piece, 0);
    pieces.push(parsed(piece));
  }
  return pieces;
}

/** The payload of the datagram that was completed. */
function payloadOf(reassembly: FragmentReassembly): Uint8Array {
  const packet = parsed(reassembly.packet, 0, reassembly.packetSize);
  assert.equal(packet.isFragment, false);
  const datagram = new UdpDatagram();
  assert.equal(readUdpDatagram(packet, false, datagram), undefined);
  return datagram.bytes.slice(datagram.payload, datagram.payloadEnd);
}

const VERSIONS: readonly PacketParts[] = [{}, IPV6];

test('a datagram is complete with its last fragment, in whatever order they come', () => {
  const orders = [
    [0, 1, 2, 3],
    [3, 2, 1, 0],
    [1, 3, 0, 2],
    [2, 0, 3, 1],
  ];
  for (const parts of VERSIONS) {
    const pieces = fragments(udpPacket(pattern(5000), parts), 1500);
    assert.equal(pieces.length, 4);
    for (const order of orders) {
      const reassembly = new FragmentReassembly();
      const outcomes = order.map((index) => reassembly.receive(pieces[index] as IpPacket, 0));
      assert.deepEqual(outcomes, ['held', 'held', 'held', 'complete']);
      assert.deepEqual(payloadOf(reassembly), pattern(5000));
      assert.equal(reassembly.size, 0);
      assert.equal(reassembly.bytes, 0);
    }
  }
});

test('the largest datagrams survive fragments of the smallest MTU', () => {
  for (const [parts, size, mtu] of [
    [{}, 65_507, 576],
    [IPV6, 65_527, 1280],
  ] as const) {
    const reassembly = new FragmentReassembly();
    const bytes = udpPacket(pattern(size), parts);
    const outcomes = fragments(bytes, mtu).map((piece) => reassembly.receive(piece, 0));
    assert.equal(outcomes.at(-1), 'complete');
    assert.deepEqual(payloadOf(reassembly), pattern(size));
  }
});

test('datagrams are distinguished by addresses, identification, and in IPv4 by protocol', () => {
  const reassembly = new FragmentReassembly();
  const sources = [endpoint('192.0.2.1', 9), endpoint('192.0.2.2', 9)];
  const series = [
    ...sources.map((source) => fragments(udpPacket(pattern(3000, source.d), { source }), 1500)),
    fragments(udpPacket(pattern(3000, 5)), 1500, 8),
  ];
  for (const index of [0, 1]) {
    for (const pieces of series)
      assert.equal(reassembly.receive(pieces[index] as IpPacket, 0), 'held');
  }
  assert.equal(reassembly.size, 3);
  for (const [index, pieces] of series.entries()) {
    assert.equal(reassembly.receive(pieces[2] as IpPacket, 0), 'complete');
    assert.deepEqual(payloadOf(reassembly), pattern(3000, sources[index]?.d ?? 5));
  }
});

test('a fragment that comes twice changes nothing', () => {
  for (const parts of VERSIONS) {
    const reassembly = new FragmentReassembly();
    const pieces = fragments(udpPacket(pattern(4000), parts), 1500);
    const [one, two, three] = pieces as [IpPacket, IpPacket, IpPacket];
    assert.equal(reassembly.receive(two, 0), 'held');
    const { bytes } = reassembly;
    assert.equal(reassembly.receive(two, 0), 'duplicate');
    assert.equal(reassembly.bytes, bytes);
    reassembly.receive(one, 0);
    assert.equal(reassembly.receive(three, 0), 'complete');
    assert.deepEqual(payloadOf(reassembly), pattern(4000));
  }
});

/** An IPv4 fragment with `size` bytes at `offset`. */
function fragment4(offset: number, size: number, more: boolean, parts: PacketParts = {}): IpPacket {
  const bytes = udpPacket(pattern(size - 8, offset), { identification: 1, ...parts });
  bytes[6] = (more ? 0x20 : 0) | (offset >> 11);
  bytes[7] = offset >> 3;
  return parsed(repairIPv4Checksum(bytes));
}

/** An IPv6 fragment with `size` bytes at `offset`. */
function fragment6(
  offset: number,
  size: number,
  more: boolean,
  parts: PacketParts = IPV6,
): IpPacket {
  const flags = offset | (more ? 1 : 0);
  const extensions = Uint8Array.of(17, 0, flags >> 8, flags & 0xff, 0, 0, 0, 1);
  return parsed(udpPacket(pattern(size - 8, offset), { ...parts, extensions, nextHeader: 44 }));
}

test('overlapping fragments invalidate their datagram, also those that still come', () => {
  for (const make of [fragment4, fragment6]) {
    const overlaps: readonly (readonly [offset: number, size: number])[] = [
      [32, 64],
      [96, 64],
      [72, 16],
      [56, 200],
      [64, 32],
      [64, 72],
    ];
    for (const [offset, size] of overlaps) {
      const reassembly = new FragmentReassembly();
      assert.equal(reassembly.receive(make(64, 64, true), 0), 'held');
      assert.equal(reassembly.receive(make(offset, size, true), 0), 'fragment overlap');
      assert.equal(reassembly.bytes, 0);
      const later = 'fragment of an invalid datagram';
      assert.equal(reassembly.receive(make(0, 64, true), 0), later);
      assert.equal(reassembly.receive(make(128, 64, false), 0), later);
      reassembly.onTimeout(REASSEMBLY_TIMEOUT_MS);
      assert.equal(reassembly.receive(make(0, 64, true), REASSEMBLY_TIMEOUT_MS), 'held');
    }
  }
});

test('the same range with other bytes is an overlap', () => {
  const reassembly = new FragmentReassembly();
  assert.equal(reassembly.receive(fragment4(0, 64, true), 0), 'held');
  const other = fragment4(0, 64, true);
  other.bytes[60] = (other.bytes[60] ?? 0) ^ 1;
  assert.equal(reassembly.receive(other, 0), 'fragment overlap');
});

test('the last fragment says where the datagram ends, once', () => {
  const run = (...pieces: readonly IpPacket[]): unknown => {
    const reassembly = new FragmentReassembly();
    return pieces.map((piece) => reassembly.receive(piece, 0)).at(-1);
  };
  const last = fragment4(128, 64, false);
  assert.equal(run(last, fragment4(192, 64, true)), 'fragment beyond the end');
  assert.equal(run(last, fragment4(256, 64, false)), 'fragment beyond the end');
  assert.equal(run(last, fragment4(64, 64, false)), 'fragment of another end');
  assert.equal(run(fragment4(192, 64, true), fragment4(64, 64, false)), 'fragment of another end');
});

test('a datagram of too many fragments is dropped', () => {
  const reassembly = new FragmentReassembly();
  let outcome = '';
  for (let index = 0; index <= 128; index++) {
    outcome = reassembly.receive(fragment4(index * 16, 16, true), 0);
  }
  assert.equal(outcome, 'too many fragments');
  assert.equal(reassembly.bytes, 0);
});

test('the first IPv6 fragment has all headers', () => {
  const extensions = (next: number): Uint8Array => Uint8Array.of(next, 0, 0, 1, 0, 0, 0, 1);
  // Destination options of 32 bytes, of which the fragment has 16.
  const header = Uint8Array.of(17, 3, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  const bytes = new Uint8Array(
    udpPacket(new Uint8Array(8), { ...IPV6, extensions: extensions(60), nextHeader: 44 }),
  );
  bytes.set(header, 48);
  assert.equal(new FragmentReassembly().receive(parsed(bytes), 0), 'fragment header chain');
  assert.equal(new FragmentReassembly().receive(fragment6(0, 8, true), 0), 'held');
});

test('what is not complete in time is dropped, and its first fragment reported', () => {
  const reassembly = new FragmentReassembly();
  const expired: Uint8Array[] = [];
  assert.equal(reassembly.nextTimeout(), Infinity);
  reassembly.receive(fragment4(0, 64, true), 1000);
  reassembly.receive(fragment4(64, 64, true, { identification: 2 }), 2000);
  assert.equal(reassembly.nextTimeout(), 1000 + REASSEMBLY_TIMEOUT_MS);
  reassembly.onTimeout(1000 + REASSEMBLY_TIMEOUT_MS, (first) => expired.push(first));
  assert.equal(expired.length, 1);
  assert.deepEqual(expired[0], fragment4(0, 64, true).bytes);
  assert.equal(reassembly.size, 1);
  reassembly.onTimeout(2000 + REASSEMBLY_TIMEOUT_MS, (first) => expired.push(first));
  assert.equal(expired.length, 1);
  assert.equal(reassembly.size, 0);
  assert.equal(reassembly.bytes, 0);
});

test('of an invalid datagram nothing is kept or reported', () => {
  const reassembly = new FragmentReassembly();
  const expired: Uint8Array[] = [];
  reassembly.receive(fragment4(0, 64, true), 0);
  assert.equal(reassembly.receive(fragment4(32, 64, true), 0), 'fragment overlap');
  reassembly.onTimeout(REASSEMBLY_TIMEOUT_MS, (first) => expired.push(first));
  assert.deepEqual(expired, []);
  assert.equal(reassembly.size, 0);
});

test('a fragment that comes again must say again whether it is the last', () => {
  for (const make of [fragment4, fragment6]) {
    for (const isLast of [false, true]) {
      const reassembly = new FragmentReassembly();
      reassembly.receive(make(64, 64, isLast), 0);
      assert.equal(reassembly.receive(make(64, 64, isLast), 0), 'duplicate');
      assert.equal(reassembly.receive(make(64, 64, !isLast), 0), 'fragment of another end');
    }
  }
});

test('one source cannot take the place of all, nor all of them more than there is', () => {
  const reassembly = new FragmentReassembly();
  const other = { source: endpoint('192.0.2.77', 1), identification: 0xffff };
  reassembly.receive(fragment4(0, 64, true, other), 0);
  for (let id = 0; id < 1000; id++) {
    reassembly.receive(fragment4(0, 64, true, { identification: id }), 0);
  }
  assert.equal(reassembly.size, MAX_INCOMPLETE_FROM_SOURCE + 1);
  assert.equal(reassembly.receive(fragment4(64, 64, false, other), 0), 'complete');
  for (let host = 0; host < 1000; host++) {
    const source = { ...endpoint('203.0.0.0', 1), d: (203 << 24) | host };
    reassembly.receive(fragment4(0, 64, true, { source }), 0);
  }
  assert.equal(reassembly.size, MAX_INCOMPLETE_DATAGRAMS);
});

test('the bytes held are bounded for each source and in total', () => {
  const reassembly = new FragmentReassembly();
  let most = 0;
  for (let id = 0; id < 400; id++) {
    const source = { ...CLIENT6, d: 1 + (id >> 7) };
    for (let offset = 0; offset < 50_000; offset += 10_000) {
      const parts = { source, destination: { ...SERVER6, d: 1000 + id } };
      reassembly.receive(fragment6(offset, 10_000, true, parts), 0);
      most = Math.max(most, reassembly.bytes);
      if (id < 128) assert.ok(reassembly.bytes <= MAX_FRAGMENT_BYTES_FROM_SOURCE);
    }
  }
  assert.ok(most > MAX_FRAGMENT_BYTES - 60_000);
  assert.ok(most <= MAX_FRAGMENT_BYTES);
});

test('a mark of congestion on any fragment is one on the datagram', () => {
  for (const [make, base] of [
    [fragment4, {}],
    [fragment6, IPV6],
  ] as const) {
    const reassembly = new FragmentReassembly();
    reassembly.receive(make(0, 64, true, { ...base, trafficClass: 2 }), 0);
    reassembly.receive(make(64, 64, false, { ...base, trafficClass: 3 }), 0);
    assert.equal(parsed(reassembly.packet, 0, reassembly.packetSize).trafficClass & 3, 3);
  }
});

test('an IPv4 header with options is that of a packet without them', () => {
  const [first, second] = fragments(udpPacket(pattern(100)), 100) as [IpPacket, IpPacket];
  const bytes = new Uint8Array(first.bytes.length + 4);
  bytes.set(first.bytes.subarray(0, 20));
  bytes.set([1, 1, 1, 0], 20);
  bytes.set(first.bytes.subarray(20), 24);
  bytes[0] = 0x46;
  bytes[3] = bytes.length;
  const reassembly = new FragmentReassembly();
  reassembly.receive(parsed(repairIPv4Checksum(bytes)), 0);
  assert.equal(reassembly.receive(second, 0), 'complete');
  assert.deepEqual(payloadOf(reassembly), pattern(100));
});

test('a packet that no fragment fits is not taken apart', () => {
  const fragmentation = new Fragmentation();
  assert.equal(fragmentation.begin(parsed(udpPacket(pattern(100))), 27, 1), false);
  assert.equal(fragmentation.nextSize(), 0);
  assert.equal(fragmentation.begin(parsed(udpPacket(pattern(100))), 28, 1), true);
  assert.equal(fragmentation.nextSize(), 28);
});
