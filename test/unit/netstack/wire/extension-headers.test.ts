import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readIpPacket, type IpFault } from '../../../../src/netstack/wire/ip.ts';
import { IpPacket, IpProtocol } from '../../../../src/netstack/wire/ip-packet.ts';
import { hasWholeHeaderChain, NextHeader } from '../../../../src/netstack/wire/ipv6.ts';
import { amid, IPV6, ipPacket, parsed, pattern } from '../../../support/data/ip-packets.ts';

const { HOP_BY_HOP, ROUTING, FRAGMENT, NONE, DESTINATION_OPTIONS: OPTIONS } = NextHeader;
const { UDP } = IpProtocol;
const BEFORE = 3;
const PADDED = [1, 4, 0, 0, 0, 0] as const;

/** Destination options of 8 bytes with nothing but padding, before `next`. */
const padding = (next: number): number[] => [next, 0, ...PADDED];

/** `count` headers in a row, the last before `next`. */
const paddings = (count: number, next: number): number[] =>
  Array.from({ length: count }, (_, index) => padding(index === count - 1 ? next : OPTIONS)).flat();

/** A packet whose first header, of the type `first`, begins these bytes after the IPv6 header. */
const packetOf = (first: number, after: readonly number[]): Uint8Array =>
  ipPacket(first, Uint8Array.from(after), IPV6);

/** Why the packet is dropped, in memory that goes on with `after`. */
function fault(packet: Uint8Array, after: readonly number[] = []): IpFault | undefined {
  const bytes = amid(packet, BEFORE, Uint8Array.from(after));
  return readIpPacket(bytes, BEFORE, BEFORE + packet.length, new IpPacket());
}

describe('an extension header', () => {
  test('may end its packet when no header follows (RFC 8200 §4.7)', () => {
    assert.equal(fault(packetOf(OPTIONS, padding(NONE))), undefined);
    assert.equal(fault(packetOf(FRAGMENT, [NONE, 0, 0, 0, 0, 0, 0, 1])), undefined);
    assert.equal(fault(packetOf(OPTIONS, [NONE, 1, 1, 12, ...new Uint8Array(12)])), undefined);
  });

  test('that lacks any of its bytes drops the packet, whatever is in memory after it', () => {
    const options = [NONE, 1, 1, 12, ...new Uint8Array(12)];
    for (let size = 0; size < options.length; size++) {
      const packet = packetOf(OPTIONS, options.slice(0, size));
      assert.equal(fault(packet, options.slice(size)), 'ipv6 extension header', `${size} bytes`);
    }
    for (let size = 0; size < 8; size++) {
      // An atomic fragment.
      const header = [NONE, 0, 0, 0, 0, 0, 0, 1];
      const packet = packetOf(FRAGMENT, header.slice(0, size));
      assert.equal(fault(packet, header.slice(size)), 'ipv6 extension header', `${size} bytes`);
    }
  });

  test('after that of a fragment belongs to its data', () => {
    const packet = parsed(packetOf(FRAGMENT, [OPTIONS, 0, 0, 1, 0, 0, 0, 9, ...padding(UDP)]));
    assert.equal(packet.isFragment, true);
    assert.equal(packet.protocol, OPTIONS);
    assert.equal(packet.payload, 48);
    // So it is not checked either.
    const later = packetOf(FRAGMENT, [HOP_BY_HOP, 0, 0, 9, 0, 0, 0, 9, ...pattern(8)]);
    assert.equal(parsed(later).protocol, HOP_BY_HOP);
  });
});

describe('the options of a header', () => {
  const withOptions = (options: readonly number[]): IpFault | undefined =>
    fault(packetOf(OPTIONS, [UDP, (options.length - 6) >> 3, ...options, ...pattern(8)]));

  test('may be padded by single bytes, and by two', () => {
    assert.equal(withOptions([0, 0, 0, 0, 0, 0]), undefined);
    assert.equal(withOptions([0, 1, 3, 0, 0, 0]), undefined);
    assert.equal(withOptions([1, 2, 0, 0, 1, 0]), undefined);
  });

  test('may be padded as often as they like, and are 8 other ones at most', () => {
    assert.equal(withOptions(Array.from({ length: 11 }, () => [1, 0]).flat()), undefined);
    const eight = Array.from({ length: 8 }, () => [0x1e, 0]).flat();
    assert.equal(withOptions([...eight, 1, 4, 0, 0, 0, 0]), undefined);
    assert.equal(withOptions([...eight, 0x1e, 0, 1, 2, 0, 0]), 'ipv6 option');
  });

  test('are 8 at most in all headers of a packet', () => {
    const three = [0x1e, 0, 0x1e, 0, 0x1e, 0];
    const headers = (...last: readonly number[]): Uint8Array =>
      packetOf(HOP_BY_HOP, [OPTIONS, 0, ...three, OPTIONS, 0, ...three, UDP, 0, ...last]);
    assert.equal(fault(headers(0x1e, 0, 0x1e, 0, 1, 0)), undefined);
    assert.equal(fault(headers(...three)), 'ipv6 option');
  });

  test('end with their header', () => {
    assert.equal(withOptions([1, 5, 0, 0, 0, 0]), 'ipv6 option');
    assert.equal(withOptions([1, 3, 0, 0, 0, 1]), 'ipv6 option');
  });
});

describe('an IPv6 fragment', () => {
  const fragment = (offset: number, more: boolean, size: number): Uint8Array => {
    const flags = offset | (more ? 1 : 0);
    return packetOf(FRAGMENT, [UDP, 0, flags >> 8, flags & 0xff, 0, 0, 0, 1, ...pattern(size)]);
  };

  test('ends where the longest payload does, and not after it', () => {
    assert.equal(fault(fragment(65_528, false, 7)), undefined);
    assert.equal(fault(fragment(65_528, false, 8)), 'ipv6 fragment');
  });

  test('has data, a multiple of 8 bytes unless it is the last', () => {
    assert.equal(fault(fragment(8, false, 0)), 'ipv6 fragment');
    assert.equal(fault(fragment(8, true, 0)), 'ipv6 fragment');
    assert.equal(fault(fragment(8, false, 1)), undefined);
    for (const size of [1, 4, 7]) assert.equal(fault(fragment(8, true, size)), 'ipv6 fragment');
    assert.equal(fault(fragment(8, true, 8)), undefined);
  });

  test('that is a whole datagram is treated as none (RFC 6946 §4)', () => {
    const packet = parsed(fragment(0, false, 5));
    assert.equal(packet.isFragment, false);
    assert.equal(packet.payload, 48);
  });
});

describe('the header chain of a first fragment', () => {
  /** Whether it is whole (RFC 7112 §5), in memory that goes on with `after`. */
  function isWhole(
    protocol: number,
    data: readonly number[],
    after: readonly number[] = [],
  ): boolean {
    const bytes = amid(Uint8Array.from(data), BEFORE, Uint8Array.from(after));
    const packet = new IpPacket();
    Object.assign(packet, { bytes, protocol, payload: BEFORE, end: BEFORE + data.length });
    return hasWholeHeaderChain(packet);
  }
  const transport = [...pattern(8)];

  test('is whole with 8 bytes of the transport header', () => {
    for (const protocol of [UDP, IpProtocol.TCP, IpProtocol.ICMPV6, 200]) {
      assert.equal(isWhole(protocol, transport), true);
      assert.equal(isWhole(protocol, transport.slice(1), [9]), false);
      assert.equal(isWhole(OPTIONS, [...padding(protocol), ...transport]), true);
      assert.equal(isWhole(OPTIONS, [...padding(protocol), ...transport.slice(1)], [9]), false);
    }
  });

  test('is whole with a header that none follows', () => {
    assert.equal(isWhole(NONE, []), true);
    assert.equal(isWhole(OPTIONS, padding(NONE)), true);
  });

  test('is not whole where an extension header ends with the fragment or after it', () => {
    assert.equal(isWhole(OPTIONS, padding(UDP), transport), false);
    const long = [UDP, 1, 1, 12, ...new Uint8Array(12)];
    assert.equal(isWhole(ROUTING, [...long, ...transport]), true);
    assert.equal(isWhole(ROUTING, long, transport), false);
    assert.equal(isWhole(ROUTING, long.slice(0, 8), [...long.slice(8), ...transport]), false);
  });

  test('has no fragment within the fragment', () => {
    const inner = [UDP, 0, 0, 0, 0, 0, 0, 1, ...transport];
    assert.equal(isWhole(FRAGMENT, inner), false);
    assert.equal(isWhole(OPTIONS, [...padding(FRAGMENT), ...inner]), false);
  });

  test('has as many extension headers as are read', () => {
    assert.equal(isWhole(OPTIONS, [...paddings(8, UDP), ...transport]), true);
    assert.equal(isWhole(OPTIONS, [...paddings(9, UDP), ...transport]), false);
  });
});
