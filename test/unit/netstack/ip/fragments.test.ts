import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Fragmentation } from '../../../../src/netstack/ip/fragmentation.ts';
import { FragmentReassembly } from '../../../../src/netstack/ip/fragment-reassembly.ts';
import {
  FRAGMENT_OVERHEAD,
  MAX_FRAGMENT_BYTES,
  MAX_FRAGMENT_BYTES_FROM_SOURCE,
  MAX_INCOMPLETE_FROM_SOURCE,
  REASSEMBLY_TIMEOUT_MS,
} from '../../../../src/netstack/ip/wire-limits.ts';
import { IpProtocol, type IpPacket } from '../../../../src/netstack/wire/ip-packet.ts';
import {
  amid,
  CLIENT4,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  repairIPv4Checksum,
  udpPacket,
  type PacketParts,
} from '../../../support/data/ip-packets.ts';

const { UDP, TCP } = IpProtocol;

interface FragmentParts {
  readonly isV6?: boolean;
  readonly protocol?: number;
  readonly more?: boolean;
  readonly id?: number;
  readonly source?: PacketParts['source'];
}

/** A fragment with this data, in memory that goes on around it. */
function fragment(offset: number, data: Uint8Array, parts: FragmentParts = {}): IpPacket {
  const { isV6 = false, protocol = UDP, more = true, id = 1, source } = parts;
  const flags = offset | (more ? 1 : 0);
  if (isV6) {
    const extensions = Uint8Array.of(protocol, 0, flags >> 8, flags & 0xff, 0, 0, 0, id);
    const bytes = ipPacket(protocol, data, { ...IPV6, extensions, nextHeader: 44 });
    return parsed(amid(bytes, 3, 9), 3);
  }
  const bytes = ipPacket(protocol, data, { identification: id, source: source ?? CLIENT4 });
  bytes[6] = (more ? 0x20 : 0) | (offset >> 11);
  bytes[7] = offset >> 3;
  return parsed(amid(repairIPv4Checksum(bytes), 3, 9), 3);
}

/** The packet that was completed. */
const whole = (reassembly: FragmentReassembly): IpPacket =>
  parsed(reassembly.packet, 0, reassembly.packetSize);

describe('the fragments of a datagram', () => {
  test('are those of its protocol in IPv4, and of any in IPv6, where that of the first counts', () => {
    const four = new FragmentReassembly();
    assert.equal(four.receive(fragment(0, pattern(64)), 0), 'held');
    assert.equal(four.receive(fragment(64, pattern(8), { protocol: TCP, more: false }), 0), 'held');
    assert.equal(four.size, 2);
    assert.equal(four.receive(fragment(64, pattern(8), { more: false }), 0), 'complete');
    assert.equal(whole(four).protocol, UDP);

    const six = new FragmentReassembly();
    const last = fragment(64, pattern(8), { isV6: true, protocol: TCP, more: false });
    assert.equal(six.receive(last, 0), 'held');
    assert.equal(six.receive(fragment(0, pattern(64), { isV6: true }), 0), 'complete');
    assert.equal(whole(six).protocol, UDP);
  });

  test('may be as short as a byte at the end, and have no headers but in the first', () => {
    for (const isV6 of [false, true]) {
      for (const size of [1, 7, 8]) {
        const reassembly = new FragmentReassembly();
        assert.equal(reassembly.receive(fragment(0, pattern(8), { isV6 }), 0), 'held');
        const last = fragment(8, pattern(size, 8), { isV6, more: false });
        assert.equal(reassembly.receive(last, 0), 'complete');
        const { bytes, payload, end } = whole(reassembly);
        assert.equal(reassembly.packetSize, (isV6 ? 40 : 20) + 8 + size);
        assert.deepEqual(
          bytes.slice(payload, end),
          Uint8Array.of(...pattern(8), ...pattern(size, 8)),
        );
      }
    }
  });

  test('have no extension headers in IPv4', () => {
    const reassembly = new FragmentReassembly();
    const data = Uint8Array.of(60, 200, 0, 0, 0, 0, 0, 0);
    assert.equal(reassembly.receive(fragment(0, data, { protocol: 60 }), 0), 'held');
    const last = fragment(8, data, { protocol: 60, more: false });
    assert.equal(reassembly.receive(last, 0), 'complete');
  });

  test('make an IPv4 packet that may be fragmented again', () => {
    const reassembly = new FragmentReassembly();
    reassembly.receive(fragment(0, pattern(8)), 0);
    reassembly.receive(fragment(8, pattern(8), { more: false }), 0);
    const { dontFragment, moreFragments, isFragment, identification } = whole(reassembly);
    assert.deepEqual(
      [dontFragment, moreFragments, isFragment, identification],
      [false, false, false, 1],
    );
  });

  test('are duplicates with the same bytes in the same place alone', () => {
    for (const isV6 of [false, true]) {
      const run = (offset: number, data: Uint8Array): unknown => {
        const reassembly = new FragmentReassembly();
        reassembly.receive(fragment(64, pattern(64), { isV6 }), 0);
        return reassembly.receive(fragment(offset, data, { isV6 }), 0);
      };
      assert.equal(run(64, pattern(64)), 'duplicate');
      // RFC 5722 §3: the same bytes in a longer or a shorter fragment are an overlap.
      assert.equal(run(64, pattern(128)), 'fragment overlap');
      assert.equal(run(64, pattern(32)), 'fragment overlap');
      assert.equal(run(96, pattern(64).subarray(32)), 'fragment overlap');
      const other = pattern(64);
      other[63] = 0;
      assert.equal(run(64, other), 'fragment overlap');
      assert.equal(run(128, pattern(64)), 'held');
      assert.equal(run(0, pattern(64)), 'held');
    }
  });

  test('are forgotten in time without a report where none is wanted', () => {
    const reassembly = new FragmentReassembly();
    reassembly.receive(fragment(0, pattern(8)), 0);
    reassembly.onTimeout(REASSEMBLY_TIMEOUT_MS);
    assert.equal(reassembly.size, 0);
  });
});

describe('what fragments cost', () => {
  test('is their data, an overhead, and the header of the first', () => {
    for (const [isV6, header] of [
      [false, 20],
      [true, 48],
    ] as const) {
      const reassembly = new FragmentReassembly();
      reassembly.receive(fragment(64, pattern(64), { isV6 }), 0);
      assert.equal(reassembly.bytes, 64 + FRAGMENT_OVERHEAD);
      reassembly.receive(fragment(0, pattern(64), { isV6 }), 0);
      assert.equal(reassembly.bytes, 2 * (64 + FRAGMENT_OVERHEAD) + header);
    }
  });

  const COST = 8192;
  const DATA = pattern(COST - FRAGMENT_OVERHEAD);
  const IN_A_DATAGRAM = 8;

  /** Holds fragments that cost so many bytes, of datagrams with other identifications. */
  function fill(
    reassembly: FragmentReassembly,
    bytes: number,
    source: FragmentParts['source'],
  ): void {
    for (let index = 0; index < bytes / COST; index++) {
      const offset = 8 + (index % IN_A_DATAGRAM) * DATA.length;
      const id = Math.floor(index / IN_A_DATAGRAM);
      assert.equal(reassembly.receive(fragment(offset, DATA, { id, source }), 0), 'held');
    }
  }

  test('may be all that there is, for a source and in total', () => {
    const reassembly = new FragmentReassembly();
    const sources = [2, 3, 4].map((d) => ({ ...CLIENT4, d: CLIENT4.d + d }));
    const datagrams = MAX_FRAGMENT_BYTES_FROM_SOURCE / COST / IN_A_DATAGRAM;
    fill(reassembly, MAX_FRAGMENT_BYTES_FROM_SOURCE, sources[0]);
    assert.equal(reassembly.bytes, MAX_FRAGMENT_BYTES_FROM_SOURCE);
    assert.equal(reassembly.size, datagrams);
    fill(reassembly, MAX_FRAGMENT_BYTES_FROM_SOURCE, sources[1]);
    assert.equal(reassembly.bytes, MAX_FRAGMENT_BYTES);
    assert.equal(reassembly.size, 2 * datagrams);
    // One more of another source: the oldest datagram of all gives way.
    reassembly.receive(fragment(8, DATA, { source: sources[2] }), 0);
    assert.equal(reassembly.bytes, MAX_FRAGMENT_BYTES - (IN_A_DATAGRAM - 1) * COST);
    // One more of the second source, which has all that it may have: its oldest does.
    reassembly.receive(fragment(8, DATA, { id: 255, source: sources[1] }), 0);
    assert.equal(reassembly.size, 2 * datagrams);
    assert.equal(reassembly.bytes, MAX_FRAGMENT_BYTES - 2 * (IN_A_DATAGRAM - 1) * COST);
  });

  test('is given back by datagrams that are complete', () => {
    const reassembly = new FragmentReassembly();
    for (let id = 0; id < 2 * MAX_INCOMPLETE_FROM_SOURCE; id++) {
      reassembly.receive(fragment(0, pattern(8), { id }), 0);
      assert.equal(reassembly.receive(fragment(8, pattern(8), { id, more: false }), 0), 'complete');
      if (id === 0) reassembly.receive(fragment(0, pattern(8), { id: 1000 }), 0);
    }
    assert.equal(reassembly.receive(fragment(8, pattern(8), { id: 1001 }), 0), 'held');
    assert.equal(reassembly.size, 2, 'none was counted that is no longer held');
  });
});

describe('fragmentation', () => {
  const begin = (packet: IpPacket, mtu = 60): [Fragmentation, boolean] => {
    const fragmentation = new Fragmentation();
    return [fragmentation, fragmentation.begin(packet, mtu, 7)];
  };

  test('takes a packet from any place in memory', () => {
    for (const parts of [{}, IPV6]) {
      const bytes = udpPacket(pattern(100), parts);
      const [fragmentation, isBegun] = begin(parsed(amid(bytes, 5, 9), 5), 96);
      assert.equal(isBegun, true);
      const reassembly = new FragmentReassembly();
      for (let size = fragmentation.nextSize(); size > 0; size = fragmentation.nextSize()) {
        const into = amid(new Uint8Array(size), 11, 3);
        fragmentation.write(into, 11);
        reassembly.receive(parsed(into, 11), 0);
      }
      const { bytes: found, payload, end } = whole(reassembly);
      assert.deepEqual(found.slice(payload, end), bytes.subarray(-108));
    }
  });

  test('does not take packets with options or extension headers', () => {
    const options = new Uint8Array(128);
    options.set(ipPacket(UDP, pattern(104)).subarray(0, 20));
    options.set([0x46, 0, 0, 128], 0);
    assert.equal(begin(parsed(repairIPv4Checksum(options)))[1], false);
    const extensions = Uint8Array.of(UDP, 0, 1, 4, 0, 0, 0, 0);
    const extended = ipPacket(UDP, pattern(104), { ...IPV6, extensions, nextHeader: 60 });
    const [fragmentation, isBegun] = begin(parsed(extended));
    assert.equal(isBegun, false);
    assert.equal(fragmentation.nextSize(), 0);
  });

  test('writes nothing before it begins, or after its end', () => {
    const untouched = new Uint8Array(60).fill(0xa5);
    new Fragmentation().write(untouched, 0);
    const [fragmentation] = begin(parsed(udpPacket(pattern(20))));
    fragmentation.write(new Uint8Array(60), 0);
    fragmentation.write(untouched, 0);
    const [refused] = begin(parsed(udpPacket(pattern(20))), 20);
    refused.write(untouched, 0);
    assert.deepEqual(untouched, new Uint8Array(60).fill(0xa5));
  });
});
