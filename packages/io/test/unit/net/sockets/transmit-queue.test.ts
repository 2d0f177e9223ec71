import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DatagramSocket, type SendResult, type Transmit, blankEndpoint } from '@weir/base/ip';
import {
  BATCHED_BYTES,
  type BatchOwner,
  MAX_BATCHES,
  TransmitQueue,
} from '../../../../src/net/sockets/transmit-queue.ts';

const PEER = blankEndpoint();
const ALL: SendResult = {
  done: Infinity,
  sentBytes: 0,
  full: false,
  tooLarge: 0,
  firstTooLarge: -1,
};

/** A queue on a socket that records the bytes of each call, first the bytes to skip. */
function create(overhead?: number) {
  const calls: number[][] = [];
  const socket = {
    send(transmits: readonly Transmit[], count = transmits.length, sentBytes = 0): SendResult {
      calls.push([sentBytes, ...transmits.slice(0, count).map(({ length }) => length)]);
      const result = script.next();
      return { ...result, done: Math.min(result.done, count) };
    },
  } as unknown as DatagramSocket;
  const script = { next: (): SendResult => ALL };
  return { calls, script, queue: new TransmitQueue(socket, overhead) };
}

function push(queue: TransmitQueue, length: number, owner?: BatchOwner, segmentSize = 0): void {
  const batch = queue.current;
  assert.equal(batch.length, 0);
  batch.begin(PEER, undefined);
  batch.length = length;
  batch.segmentSize = segmentSize;
  batch.owner = owner;
  queue.push();
}

test('batches leave with one call, when there are enough of them or they are flushed', () => {
  const { queue, calls } = create();
  for (let i = 0; i < MAX_BATCHES + 1; i++) push(queue, 100);
  assert.deepEqual(calls, [[0, ...Array.from({ length: MAX_BATCHES }, () => 100)]]);
  queue.flush();
  queue.flush();
  assert.deepEqual(calls.slice(1), [[0, 100]]);
  const many = create();
  for (let i = 0; i < 3; i++) push(many.queue, BATCHED_BYTES / 2);
  assert.deepEqual(many.calls, [[0, BATCHED_BYTES / 2, BATCHED_BYTES / 2]]);
});

test('what a full socket has not taken is sent from there on when it has room', () => {
  const { queue, calls, script } = create();
  for (const length of [100, 200, 300]) push(queue, length);
  script.next = () => ({ ...ALL, done: 1, sentBytes: 50, full: true });
  queue.flush();
  assert.deepEqual([queue.isBlocked, queue.bytes], [true, 500]);
  queue.flush();
  push(queue, 400);
  assert.equal(calls.length, 1);
  script.next = () => ALL;
  queue.unblock();
  queue.flush();
  assert.deepEqual(calls.slice(1), [[50, 200, 300, 400]]);
  assert.deepEqual([queue.isBlocked, queue.bytes], [false, 0]);
});

test('buffers are used again', () => {
  const { queue } = create();
  const buffers = new Set<Uint8Array>();
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 3; i++) {
      buffers.add(queue.current.buffer);
      push(queue, 100);
    }
    queue.flush();
  }
  assert.equal(buffers.size, 3);
});

test('a datagram that the path does not take is reported to its sender, without the overhead', () => {
  const { queue, script } = create(8);
  const reported: [string, number][] = [];
  const owner = (name: string): BatchOwner => ({
    onTooLarge: (bytes) => reported.push([name, bytes]),
  });
  script.next = () => ({ ...ALL, tooLarge: 1, firstTooLarge: 1 });
  push(queue, 1000, owner('first'));
  push(queue, 3000, owner('second'), 1500);
  queue.flush();
  push(queue, 1000, owner('first'));
  push(queue, 1400, owner('third'));
  queue.flush();
  push(queue, 1000);
  push(queue, 1000);
  queue.flush();
  assert.deepEqual(reported, [
    ['second', 1492],
    ['third', 1392],
  ]);
});

test('a send that throws has lost its batches, and the next one is made as before', () => {
  const { queue, calls, script } = create();
  script.next = () => {
    throw new Error('the fault');
  };
  for (let i = 0; i < 2; i++) {
    push(queue, 100);
    assert.throws(() => queue.flush(), /the fault/);
    assert.deepEqual([queue.bytes, queue.isBlocked], [0, false]);
  }
  script.next = () => ALL;
  push(queue, 200);
  queue.flush();
  assert.deepEqual(calls, [
    [0, 100],
    [0, 100],
    [0, 200],
  ]);
});
