import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatagramFrames } from '../../../../src/quic/packets/datagram-frames.ts';
import { TransportErrorCode } from '../../../../src/quic/errors.ts';
import {
  MAX_QUEUED_DATAGRAM_BYTES,
  MAX_QUEUED_DATAGRAMS,
} from '../../../../src/quic/streams/limits.ts';

function write(datagrams: DatagramFrames, size: number): Uint8Array {
  const out = new Uint8Array(size);
  const end = datagrams.writeFrames(out, 0, size);
  return out.subarray(0, end);
}

test('RFC 9221 §3: nothing is sent to a peer that has not announced datagrams', () => {
  const datagrams = new DatagramFrames(65_535);
  assert.equal(datagrams.send(Buffer.from('x')), false);
  datagrams.setLimits(0, 1200);
  assert.equal(datagrams.maxSize, 0);
  assert.equal(datagrams.send(Buffer.from('x')), false);
});

test('RFC 9221 §3: a payload is as large as the frame and the path allow, with type and length', () => {
  const datagrams = new DatagramFrames(65_535);
  for (const [peer, room, expected] of [
    [65_536, 1200, 1197],
    [500, 1200, 497],
    [66, 1200, 63],
    [67, 1200, 64],
    [2, 1200, 0],
    [1, 1200, 0],
  ] as const) {
    datagrams.setLimits(peer, room);
    assert.equal(datagrams.maxSize, expected, `${peer} of the peer, ${room} of the path`);
  }
  datagrams.setLimits(65_536, 1200);
  assert.equal(datagrams.send(Buffer.alloc(1198)), false);
  assert.equal(datagrams.send(Buffer.alloc(1197)), true);
  assert.equal(write(datagrams, 1200).length, 1200);
});

test('RFC 9221 §4: frames carry their length, several to a packet', () => {
  const datagrams = new DatagramFrames(65_535);
  datagrams.setLimits(65_536, 1200);
  datagrams.send(Buffer.from('ab'));
  datagrams.send(Buffer.from('c'));
  assert.equal(Buffer.from(write(datagrams, 1200)).toString('latin1'), '\x31\x02ab\x31\x01c');
  assert.equal(datagrams.hasFrames, false);
});

test('RFC 9221 §5: a payload that does not fit into the rest of a packet waits for the next', () => {
  const datagrams = new DatagramFrames(65_535);
  datagrams.setLimits(65_536, 1200);
  datagrams.send(Buffer.alloc(700));
  datagrams.send(Buffer.alloc(700));
  assert.equal(write(datagrams, 1200).length, 703);
  assert.equal(write(datagrams, 1200).length, 703);
  assert.equal(datagrams.dropped, 0);
});

test('RFC 9221 §5: payloads that a smaller path does not take are dropped', () => {
  const datagrams = new DatagramFrames(65_535);
  datagrams.setLimits(65_536, 1400);
  datagrams.send(Buffer.alloc(1300));
  datagrams.send(Buffer.from('x'));
  datagrams.setLimits(65_536, 1200);
  assert.equal(write(datagrams, 1200).length, 3);
  assert.equal(datagrams.dropped, 1);
});

test('RFC 9221 §3: a frame that was not announced, or is larger, is a PROTOCOL_VIOLATION', () => {
  const bytes = Buffer.alloc(1000);
  for (const datagrams of [new DatagramFrames(0), new DatagramFrames(1000)]) {
    const error = datagrams.datagram(bytes, 0, 1000);
    assert.equal(error?.code, TransportErrorCode.PROTOCOL_VIOLATION);
  }
  assert.equal(new DatagramFrames(1000).datagram(bytes, 0, 999), undefined);
});

test('received payloads are copies, in their order', () => {
  const datagrams = new DatagramFrames(65_535);
  const packet = Buffer.from('..one.two');
  datagrams.datagram(packet, 2, 3);
  datagrams.datagram(packet, 6, 3);
  packet.fill(0);
  assert.equal(Buffer.from(datagrams.next() ?? []).toString(), 'one');
  assert.equal(Buffer.from(datagrams.next() ?? []).toString(), 'two');
  assert.equal(datagrams.next(), undefined);
});

test('both queues are bounded in number, and drop the newest', () => {
  const datagrams = new DatagramFrames(65_535);
  datagrams.setLimits(65_536, 1200);
  for (let i = 0; i < MAX_QUEUED_DATAGRAMS; i++) {
    assert.equal(datagrams.send(Buffer.from('x')), true);
    datagrams.datagram(Buffer.from([i & 0xff]), 0, 1);
  }
  assert.equal(datagrams.send(Buffer.from('x')), false);
  assert.equal(datagrams.datagram(Buffer.from('x'), 0, 1), undefined);
  assert.equal(datagrams.queued, MAX_QUEUED_DATAGRAMS);
  assert.equal(datagrams.waiting, MAX_QUEUED_DATAGRAMS);
  assert.equal(datagrams.dropped, 2);
  assert.equal(datagrams.next()?.[0], 0);
  assert.equal(datagrams.datagram(Buffer.from('x'), 0, 1), undefined);
  assert.equal(datagrams.dropped, 2);
});

test('both queues are bounded in bytes', () => {
  const datagrams = new DatagramFrames(65_535);
  datagrams.setLimits(65_536, 60_000);
  const payload = Buffer.alloc(50_000);
  const most = Math.floor(MAX_QUEUED_DATAGRAM_BYTES / payload.length);
  for (let i = 0; i < most; i++) {
    assert.equal(datagrams.send(payload), true);
    datagrams.datagram(payload, 0, payload.length);
  }
  assert.equal(datagrams.send(payload), false);
  datagrams.datagram(payload, 0, payload.length);
  assert.deepEqual([datagrams.queued, datagrams.waiting], [most, most]);
});
