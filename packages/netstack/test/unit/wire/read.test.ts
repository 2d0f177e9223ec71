import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isSameAddress } from '@weir/base/ip';
import { IpPacket, IpProtocol } from '../../../src/wire/ip-packet.ts';
import { readIpPacket } from '../../../src/wire/ip.ts';
import { readTcpSegment, sequenceLength, TcpFlag, TcpSegment } from '../../../src/wire/tcp.ts';
import { readUdpDatagram, UdpBatch, UdpDatagram } from '../../../src/wire/udp.ts';
import {
  amid,
  CLIENT6,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  repairIPv4Checksum,
  segment,
  SERVER6,
  tcpPacket,
  transportPacket,
  udpPacket,
} from '../../../../../test/support/data/ip-packets.ts';

const { UDP } = IpProtocol;
const { FIN, SYN, RST, PSH, ACK, URG, ECE, CWR } = TcpFlag;
const BEFORE = 7;

describe('an IP packet', () => {
  test('is read as it was written, at its own place', () => {
    for (const [parts, expected] of [
      [
        { trafficClass: 0xb9, hopLimit: 3, identification: 0xbeef, dontFragment: true },
        { version: 4, protocolField: 9, addresses: 12, addressSize: 4, payload: 20 },
      ],
      [
        { ...IPV6, trafficClass: 0xb9, hopLimit: 255 },
        { version: 6, protocolField: 6, addresses: 8, addressSize: 16, payload: 40 },
      ],
    ] as const) {
      const bytes = ipPacket(UDP, pattern(8), parts);
      const memory = amid(bytes, BEFORE, 30);
      const packet = parsed(memory, BEFORE);
      const { version, protocolField, addresses, addressSize, payload } = packet;
      const at = [protocolField, addresses, payload].map((place) => place - BEFORE);
      const { protocolField: field, addresses: where, payload: data, ...fixed } = expected;
      assert.deepEqual(at, [field, where, data]);
      assert.deepEqual({ version, addressSize }, fixed);
      assert.equal(packet.bytes, memory);
      assert.deepEqual([packet.start, packet.end], [BEFORE, BEFORE + bytes.length]);
      assert.deepEqual([packet.protocol, packet.hopLimit], [UDP, parts.hopLimit]);
      assert.deepEqual([packet.trafficClass, packet.dontFragment], [0xb9, true]);
      assert.deepEqual([packet.isFragment, packet.toGroup], [false, false]);
      assert.equal(packet.identification, version === 4 ? 0xbeef : 0);
      const { source, destination } = version === 4 ? parsed(udpPacket(pattern(8))) : IPV6;
      assert.ok(source && isSameAddress(packet.source, source));
      assert.ok(destination && isSameAddress(packet.destination, destination));
    }
  });

  test('of which a record is used again keeps nothing of the fragment before', () => {
    const packet = new IpPacket();
    const extensions = Uint8Array.of(UDP, 0, 0xff, 1, 1, 2, 3, 4);
    const fragment = ipPacket(UDP, pattern(8), { ...IPV6, extensions, nextHeader: 44 });
    for (const [bytes, expected] of [
      [ipPacket(UDP, pattern(0), IPV6), [false, false, 0, 0, true]],
      [ipPacket(UDP, pattern(0), { identification: 9 }), [false, false, 0, 9, false]],
    ] as const) {
      const read = (from: Uint8Array): unknown[] => {
        assert.equal(readIpPacket(from, 0, from.length, packet), undefined);
        const { isFragment, moreFragments, fragmentOffset } = packet;
        const { identification, dontFragment } = packet;
        return [isFragment, moreFragments, fragmentOffset, identification, dontFragment];
      };
      assert.deepEqual(read(fragment), [true, true, 0xff00, 0x01020304, true]);
      assert.deepEqual(read(bytes), expected);
    }
  });

  test('has its transport behind options and extension headers, also of an atomic fragment', () => {
    const options = new Uint8Array(28);
    options.set(ipPacket(UDP, pattern(4)).subarray(0, 20));
    options.set([0x94, 4, 0, 0, ...pattern(4)], 20);
    options.set([0x46, 0, 0, 28], 0);
    assert.equal(parsed(repairIPv4Checksum(options)).payload, 24);
    const padded = [0, 1, 4, 0, 0, 0, 0];
    const extensions = Uint8Array.from(
      [
        [60, ...padded],
        [43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        // A routing header that has nothing left to say, and an atomic fragment (RFC 6946).
        [44, 0, 2, 0, 0, 0, 0, 0],
        [60, 0, 0, 0, 1, 2, 3, 4],
        [UDP, ...padded],
      ].flat(),
    );
    const bytes = ipPacket(UDP, pattern(32), { ...IPV6, extensions, nextHeader: 0 });
    const packet = parsed(bytes);
    assert.deepEqual([packet.protocol, packet.isFragment], [UDP, false]);
    assert.deepEqual(bytes.subarray(packet.payload, packet.end), pattern(32));
    assert.equal(bytes[packet.protocolField], UDP);
    // What follows the header of another fragment is its data.
    const fragment = Uint8Array.of(60, 0, 0, 1, 0, 0, 0, 9, UDP, ...padded);
    const first = parsed(
      ipPacket(UDP, pattern(8), { ...IPV6, extensions: fragment, nextHeader: 44 }),
    );
    assert.deepEqual([first.isFragment, first.protocol, first.payload], [true, 60, 48]);
  });

  test('is for a group by its destination', () => {
    for (const [host, isGroup] of [
      ['224.0.0.251', true],
      ['255.255.255.255', true],
      // Class E, which some networks use.
      ['240.0.0.1', false],
    ] as const) {
      assert.equal(
        parsed(udpPacket(pattern(1), { destination: endpoint(host, 9) })).toGroup,
        isGroup,
      );
    }
    const parts = { source: CLIENT6, destination: endpoint('ff02::fb', 9) };
    assert.equal(parsed(udpPacket(pattern(1), parts)).toGroup, true);
    assert.equal(
      parsed(udpPacket(pattern(1), { source: CLIENT6, destination: SERVER6 })).toGroup,
      false,
    );
  });
});

test('a datagram is read as it was written, without bytes behind its length', () => {
  for (const parts of [{}, IPV6]) {
    for (const size of [0, 1, 1472, 65_000]) {
      const packet = parsed(udpPacket(pattern(size), parts));
      const datagram = new UdpDatagram();
      assert.equal(readUdpDatagram(packet, false, datagram), undefined);
      assert.deepEqual([packet.source.port, packet.destination.port], [40_000, 443]);
      assert.equal(datagram.sourcePort, 40_000);
      const payload = datagram.bytes.subarray(datagram.payload, datagram.payloadEnd);
      assert.deepEqual(payload, pattern(size));
    }
  }
  const inner = udpPacket(pattern(4)).subarray(20);
  const datagram = new UdpDatagram();
  readUdpDatagram(parsed(ipPacket(UDP, Uint8Array.of(...inner, 9, 9, 9))), false, datagram);
  assert.equal(datagram.payloadEnd - datagram.payload, 4);
  // The last word makes the sum of all others 0xffff: a checksum of zero is sent as 0xffff.
  const zero = udpPacket(udpPacket(Uint8Array.of(0, 0)).slice(26, 28));
  assert.deepEqual([...zero.subarray(26, 28)], [0xff, 0xff]);
  assert.equal(readUdpDatagram(parsed(zero), false, datagram), undefined);
});

function read(bytes: Uint8Array): TcpSegment {
  const into = new TcpSegment();
  assert.equal(readTcpSegment(parsed(bytes), false, into), undefined);
  return into;
}

/** A segment with options as they stand, padded to a multiple of 4 bytes. */
function withOptions(
  flags: number,
  options: readonly number[],
  payload: readonly number[] = [],
): TcpSegment {
  const padded = [...options, ...Array.from({ length: -options.length & 3 }, () => 0)];
  const bytes = new Uint8Array(20 + padded.length + payload.length);
  bytes.set([0x9c, 0x40, 1, 0xbb]);
  bytes[12] = ((20 + padded.length) / 4) << 4;
  bytes[13] = flags;
  bytes.set([...padded, ...payload], 20);
  const got = read(transportPacket(6, bytes, 16));
  assert.deepEqual([...got.bytes.subarray(got.payload, got.payloadEnd)], payload);
  return got;
}

describe('a TCP segment', () => {
  const stamped = { hasTimestamps: true, timestamp: 0xdeadbeef };
  for (const fields of [
    { flags: ACK, sequence: 0xffffffff, acknowledgment: 1, window: 65_535 },
    { flags: ACK | PSH, sequence: 0x80000000, acknowledgment: 0x7fffffff },
    { flags: ACK | URG, urgent: 0xabcd },
    { flags: SYN },
    { flags: SYN, mss: 1460, windowScale: 7, sackPermitted: true, ...stamped },
    { flags: SYN | ACK, mss: 65_495, windowScale: 0, sackPermitted: true },
    { flags: ACK, hasTimestamps: true, timestamp: 1, timestampEcho: 2 ** 32 - 1 },
    { flags: ACK | ECE | CWR },
    { flags: FIN | ACK },
    { flags: RST },
  ] as Partial<TcpSegment>[]) {
    test(`is read as it was written: ${JSON.stringify(fields)}`, () => {
      for (const parts of [{}, IPV6]) {
        const sent = segment(fields);
        const got = read(tcpPacket(sent, pattern(9), parts));
        assert.deepEqual(got.bytes.subarray(got.payload, got.payloadEnd), pattern(9));
        // Where the payload lies is known of segments that were read alone.
        const { bytes, payload, payloadEnd } = got;
        assert.deepEqual(got, Object.assign(sent, { bytes, payload, payloadEnd }));
      }
    });
  }

  test('has as many SACK blocks as there is room for', () => {
    const edges = Uint32Array.of(10, 20, 0xfffffff0, 5, 100, 200, 300, 400);
    for (const [hasTimestamps, room] of [
      [false, 4],
      [true, 3],
    ] as const) {
      for (let count = 1; count <= 4; count++) {
        const sent = segment({ flags: ACK, hasTimestamps, sackCount: count });
        sent.sackBlocks.set(edges);
        const got = read(tcpPacket(sent));
        assert.equal(got.sackCount, Math.min(room, count));
        const found = got.sackBlocks.subarray(0, 2 * got.sackCount);
        assert.deepEqual(found, edges.subarray(0, 2 * got.sackCount));
      }
    }
  });

  const MSS = [2, 4, 5, 0xb4];
  const STAMPS = [8, 10, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 9];
  const NOTHING = {
    mss: 0,
    windowScale: -1,
    sackPermitted: false,
    hasTimestamps: false,
    sackCount: 0,
  };
  const KNOWN = { ...NOTHING, mss: 1460, windowScale: 7 };
  for (const [what, options, expected, ...payload] of [
    ['unknown ones are skipped', [30, 4, 1, 2, 30, 3, 9, ...MSS], { ...NOTHING, mss: 1460 }],
    [
      'known ones of a wrong length are skipped',
      [2, 3, 9, 3, 4, 1, 1, 8, 6, 0, 0, 0, 0, 5, 3, 0, 4, 3, 1, 4, 4, 1, 1, ...MSS],
      { ...NOTHING, mss: 1460 },
    ],
    ...[
      [30, 4, 1, 2],
      [30, 3, 9, 1],
      [2, 3, 9, 1],
      [2, 6, 0, 9, 0, 9],
      [3, 4, 9, 9],
      [3, 2, 1, 1],
    ].map(
      (option) =>
        ['they do not replace one before', [...MSS, 3, 3, 7, 1, ...option], KNOWN] as const,
    ),
    ...[
      [30, 0],
      [30, 1],
      [30, 200],
    ].map(
      (broken) =>
        [
          'behind an impossible length there is none',
          [3, 3, 7, 1, ...broken, ...MSS],
          { ...KNOWN, mss: 0 },
        ] as const,
    ),
    ...[[0], [0, 2]].map((end) => ['nor behind their end', [...end, ...MSS], NOTHING] as const),
    ['the last may end with the header', [1, 1, 4, 2], { ...NOTHING, sackPermitted: true }],
    ['and not behind it', [1, 1, 2, 4], NOTHING, 5, 0xb4],
    ['nor at all', [1, 1, 1, 2], NOTHING, 4, 5, 0xb4],
    ['nor begin there', [1, 1, 1, 1], NOTHING, ...MSS],
    ['nor a second one', [1, 3, 3, 7, 1, 1, 3, 3], { ...KNOWN, mss: 0 }, 9, 0],
    ...[
      [1, 1, ...STAMPS],
      [...STAMPS, 1, 1],
      [1, ...STAMPS, 1],
      [30, 4, 0, 0, 1, 1, ...STAMPS],
    ].map(
      (list) => ['timestamps are anywhere', list, { ...NOTHING, hasTimestamps: true }] as const,
    ),
    ['a window scale above 14 counts as 14', [3, 3, 200], { ...NOTHING, windowScale: 14 }],
  ] as readonly (readonly [string, readonly number[], typeof NOTHING, ...number[]])[]) {
    test(`of options: ${what} (${options.join(' ')})`, () => {
      const got = withOptions(SYN, options, payload);
      const { mss, windowScale, sackPermitted, hasTimestamps, sackCount } = got;
      assert.deepEqual({ mss, windowScale, sackPermitted, hasTimestamps, sackCount }, expected);
      if (hasTimestamps) assert.deepEqual([got.timestamp, got.timestampEcho], [0xdeadbeef, 9]);
    });
  }

  test('behind a handshake has no options of one, and keeps none of the segment before', () => {
    const into = new TcpSegment();
    const all = { mss: 1, windowScale: 2, sackPermitted: true, hasTimestamps: true };
    readTcpSegment(parsed(tcpPacket(segment({ flags: SYN, ...all }))), false, into);
    readTcpSegment(parsed(tcpPacket(segment({ flags: ACK, sackCount: 1 }))), false, into);
    readTcpSegment(parsed(tcpPacket(segment({ flags: ACK }))), false, into);
    for (const got of [into, withOptions(ACK, [...MSS, 3, 3, 7, 4, 2])]) {
      const { mss, windowScale, sackPermitted, hasTimestamps, sackCount } = got;
      assert.deepEqual({ mss, windowScale, sackPermitted, hasTimestamps, sackCount }, NOTHING);
    }
  });

  test('gives its ports to the endpoints, and a number each to SYN and FIN', () => {
    const packet = parsed(tcpPacket(segment({ flags: ACK })));
    assert.equal(packet.source.port, 0);
    readTcpSegment(packet, false, new TcpSegment());
    assert.deepEqual([packet.source.port, packet.destination.port], [40_000, 443]);
    assert.deepEqual([sequenceLength(ACK, 100), sequenceLength(SYN, 0)], [100, 1]);
    assert.equal(sequenceLength(FIN | ACK, 10), 11);
  });
});

test('a received batch is walked in place', () => {
  const batch = new UdpBatch();
  const datagram = new UdpDatagram();
  const sizes = (payload: number, segmentSize: number): number[] => {
    readUdpDatagram(parsed(udpPacket(pattern(payload))), false, datagram);
    batch.begin(datagram, segmentSize);
    const found: number[] = [];
    let expected = datagram.payload;
    while (batch.next()) {
      assert.equal(batch.start, expected);
      expected = batch.end;
      found.push(batch.end - batch.start);
    }
    assert.equal(expected, datagram.payloadEnd);
    assert.equal(batch.next(), false);
    return found;
  };
  assert.deepEqual(sizes(2500, 1000), [1000, 1000, 500]);
  assert.deepEqual(sizes(2000, 1000), [1000, 1000]);
  assert.deepEqual(sizes(300, 1000), [300]);
  assert.deepEqual(sizes(300, 0), [300]);
  assert.deepEqual(sizes(0, 0), [0]);
});
