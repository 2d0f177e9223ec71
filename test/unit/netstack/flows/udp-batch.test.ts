import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UdpBatch } from '../../../../src/netstack/flows/udp-batch.ts';
import { readUdpDatagram, UdpDatagram } from '../../../../src/netstack/wire/udp.ts';
import { parsed, pattern, udpPacket } from '../../../support/data/ip-packets.ts';

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
