import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Fragmentation } from '../../../src/ip/ip-output.ts';
import { FragmentReassembly } from '../../../src/ip/fragment-reassembly.ts';
import {
  FRAGMENT_OVERHEAD,
  MAX_FRAGMENT_BYTES,
  MAX_FRAGMENT_BYTES_FROM_SOURCE,
  MAX_INCOMPLETE_DATAGRAMS,
  MAX_INCOMPLETE_FROM_SOURCE,
  REASSEMBLY_TIMEOUT_MS,
} from '../../../src/limits.ts';
import { IpProtocol, type IpPacket } from '../../../src/wire/ip-packet.ts';
import {
  amid,
  CLIENT4,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  repairIPv4Checksum,
  udpPacket,
  type PacketParts,
} from '../../../../../test/support/data/ip-packets.ts';

const { UDP, TCP } = IpProtocol;

interface FragmentParts {
  readonly isV6?: boolean;
  readonly protocol?: number;
  readonly more?: boolean;
  readonly id?: number;
  readonly source?: PacketParts['source'];
  readonly trafficClass?: number;
}

/** A fragment with this data, in memory that goes on around it. */
function fragment(offset: number, data: Uint8Array | number, parts: FragmentParts = {}): IpPacket {
  const { isV6 = false, protocol = UDP, more = true, id = 1, source, trafficClass = 0 } = parts;
  const bytes = typeof data === 'number' ? pattern(data, offset) : data;
  const flags = offset | (more ? 1 : 0);
  if (isV6) {
    const extensions = Uint8Array.of(protocol, 0, flags >> 8, flags & 0xff, 0, 0, 0, id);
    const base = { ...IPV6, ...(source && { source }), trafficClass };
    const packet = ipPacket(protocol, bytes, { ...base, extensions, nextHeader: 44 });
    return parsed(amid(packet, 3, 9), 3);
  }
  const base = { identification: id, source: source ?? CLIENT4, trafficClass };
  const packet = ipPacket(protocol, bytes, base);
  packet[6] = (more ? 0x20 : 0) | (offset >> 11);
  packet[7] = offset >> 3;
  return parsed(amid(repairIPv4Checksum(packet), 3, 9), 3);
}

/** What becomes of fragments that arrive one after the other. */
const outcomes = (reassembly: FragmentReassembly, ...pieces: readonly IpPacket[]): string[] =>
  pieces.map((piece) => reassembly.receive(piece, 0));
const last = (...pieces: readonly IpPacket[]): string | undefined =>
  outcomes(new FragmentReassembly(), ...pieces).at(-1);

/** The packet that was completed, and its data. */
const whole = (reassembly: FragmentReassembly): IpPacket =>
  parsed(reassembly.packet, 0, reassembly.packetSize);
const dataOf = (reassembly: FragmentReassembly): Uint8Array => {
  const { bytes, payload, end } = whole(reassembly);
  return bytes.slice(payload, end);
};

/** The fragments of a packet, in order, each written into memory that goes on around it. */
function fragmentsOf(packet: IpPacket, mtu: number): IpPacket[] {
  const fragmentation = new Fragmentation();
  assert.equal(fragmentation.begin(packet, mtu, 7), true);
  const pieces: IpPacket[] = [];
  for (let size = fragmentation.nextSize(); size > 0; size = fragmentation.nextSize()) {
    assert.ok(size <= mtu);
    const into = amid(new Uint8Array(size), 11, 3);
    fragmentation.write(into, 11);
    pieces.push(parsed(into, 11));
  }
  return pieces;
}

test('a packet is the same after fragments of any size that come in any order, some of them twice', () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.integer({ min: 1, max: 20_000 }),
      fc.integer({ min: 100, max: 1500 }),
      fc.infiniteStream(fc.nat()),
      (isV6, size, mtu, random) => {
        const bytes = udpPacket(pattern(size), isV6 ? IPV6 : {});
        const packet = parsed(amid(bytes, 5, 9), 5);
        if (bytes.length <= mtu) return;
        const pieces = fragmentsOf(packet, Math.max(mtu, Math.ceil(size / 100) + 60));
        for (let at = pieces.length - 1; at > 0; at--) {
          const other = random.next().value % (at + 1);
          [pieces[at], pieces[other]] = [pieces[other] as IpPacket, pieces[at] as IpPacket];
        }
        const reassembly = new FragmentReassembly();
        for (const [at, piece] of pieces.entries()) {
          const isLast = at === pieces.length - 1;
          assert.equal(reassembly.receive(piece, 0), isLast ? 'complete' : 'held');
          if (isLast || random.next().value % 4 > 0) continue;
          const { bytes: held } = reassembly;
          assert.equal(reassembly.receive(piece, 0), 'duplicate');
          assert.equal(reassembly.bytes, held);
        }
        assert.deepEqual(dataOf(reassembly), bytes.slice(isV6 ? 40 : 20));
        const { isFragment, moreFragments, dontFragment } = whole(reassembly);
        assert.deepEqual([isFragment, moreFragments, dontFragment], [false, false, isV6]);
        assert.deepEqual([reassembly.size, reassembly.bytes], [0, 0]);
      },
    ),
  );
});

describe('fragments', () => {
  test('of the largest datagrams are complete at the smallest MTU', () => {
    for (const [parts, size, mtu] of [
      [{}, 65_507, 576],
      [IPV6, 65_527, 1280],
    ] as const) {
      const reassembly = new FragmentReassembly();
      const pieces = fragmentsOf(parsed(udpPacket(pattern(size), parts)), mtu);
      assert.equal(outcomes(reassembly, ...pieces).at(-1), 'complete');
      assert.equal(reassembly.packetSize, (parts === IPV6 ? 48 : 28) + size);
    }
  });

  test('belong together by addresses and identification, and in IPv4 by protocol', () => {
    const four = new FragmentReassembly();
    const others = [{ id: 2 }, { source: endpoint('192.0.2.2') }, { protocol: TCP }];
    for (const parts of [{}, ...others]) {
      assert.equal(four.receive(fragment(64, 8, { ...parts, more: false }), 0), 'held');
    }
    assert.equal(four.size, 4);
    for (const parts of [{}, ...others]) {
      assert.equal(four.receive(fragment(0, 64, parts), 0), 'complete');
      assert.equal(whole(four).protocol, 'protocol' in parts ? TCP : UDP);
    }
    const six = new FragmentReassembly();
    const tail = fragment(64, 8, { isV6: true, protocol: TCP, more: false });
    assert.deepEqual(outcomes(six, tail, fragment(0, 64, { isV6: true })), ['held', 'complete']);
    assert.equal(whole(six).protocol, UDP, 'that of the first');
  });

  test('that overlap invalidate their datagram, also those that still come (RFC 5722 §3)', () => {
    for (const isV6 of [false, true]) {
      const make = (offset: number, data: number | Uint8Array, more = true): IpPacket =>
        fragment(offset, data, { isV6, more });
      const other = pattern(64, 64);
      other[63] = 0;
      for (const [offset, data] of [
        [32, 64],
        [96, 64],
        [72, 16],
        [56, 200],
        [64, 32],
        [64, 72],
        [64, other],
      ] as const) {
        const reassembly = new FragmentReassembly();
        assert.deepEqual(outcomes(reassembly, make(64, 64), make(offset, data)), [
          'held',
          'fragment overlap',
        ]);
        const later = 'fragment of an invalid datagram';
        assert.deepEqual(outcomes(reassembly, make(0, 64), make(128, 64, false)), [later, later]);
        assert.equal(reassembly.bytes, 0);
        // In the end nothing is reported of it.
        reassembly.onTimeout(REASSEMBLY_TIMEOUT_MS, () => assert.fail('a report'));
        assert.equal(reassembly.size, 0);
        assert.equal(reassembly.receive(make(0, 64), REASSEMBLY_TIMEOUT_MS), 'held');
      }
      for (const [offset, data] of [
        [128, 64],
        [0, 64],
      ] as const) {
        assert.equal(last(make(64, 64), make(offset, data)), 'held');
      }
    }
  });

  test('say where the datagram ends once, and again when they come again', () => {
    for (const isV6 of [false, true]) {
      const make = (offset: number, more: boolean): IpPacket =>
        fragment(offset, 64, { isV6, more });
      const end = make(128, false);
      assert.equal(last(end, make(192, true)), 'fragment beyond the end');
      assert.equal(last(end, make(256, false)), 'fragment beyond the end');
      assert.equal(last(end, make(64, false)), 'fragment of another end');
      assert.equal(last(make(192, true), make(64, false)), 'fragment of another end');
      for (const more of [true, false]) {
        assert.equal(last(make(64, more), make(64, more)), 'duplicate');
        assert.equal(last(make(64, more), make(64, !more)), 'fragment of another end');
      }
    }
  });

  test('are too many beyond 128, and of IPv6 the first has all headers', () => {
    const reassembly = new FragmentReassembly();
    const pieces = Array.from({ length: 129 }, (_, at) => fragment(at * 16, 16));
    assert.equal(outcomes(reassembly, ...pieces).at(-1), 'too many fragments');
    assert.equal(reassembly.bytes, 0);
    // Destination options of 32 bytes, of which the fragment has 16.
    const options = Uint8Array.of(17, 3, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    assert.equal(last(fragment(0, options, { isV6: true, protocol: 60 })), 'fragment header chain');
    assert.equal(last(fragment(0, options, { protocol: 60 })), 'held', 'IPv4 has none');
  });

  test('keep a mark of congestion, and no options of their IPv4 header', () => {
    for (const isV6 of [false, true]) {
      const reassembly = new FragmentReassembly();
      const first = fragment(0, 64, { isV6, trafficClass: 2 });
      outcomes(reassembly, first, fragment(64, 64, { isV6, more: false, trafficClass: 3 }));
      assert.equal(whole(reassembly).trafficClass & 3, 3);
    }
    const [first, second] = fragmentsOf(parsed(udpPacket(pattern(100))), 100) as [
      IpPacket,
      IpPacket,
    ];
    const { bytes, start, end } = first;
    const head = bytes.slice(start, start + 20);
    const longer = Uint8Array.of(...head, 1, 1, 1, 0, ...bytes.subarray(start + 20, end));
    longer.set([0x46, 0, 0, longer.length], 0);
    const reassembly = new FragmentReassembly();
    assert.deepEqual(outcomes(reassembly, parsed(repairIPv4Checksum(longer)), second), [
      'held',
      'complete',
    ]);
    assert.equal(whole(reassembly).payload, 20);
  });

  test('that are not complete in time are dropped, and the first one reported as it came', () => {
    const reassembly = new FragmentReassembly();
    const expired: Uint8Array[] = [];
    assert.equal(reassembly.nextTimeout(), Infinity);
    const first = fragment(0, 64);
    reassembly.receive(first, 1000);
    reassembly.receive(fragment(64, 64, { id: 2 }), 2000);
    assert.equal(reassembly.nextTimeout(), 1000 + REASSEMBLY_TIMEOUT_MS);
    reassembly.onTimeout(1000 + REASSEMBLY_TIMEOUT_MS, (bytes) => expired.push(bytes));
    assert.deepEqual(expired, [first.bytes.slice(first.start, first.end)]);
    assert.equal(reassembly.size, 1);
    reassembly.receive(fragment(0, 64, { id: 3 }), 2000);
    reassembly.onTimeout(2000 + REASSEMBLY_TIMEOUT_MS);
    assert.deepEqual([expired.length, reassembly.size, reassembly.bytes], [1, 0, 0]);
  });
});

describe('what fragments cost', () => {
  const COST = 8192;
  const DATA = pattern(COST - FRAGMENT_OVERHEAD);
  const IN_A_DATAGRAM = 8;

  /** Holds fragments that cost so many bytes, of datagrams with other identifications. */
  function fill(reassembly: FragmentReassembly, bytes: number, parts: FragmentParts): void {
    for (let index = 0; index < bytes / COST; index++) {
      const offset = 8 + (index % IN_A_DATAGRAM) * DATA.length;
      const id = Math.floor(index / IN_A_DATAGRAM);
      assert.equal(reassembly.receive(fragment(offset, DATA, { ...parts, id }), 0), 'held');
    }
  }

  test('is their data, an overhead, and the header of the first', () => {
    for (const [isV6, header] of [
      [false, 20],
      [true, 48],
    ] as const) {
      const reassembly = new FragmentReassembly();
      outcomes(reassembly, fragment(64, 64, { isV6 }));
      assert.equal(reassembly.bytes, 64 + FRAGMENT_OVERHEAD);
      outcomes(reassembly, fragment(0, 64, { isV6 }));
      assert.equal(reassembly.bytes, 2 * (64 + FRAGMENT_OVERHEAD) + header);
    }
  });

  test('may be all that there is, for a source and in total; then the oldest give way', () => {
    const reassembly = new FragmentReassembly();
    const sources = [2, 3, 4].map((d) => ({ ...CLIENT4, d: CLIENT4.d + d }));
    const [first, second, third] = sources.map((source) => ({ source })) as [
      object,
      object,
      object,
    ];
    const datagrams = MAX_FRAGMENT_BYTES_FROM_SOURCE / COST / IN_A_DATAGRAM;
    fill(reassembly, MAX_FRAGMENT_BYTES_FROM_SOURCE, first);
    assert.deepEqual(
      [reassembly.bytes, reassembly.size],
      [MAX_FRAGMENT_BYTES_FROM_SOURCE, datagrams],
    );
    fill(reassembly, MAX_FRAGMENT_BYTES_FROM_SOURCE, second);
    assert.deepEqual([reassembly.bytes, reassembly.size], [MAX_FRAGMENT_BYTES, 2 * datagrams]);
    // One more of another source: the oldest datagram of all gives way.
    reassembly.receive(fragment(8, DATA, third), 0);
    assert.equal(reassembly.bytes, MAX_FRAGMENT_BYTES - (IN_A_DATAGRAM - 1) * COST);
    // One more of the second source, which has all that it may have: its oldest does.
    reassembly.receive(fragment(8, DATA, { id: 255, ...second }), 0);
    assert.equal(reassembly.size, 2 * datagrams);
    assert.equal(reassembly.bytes, MAX_FRAGMENT_BYTES - 2 * (IN_A_DATAGRAM - 1) * COST);
  });

  test('is bounded in datagrams of a source and of all, which leaves others theirs', () => {
    const reassembly = new FragmentReassembly();
    const other = { source: endpoint('192.0.2.77', 1), id: 0xffff };
    reassembly.receive(fragment(0, 64, other), 0);
    for (let id = 0; id < 1000; id++) reassembly.receive(fragment(0, 64, { id }), 0);
    assert.equal(reassembly.size, MAX_INCOMPLETE_FROM_SOURCE + 1);
    assert.equal(reassembly.receive(fragment(64, 64, { ...other, more: false }), 0), 'complete');
    for (let host = 0; host < 1000; host++) {
      const source = { ...endpoint('203.0.0.0', 1), d: (203 << 24) | host };
      reassembly.receive(fragment(0, 64, { source }), 0);
    }
    assert.equal(reassembly.size, MAX_INCOMPLETE_DATAGRAMS);
  });

  test('is given back by datagrams that are complete', () => {
    const reassembly = new FragmentReassembly();
    for (let id = 0; id < 2 * MAX_INCOMPLETE_FROM_SOURCE; id++) {
      reassembly.receive(fragment(0, 8, { id }), 0);
      assert.equal(reassembly.receive(fragment(8, 8, { id, more: false }), 0), 'complete');
      if (id === 0) reassembly.receive(fragment(0, 8, { id: 1000 }), 0);
    }
    assert.equal(reassembly.receive(fragment(8, 8, { id: 1001 }), 0), 'held');
    assert.equal(reassembly.size, 2, 'none was counted that is no longer held');
  });
});

test('fragmentation takes no packet with other headers or without room, and writes nothing then', () => {
  const begin = (packet: IpPacket, mtu = 60): [Fragmentation, boolean] => {
    const fragmentation = new Fragmentation();
    return [fragmentation, fragmentation.begin(packet, mtu, 7)];
  };
  const untouched = new Uint8Array(60).fill(0xa5);
  const options = new Uint8Array(128);
  options.set(ipPacket(UDP, pattern(104)).subarray(0, 20));
  options.set([0x46, 0, 0, 128], 0);
  const extensions = Uint8Array.of(UDP, 0, 1, 4, 0, 0, 0, 0);
  const extended = ipPacket(UDP, pattern(104), { ...IPV6, extensions, nextHeader: 60 });
  for (const [packet, mtu] of [
    [parsed(repairIPv4Checksum(options)), 60],
    [parsed(extended), 60],
    [parsed(udpPacket(pattern(100))), 27],
  ] as const) {
    const [fragmentation, isBegun] = begin(packet, mtu);
    assert.deepEqual([isBegun, fragmentation.nextSize()], [false, 0]);
    fragmentation.write(untouched, 0);
  }
  const [fragmentation, isBegun] = begin(parsed(udpPacket(pattern(100))), 28);
  assert.deepEqual([isBegun, fragmentation.nextSize()], [true, 28]);
  const [one] = begin(parsed(udpPacket(pattern(20))));
  one.write(new Uint8Array(60), 0);
  one.write(untouched, 0);
  new Fragmentation().write(untouched, 0);
  assert.deepEqual(untouched, new Uint8Array(60).fill(0xa5));
});
