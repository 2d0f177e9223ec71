import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CarriedLog } from '../../../../src/quic/recovery/carried.ts';
import { MAX_CARRIED, MAX_CARRIED_PER_PACKET } from '../../../../src/quic/recovery/limits.ts';
import { Space } from '../../../../src/quic/recovery/space.ts';
import { Recorder } from './rig.ts';

/** Each frame that is remembered, and how its owner hears of it. */
const FRAMES: readonly (readonly [write: (log: CarriedLog) => void, heard: string])[] = [
  [(log) => log.crypto(10, 20), 'crypto in 1: 10+20'],
  [(log) => log.stream(4, 2 ** 52, 1000, false), `stream 4: ${2 ** 52}+1000`],
  [(log) => log.stream(8, 0, 0, true), 'stream 8: 0+0 fin'],
  [(log) => log.resetStream(12), 'reset of 12'],
  [(log) => log.stopSending(16), 'stop of 16'],
  [(log) => log.maxData(1e9), 'max data 1000000000'],
  [(log) => log.maxStreamData(4, 500), 'max data of 4: 500'],
  [(log) => log.maxStreams(true, 7), 'max bidi streams 7'],
  [(log) => log.maxStreams(false, 8), 'max uni streams 8'],
  [(log) => log.dataBlocked(99), 'blocked at 99'],
  [(log) => log.streamDataBlocked(4, 98), '4 blocked at 98'],
  [(log) => log.streamsBlocked(true, 97), 'bidi streams blocked at 97'],
  [(log) => log.streamsBlocked(false, 96), 'uni streams blocked at 96'],
  [(log) => log.newConnectionId(3), 'new id 3'],
  [(log) => log.retireConnectionId(2), 'retired id 2'],
  [(log) => log.newToken(), 'token'],
  [(log) => log.handshakeDone(), 'handshake done'],
  [(log) => log.ack(77), 'ack in 1 up to 77'],
  [(log) => log.datagram(1200), 'datagram of 1200'],
  [(log) => log.mtuProbe(1452), 'probe of 1452'],
];

describe('what packets carried (RFC 9000 §13.3)', () => {
  test('every frame reaches its owner with its numbers', () => {
    const log = new CarriedLog(Space.HANDSHAKE);
    const owner = new Recorder();
    for (const [write] of FRAMES) write(log);
    const { start, count } = log;
    log.take();
    for (const outcome of ['acknowledged', 'lost'] as const) {
      log.settle(outcome, start, count, owner);
      assert.deepEqual(
        owner.take(),
        FRAMES.map(([, heard]) => `${outcome} ${heard}`),
      );
    }
  });

  test('a packet that is not sent carried nothing', () => {
    const log = new CarriedLog(Space.INITIAL);
    const owner = new Recorder();
    log.maxData(1);
    log.take();
    log.maxData(2);
    log.rollback();
    assert.equal(log.count, 0);
    log.maxData(3);
    log.settle('lost', 0, 2, owner);
    assert.deepEqual(owner.take(), ['lost max data 1', 'lost max data 3']);
  });

  test('rows keep their place as the ring grows and wraps', () => {
    const log = new CarriedLog(Space.APPLICATION);
    const owner = new Recorder();
    const sent: number[] = [];
    let next = 0;
    for (let round = 0; round < 400; round++) {
      for (let i = 0; i < (round < 200 ? 3 : 1); i++) {
        log.maxData(next);
        sent.push(next++);
      }
      log.take();
      for (let i = 0; i < (round < 200 ? 1 : 2) && sent.length > 1; i++) {
        const oldest = sent.shift() ?? 0;
        log.settle('acknowledged', oldest, 1, owner);
        assert.deepEqual(owner.take(), [`acknowledged max data ${oldest}`]);
        log.release(oldest + 1);
      }
    }
    assert.equal(log.size, sent.length);
  });

  test('the writers of a packet are notified when it holds enough', () => {
    const log = new CarriedLog(Space.APPLICATION);
    for (let i = 0; i < MAX_CARRIED_PER_PACKET; i++) {
      assert.equal(log.isPacketFull, false);
      log.maxData(i);
    }
    assert.equal(log.isPacketFull, true);
    log.take();
    assert.equal(log.isPacketFull, false);
  });

  test('at the bound it is full, and has room again when packets are forgotten', () => {
    const log = new CarriedLog(Space.APPLICATION);
    while (!log.isFull) {
      for (let i = 0; i < MAX_CARRIED_PER_PACKET; i++) log.maxData(i);
      log.take();
    }
    assert.ok(log.size <= MAX_CARRIED);
    log.release(MAX_CARRIED_PER_PACKET);
    assert.equal(log.isFull, false);
    log.release(log.start);
    assert.equal(log.size, 0);
    log.maxData(5);
    const owner = new Recorder();
    log.settle('lost', log.start, 1, owner);
    assert.deepEqual(owner.take(), ['lost max data 5']);
  });
});
