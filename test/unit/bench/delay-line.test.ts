import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DelayLine, type Tally } from '../../../bench/path/delay-line.ts';
import type { Path } from '../../../bench/path/messages.ts';
import { type DatagramSocket, type ReceivedDatagrams, blankEndpoint } from '@weir/base/ip';
import { SeededRandom } from '../../support/simnet/seeded-random.ts';

const PATH: Path = { roundTrip: 50, loss: 0, rate: 1e9, queue: 1 << 20 };
const SIZE = 1200;
const MUCH_LATER = 1e9;

/** A line into a socket that keeps the first four bytes of each datagram, as a number. */
function rig(path: Partial<Path>) {
  const tally: Tally = { passed: 0, lost: 0, full: 0 };
  const line = new DelayLine({ ...PATH, ...path }, new SeededRandom(1), tally);
  const sent: number[] = [];
  /** Datagrams that the socket takes before it is full. */
  const room = { left: Infinity };
  const socket: DatagramSocket = {
    local: blankEndpoint(),
    features: {
      segmentation: true,
      coalescing: true,
      ownAddress: false,
      ecn: false,
      dontFragment: false,
      overflow: false,
    },
    closed: new Promise(() => undefined),
    dropped: 0,
    overflowed: 0,
    close: () => undefined,
    send: (transmits, count = transmits.length, sentBytes = 0) => {
      const result = { tooLarge: 0, firstTooLarge: -1 };
      let from = sentBytes;
      for (let i = 0; i < count; i++) {
        const { buffer, offset, length, segmentSize } = transmits[i] ?? assert.fail();
        const bytes = Buffer.from(buffer.buffer, buffer.byteOffset + offset, length);
        for (; from < length; from += segmentSize) {
          if (room.left-- <= 0) return { ...result, done: i, sentBytes: from, full: true };
          sent.push(bytes.readUInt32BE(from));
        }
        from = 0;
      }
      return { ...result, done: count, sentBytes: 0, full: false };
    },
  };
  line.open(socket, blankEndpoint());
  let next = 0;
  /** One record of so many datagrams, numbered on. */
  const record = (count: number, last = SIZE): ReceivedDatagrams => {
    const buffer = Buffer.alloc((count - 1) * SIZE + last);
    for (let i = 0; i < count; i++) buffer.writeUInt32BE(next++, i * SIZE);
    const [length, stride] = [buffer.length, count === 1 ? last : SIZE];
    return { peer: blankEndpoint(), buffer, offset: 0, length, stride, own: undefined, ecn: 0 };
  };
  return { line, tally, sent, room, record };
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test('datagrams leave in order, half a round trip after they came', () => {
  const { line, sent, record } = rig({});
  line.take(record(3, 700), 0);
  line.take(record(1), 1);
  line.release(25);
  assert.deepEqual(sent, []);
  line.release(25.9);
  assert.deepEqual(sent, numbers(3));
  line.release(30);
  assert.deepEqual(sent, numbers(4));
  assert.equal(line.due, Infinity);
});

test('the chosen part of all datagrams is lost, out of trains as well, and the rest keeps its bytes', () => {
  const { line, tally, sent, record } = rig({ loss: 0.05 });
  const TRAINS = 2000;
  for (let i = 0; i < TRAINS; i++) {
    line.take(record(1 + (i % 20)), i);
    line.release(i);
  }
  line.release(MUCH_LATER);
  const all = tally.passed + tally.lost;
  assert.equal(all, (TRAINS / 20) * 210);
  assert.equal(sent.length, tally.passed);
  assert.ok(Math.abs(tally.lost / all - 0.05) < 0.005, `${tally.lost} of ${all}`);
  assert.deepEqual(
    sent,
    sent.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(sent).size, sent.length);
});

test('a bottleneck spaces datagrams, and drops what its queue has no room for', () => {
  const { line, tally, sent, record } = rig({ rate: 1_200_000, queue: 10 * SIZE, roundTrip: 0 });
  for (let i = 0; i < 12; i++) line.take(record(1), 0);
  assert.deepEqual(tally, { passed: 10, lost: 0, full: 2 });
  // A datagram a millisecond.
  line.release(4.5);
  assert.deepEqual(sent, numbers(4));
  line.release(10);
  assert.deepEqual(sent, numbers(10));
});

test('what a full socket does not take leaves when it has room, from the datagram on where it stopped', () => {
  const { line, sent, room, record } = rig({});
  line.take(record(5), 0);
  line.take(record(5), 0);
  room.left = 7;
  line.release(100);
  assert.deepEqual(sent, numbers(7));
  assert.equal(line.due, Infinity);
  room.left = Infinity;
  line.unblock(101);
  assert.deepEqual(sent, numbers(10));
});

test('datagrams keep their bytes when their memory is used again many times over', () => {
  const { line, tally, sent, record } = rig({ roundTrip: 10, queue: 1 << 20 });
  const TRAINS = 2000;
  for (let i = 0; i < TRAINS; i++) {
    line.take(record(1 + (i % 40), SIZE / 2), i);
    line.release(i);
  }
  line.release(MUCH_LATER);
  assert.equal(tally.full, 0);
  assert.deepEqual(sent, numbers((TRAINS / 40) * 820));
});

test('a datagram beyond the MTU is dropped', () => {
  const { line, tally, record } = rig({});
  line.take(record(1, 1473), 0);
  line.take(record(1, 1472), 0);
  assert.deepEqual(tally, { passed: 1, lost: 0, full: 1 });
});
