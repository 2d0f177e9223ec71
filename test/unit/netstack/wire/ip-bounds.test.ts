import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readIpPacket, type IpFault } from '../../../../src/netstack/wire/ip.ts';
import { IpPacket, IpProtocol } from '../../../../src/netstack/wire/ip-packet.ts';
import {
  amid,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  repairIPv4Checksum,
  type PacketParts,
} from '../../../support/data/ip-packets.ts';

const { UDP } = IpProtocol;
const BEFORE = 7;

/** Why the first `size` bytes of a packet are dropped, in memory where the others follow. */
const faultOfFirst = (packet: Uint8Array, size: number): IpFault | undefined =>
  readIpPacket(amid(packet, BEFORE, 30), BEFORE, BEFORE + size, new IpPacket());

const NO_DATA = new Uint8Array(0);

describe('the end of what was received', () => {
  test('is the end of a packet, whatever is in memory after it', () => {
    for (const [parts, header, isTruncated, isLonger] of [
      [{}, 20, 'ipv4 truncated', 'ipv4 total length'],
      [IPV6, 40, 'ipv6 truncated', 'ipv6 payload length'],
    ] as const) {
      const packet = ipPacket(UDP, pattern(16), parts);
      assert.equal(faultOfFirst(packet, 0), 'empty');
      for (let size = 1; size < header; size++)
        assert.equal(faultOfFirst(packet, size), isTruncated);
      for (let size = header; size < packet.length; size++) {
        assert.equal(faultOfFirst(packet, size), isLonger);
      }
      assert.equal(faultOfFirst(packet, packet.length), undefined);
      assert.equal(faultOfFirst(packet, packet.length + 1), undefined);
    }
  });

  test('may be that of the header', () => {
    for (const [parts, header] of [
      [{}, 20],
      [IPV6, 40],
    ] as const) {
      const bytes = amid(ipPacket(UDP, NO_DATA, parts), BEFORE, 0);
      const packet = parsed(bytes, BEFORE);
      assert.equal(packet.payload, BEFORE + header);
      assert.equal(packet.end, bytes.length);
      assert.equal(packet.isFragment, false);
    }
  });

  test('may be that of the options of IPv4, and not before it', () => {
    const packet = new Uint8Array(24);
    packet.set(ipPacket(UDP, NO_DATA));
    packet[0] = 0x46;
    packet[3] = 24;
    repairIPv4Checksum(packet);
    assert.equal(faultOfFirst(packet, 24), undefined);
    for (let size = 20; size < 24; size++) {
      assert.equal(faultOfFirst(packet, size), 'ipv4 header length');
    }
  });
});

test('the fields of a packet are those at its own place', () => {
  for (const [parts, protocolField, addresses, size] of [
    [{}, 9, 12, 4],
    [IPV6, 6, 8, 16],
  ] as const) {
    const bytes = amid(ipPacket(UDP, pattern(8), parts), BEFORE, 30);
    const packet = parsed(bytes, BEFORE);
    assert.equal(packet.bytes, bytes);
    assert.equal(packet.start, BEFORE);
    assert.equal(packet.protocolField, BEFORE + protocolField);
    assert.equal(packet.addresses, BEFORE + addresses);
    assert.equal(packet.addressSize, size);
  }
});

test('a reused record keeps nothing of the fragment before', () => {
  const packet = new IpPacket();
  const extensions = Uint8Array.of(UDP, 0, 0xff, 1, 1, 2, 3, 4);
  const fragment = ipPacket(UDP, pattern(8), { ...IPV6, extensions, nextHeader: 44 });
  const shownAfterIt = (bytes: Uint8Array): unknown => {
    assert.equal(readIpPacket(fragment, 0, fragment.length, packet), undefined);
    assert.deepEqual(
      [packet.isFragment, packet.moreFragments, packet.fragmentOffset, packet.identification],
      [true, true, 0xff00, 0x01020304],
    );
    assert.equal(readIpPacket(bytes, 0, bytes.length, packet), undefined);
    const { isFragment, moreFragments, fragmentOffset, identification, dontFragment } = packet;
    return [isFragment, moreFragments, fragmentOffset, identification, dontFragment];
  };
  const identified: PacketParts = { identification: 9 };
  assert.deepEqual(shownAfterIt(ipPacket(UDP, NO_DATA, IPV6)), [false, false, 0, 0, true]);
  assert.deepEqual(shownAfterIt(ipPacket(UDP, NO_DATA, identified)), [false, false, 0, 9, false]);
});

describe('an IPv4 fragment', () => {
  /** The last fragment of a datagram, which ends after `offset + size` bytes of data. */
  function last(offset: number, size: number): Uint8Array {
    const bytes = ipPacket(UDP, pattern(size));
    bytes[6] = offset >> 11;
    bytes[7] = offset >> 3;
    return repairIPv4Checksum(bytes);
  }

  test('ends where the longest packet does, and not after it', () => {
    // 65,535 bytes, of which 20 are the header (RFC 791 §3.1).
    assert.equal(faultOfFirst(last(65_512, 3), 23), undefined);
    assert.equal(faultOfFirst(last(65_512, 4), 24), 'ipv4 fragment');
  });

  test('has data', () => {
    assert.equal(faultOfFirst(last(8, 1), 21), undefined);
    assert.equal(faultOfFirst(last(8, 0), 20), 'ipv4 fragment');
  });
});

describe('an address', () => {
  test('is another one when any word of it differs', () => {
    const words = ['2001:db8', '1:2', '3:4', '5:6'];
    for (const [index, word] of words.entries()) {
      const source = endpoint(words.join(':'));
      const destination = endpoint(words.with(index, '2001:db9').join(':'));
      const packet = ipPacket(UDP, pattern(8), { source, destination });
      assert.equal(faultOfFirst(packet, packet.length), undefined, word);
    }
  });

  test('is the loopback, the unspecified or a mapped one by all of its words', () => {
    for (const host of [
      '1::1',
      '0:0:1::1',
      '::1:0:0',
      '::1:0:1',
      '::2',
      '1::',
      '1::ffff:1.2.3.4',
    ]) {
      for (const parts of [
        { source: endpoint(host), destination: endpoint('2001:db8::9') },
        { source: endpoint('2001:db8::9'), destination: endpoint(host) },
      ]) {
        const packet = ipPacket(UDP, pattern(8), parts);
        assert.equal(faultOfFirst(packet, packet.length), undefined, host);
      }
    }
    const mapped = ipPacket(UDP, pattern(8), {
      source: endpoint('0:0:1:0:0:ffff:1.2.3.4'),
      destination: endpoint('2001:db8::9'),
    });
    assert.equal(faultOfFirst(mapped, mapped.length), undefined);
  });
});

test('a hop limit of zero is dropped in IPv6', () => {
  const packet = ipPacket(UDP, pattern(8), { ...IPV6, hopLimit: 0 });
  assert.equal(faultOfFirst(packet, packet.length), 'ipv6 hop limit zero');
});
