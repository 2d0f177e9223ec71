import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_WAITING_PACKET_BYTES,
  MAX_WAITING_PACKETS,
} from '../../../../src/protocols/wireguard/limits.ts';
import { WaitingPackets } from '../../../../src/protocols/wireguard/waiting-packets.ts';

const SIZE = MAX_WAITING_PACKET_BYTES / 16;

test('as many bytes wait as may, and the oldest packet gives way to one more', () => {
  const waiting = new WaitingPackets();
  for (let index = 0; index < 16; index++) waiting.push(new Uint8Array(SIZE).fill(index));
  assert.equal(waiting.dropped, 0);
  waiting.push(Uint8Array.of(16));
  assert.equal(waiting.dropped, 1);
  assert.equal(waiting.peek()?.[0], 1);
  // What was sent makes room.
  waiting.shift();
  waiting.push(new Uint8Array(2 * SIZE - 1).fill(17));
  assert.equal(waiting.dropped, 1);
  assert.equal(waiting.peek()?.[0], 2);
});

test('as many packets wait as may, whatever their size', () => {
  const waiting = new WaitingPackets();
  for (let index = 0; index < MAX_WAITING_PACKETS; index++) waiting.push(new Uint8Array(0));
  assert.equal(waiting.dropped, 0);
  waiting.push(Uint8Array.of(1));
  assert.equal(waiting.dropped, 1);
});

test('packets that are given up count as dropped, and make room', () => {
  const waiting = new WaitingPackets();
  for (let index = 0; index < 16; index++) waiting.push(new Uint8Array(SIZE));
  waiting.clear();
  assert.equal(waiting.dropped, 16);
  assert.equal(waiting.peek(), undefined);
  waiting.shift();
  for (let index = 0; index < 16; index++) waiting.push(new Uint8Array(SIZE));
  assert.equal(waiting.dropped, 16);
});
