import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_FRAMES, MAX_FRAMES_PER_PACKET } from '../../../../src/quic/recovery/limits.ts';
import { SentFrames } from '../../../../src/quic/recovery/sent-frames.ts';
import { Recorder } from '../../../support/quic/recovery-rig.ts';

describe('the frames of sent packets (RFC 9000 §13.3)', () => {
  test('every listener gets the numbers of its frame', () => {
    const log = new SentFrames();
    const [one, other] = [new Recorder(), new Recorder()];
    log.add(one, 4, 2 ** 52, 1000);
    log.add(other, 8);
    log.add(one, 10, 20);
    const { start, count } = log;
    log.take();
    log.acknowledge(start, count);
    assert.deepEqual(one.take(), [`acknowledged 4 ${2 ** 52} 1000`, 'acknowledged 10 20']);
    assert.deepEqual(other.take(), ['acknowledged 8']);
    log.lose(start, count);
    assert.deepEqual(one.take(), [`lost 4 ${2 ** 52} 1000`, 'lost 10 20']);
    assert.deepEqual(other.take(), ['lost 8']);
  });

  test('frames keep their place as the ring grows and wraps', () => {
    const log = new SentFrames();
    const recorder = new Recorder();
    const sent: number[] = [];
    let next = 0;
    for (let round = 0; round < 400; round++) {
      for (let i = 0; i < (round < 200 ? 3 : 1); i++) {
        log.add(recorder, next);
        sent.push(next++);
      }
      log.take();
      for (let i = 0; i < (round < 200 ? 1 : 2) && sent.length > 1; i++) {
        const oldest = sent.shift() ?? 0;
        log.acknowledge(oldest, 1);
        assert.deepEqual(recorder.take(), [`acknowledged ${oldest}`]);
        log.release(oldest + 1);
      }
    }
    assert.equal(log.size, sent.length);
  });

  test('the writers of a packet are notified when it holds enough', () => {
    const log = new SentFrames();
    const recorder = new Recorder();
    for (let i = 0; i < MAX_FRAMES_PER_PACKET; i++) {
      assert.equal(log.isPacketFull, false);
      log.add(recorder, i);
    }
    assert.equal(log.isPacketFull, true);
    log.take();
    assert.equal(log.isPacketFull, false);
  });

  test('at the bound it is full, and has room again when packets are forgotten', () => {
    const log = new SentFrames();
    const recorder = new Recorder();
    while (!log.isFull) {
      for (let i = 0; i < MAX_FRAMES_PER_PACKET; i++) log.add(recorder, i);
      log.take();
    }
    assert.ok(log.size <= MAX_FRAMES);
    log.release(MAX_FRAMES_PER_PACKET);
    assert.equal(log.isFull, false);
    log.release(log.start);
    assert.equal(log.size, 0);
    log.add(recorder, 5);
    log.lose(log.start, 1);
    assert.deepEqual(recorder.take(), ['lost 5']);
  });

  test('listeners of released frames are not retained', () => {
    const log = new SentFrames();
    const recorder = new Recorder();
    log.add(recorder, 1);
    log.take();
    log.release(log.start);
    log.lose(0, 1);
    assert.deepEqual(recorder.take(), []);
  });
});
