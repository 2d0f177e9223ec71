import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeChecksum, Segmentation, UdpBatch } from '../../../src/netstack/offload.ts';
import { packetPseudoSum, writePartialChecksum } from '../../../src/netstack/wire/ip-packet.ts';
import {
  readTcpSegment,
  TcpFlag,
  TcpSegment,
  tcpHeaderSize,
} from '../../../src/netstack/wire/tcp.ts';
import { readUdpDatagram, UdpDatagram } from '../../../src/netstack/wire/udp.ts';
import { IPV6, parsed, pattern, segment, tcpPacket, udpPacket } from '../../support/ip-packets.ts';

const { ACK, PSH, FIN, CWR } = TcpFlag;

test('a partial checksum is completed as a device does it', () => {
  for (const parts of [{}, IPV6]) {
    const bytes = tcpPacket(segment({ flags: ACK }), pattern(1001), parts);
    const expected = bytes.slice();
    const packet = parsed(bytes);
    const { payload, end } = packet;
    writePartialChecksum(bytes, payload + 16, packetPseudoSum(packet, end - payload));
    assert.notDeepEqual(bytes, expected);
    completeChecksum(bytes, payload, end, payload + 16);
    assert.deepEqual(bytes, expected);
  }
});

/** All packets that a large one is taken apart into. */
function segmented(bytes: Uint8Array, headerSize: number, segmentSize: number): Uint8Array[] {
  const segmentation = new Segmentation();
  assert.equal(segmentation.begin(parsed(bytes), headerSize, segmentSize), true);
  const pieces: Uint8Array[] = [];
  for (let size = segmentation.nextSize(); size > 0; size = segmentation.nextSize()) {
    const memory = new Uint8Array(size + 3);
    segmentation.write(memory, 3);
    pieces.push(memory.subarray(3));
  }
  return pieces;
}

test('a large TCP segment is taken apart into valid ones', () => {
  const data = pattern(60_000);
  for (const parts of [{ identification: 0xffff, dontFragment: true }, IPV6]) {
    const header = segment({
      flags: ACK | PSH | FIN | CWR,
      sequence: 0xffffff00,
      acknowledgment: 5,
      hasTimestamps: true,
      timestamp: 77,
    });
    const bytes = tcpPacket(header, data, parts);
    const pieces = segmented(bytes, tcpHeaderSize(header), 1448);
    assert.equal(pieces.length, Math.ceil(60_000 / 1448));
    let offset = 0;
    for (const [index, piece] of pieces.entries()) {
      const packet = parsed(piece);
      const got = new TcpSegment();
      assert.equal(readTcpSegment(packet, false, got), undefined);
      assert.equal(got.sequence, (0xffffff00 + offset) >>> 0);
      assert.equal(got.acknowledgment, 5);
      assert.equal(got.timestamp, 77);
      const isLast = index === pieces.length - 1;
      const flags = ACK | (isLast ? PSH | FIN : 0) | (index === 0 ? CWR : 0);
      assert.equal(got.flags, flags);
      if (packet.version === 4) assert.equal(packet.identification, (0xffff + index) & 0xffff);
      const size = got.payloadEnd - got.payload;
      assert.deepEqual(
        got.bytes.subarray(got.payload, got.payloadEnd),
        data.subarray(offset, offset + size),
      );
      offset += size;
    }
    assert.equal(offset, 60_000);
  }
});

test('a segment without payload is one packet', () => {
  const bytes = tcpPacket(segment({ flags: ACK }));
  assert.deepEqual(segmented(bytes, 20, 1460), [bytes]);
});

test('a batch of datagrams is taken apart into valid ones', () => {
  for (const parts of [{}, IPV6]) {
    const pieces = segmented(udpPacket(pattern(3100), parts), 8, 1000);
    const payloads = pieces.map((piece) => {
      const datagram = new UdpDatagram();
      assert.equal(readUdpDatagram(parsed(piece), false, datagram), undefined);
      return datagram.bytes.slice(datagram.payload, datagram.payloadEnd);
    });
    assert.deepEqual(
      payloads.map((payload) => payload.length),
      [1000, 1000, 1000, 100],
    );
    assert.deepEqual(Uint8Array.from(payloads.flatMap((payload) => [...payload])), pattern(3100));
  }
});

test('other protocols are not taken apart', () => {
  const bytes = udpPacket(pattern(64));
  bytes[9] = 1;
  const packet = parsed(udpPacket(pattern(64)));
  packet.protocol = 1;
  const segmentation = new Segmentation();
  assert.equal(segmentation.begin(packet, 8, 16), false);
  assert.equal(segmentation.nextSize(), 0);
  packet.protocol = 17;
  assert.equal(segmentation.begin(packet, 8, 0), false);
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
