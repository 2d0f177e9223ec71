import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUdpDatagram, UdpDatagram, type UdpFault } from '../../../../src/netstack/wire/udp.ts';
import {
  CLIENT4,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  SERVER4,
  udpPacket,
} from '../../../support/data/ip-packets.ts';

const fault = (bytes: Uint8Array, checksumVouched = false): UdpFault | undefined =>
  readUdpDatagram(parsed(bytes), checksumVouched, new UdpDatagram());

test('a datagram is read as it was written', () => {
  for (const parts of [{}, IPV6]) {
    for (const size of [0, 1, 1472, 65_000]) {
      const packet = parsed(udpPacket(pattern(size), parts));
      const datagram = new UdpDatagram();
      assert.equal(readUdpDatagram(packet, false, datagram), undefined);
      assert.equal(datagram.sourcePort, 40_000);
      assert.equal(packet.source.port, 40_000);
      assert.equal(packet.destination.port, 443);
      const payload = datagram.bytes.subarray(datagram.payload, datagram.payloadEnd);
      assert.deepEqual(payload, pattern(size));
    }
  }
});

test('a length that is not within the packet is dropped', () => {
  for (const length of [0, 7, 13, 0xffff]) {
    const bytes = udpPacket(pattern(4));
    bytes[24] = length >> 8;
    bytes[25] = length;
    assert.equal(fault(bytes, true), 'udp length');
  }
  assert.equal(fault(ipPacket(17, new Uint8Array(7))), 'udp truncated');
});

test('bytes behind the length of the header are no payload', () => {
  const inner = udpPacket(pattern(4)).subarray(20);
  const bytes = ipPacket(17, Uint8Array.of(...inner, 9, 9, 9));
  const datagram = new UdpDatagram();
  assert.equal(readUdpDatagram(parsed(bytes), false, datagram), undefined);
  assert.equal(datagram.payloadEnd - datagram.payload, 4);
});

test('a bad checksum is dropped unless the device vouches for it', () => {
  for (const parts of [{}, IPV6]) {
    const bytes = udpPacket(pattern(64), parts);
    bytes[bytes.length - 3] = (bytes.at(-3) ?? 0) ^ 1;
    assert.equal(fault(bytes), 'udp checksum');
    assert.equal(fault(bytes, true), undefined);
  }
});

test('a datagram without a checksum is valid in IPv4 alone', () => {
  for (const [parts, expected] of [
    [{}, undefined],
    [IPV6, 'udp checksum missing'],
  ] as const) {
    const bytes = udpPacket(pattern(3), parts);
    bytes.fill(0, bytes.length - 5, bytes.length - 3);
    assert.equal(fault(bytes), expected);
  }
});

test('a checksum that works out as zero is sent as 0xffff', () => {
  // The last word makes the sum of all others 0xffff.
  const bytes = udpPacket(Uint8Array.of(0, 0));
  const checksum = bytes.slice(26, 28);
  const zero = udpPacket(checksum);
  assert.deepEqual([...zero.subarray(26, 28)], [0xff, 0xff]);
  assert.equal(fault(zero), undefined);
});

test('a datagram to port 0 is dropped, one from port 0 is not', () => {
  const destination = { ...SERVER4, port: 0 };
  assert.equal(fault(udpPacket(pattern(1), { destination })), 'udp port zero');
  const source = { ...CLIENT4, port: 0 };
  assert.equal(fault(udpPacket(pattern(1), { source })), undefined);
});

test('datagrams to groups are for the caller to judge', () => {
  const destination = endpoint('239.255.255.250', 1900);
  assert.equal(fault(udpPacket(pattern(1), { destination })), undefined);
});
