import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AckSchedule } from '../../../../src/quic/recovery/ack-schedule.ts';
import { SentFrames } from '../../../../src/quic/recovery/sent-frames.ts';
import { Space } from '../../../../src/quic/recovery/space.ts';

const DELAY = 25;
const ECT1 = 1;
const ECT0 = 2;
const CE = 3;

const schedule = (space: Space = Space.APPLICATION): AckSchedule => new AckSchedule(space, DELAY);

describe('when to acknowledge (RFC 9000 §13.2)', () => {
  test('one packet after max_ack_delay, the second at once (§13.2.2)', () => {
    const acks = schedule();
    acks.onReceived(0, true, 0, 100);
    assert.equal(acks.deadline, 100 + DELAY);
    acks.onReceived(1, true, 0, 110);
    assert.equal(acks.deadline, 110);
    acks.onAckSent(new SentFrames());
    assert.equal(acks.deadline, Infinity);
    acks.onReceived(2, true, 0, 200);
    assert.equal(acks.deadline, 200 + DELAY);
  });

  test('later packets do not put off the deadline', () => {
    const acks = schedule();
    acks.onReceived(0, true, 0, 100);
    acks.onReceived(1, false, 0, 120);
    assert.equal(acks.deadline, 100 + DELAY);
  });

  test('packets that elicit nothing are not acknowledged alone (§13.2.1)', () => {
    const acks = schedule();
    for (let number = 0; number < 10; number++) acks.onReceived(number, false, 0, number);
    assert.equal(acks.deadline, Infinity);
    assert.equal(acks.isPending, false);
    assert.equal(acks.ranges.largest(0), 9);
  });

  for (const { name, numbers } of [
    { name: 'a packet after a gap', numbers: [0, 2] },
    { name: 'a packet before others', numbers: [1, 0] },
  ]) {
    test(`${name} is acknowledged at once (§13.2.1)`, () => {
      const acks = schedule();
      for (const number of numbers) {
        acks.onAckSent(new SentFrames());
        acks.onReceived(number, true, 0, 100);
      }
      assert.equal(acks.deadline, 100);
    });
  }

  test('after a gap packets in their order are delayed again', () => {
    const acks = schedule();
    acks.onReceived(0, true, 0, 0);
    acks.onReceived(2, true, 0, 0);
    acks.onAckSent(new SentFrames());
    acks.onReceived(3, true, 0, 50);
    assert.equal(acks.deadline, 50 + DELAY);
  });

  test('a Congestion Experienced mark is acknowledged at once (§13.2.1)', () => {
    const acks = schedule();
    acks.onReceived(0, true, CE, 100);
    assert.equal(acks.deadline, 100);
  });

  test('packets of the handshake are acknowledged at once (§13.2.1)', () => {
    for (const space of [Space.INITIAL, Space.HANDSHAKE]) {
      const acks = schedule(space);
      acks.onReceived(0, true, 0, 100);
      assert.equal(acks.deadline, 100);
    }
  });

  test('the delay is that of the largest packet, scaled by the exponent (§13.2.5)', () => {
    const acks = schedule();
    acks.onReceived(5, true, 0, 100);
    acks.onReceived(3, true, 0, 120);
    assert.equal(acks.delayField(3, 130), 30_000 / 8);
    assert.equal(acks.delayField(0, 130.5), 30_500);
    assert.equal(acks.delayField(3, 99), 0);
  });

  test('marks are counted by kind (§13.4.1)', () => {
    const acks = schedule();
    acks.onReceived(0, true, 0, 0);
    assert.equal(acks.ecn, undefined);
    for (const [index, mark] of [ECT0, ECT0, ECT1, CE, ECT0].entries()) {
      acks.onReceived(index + 1, true, mark, 0);
    }
    assert.deepEqual(acks.ecn, { ect0: 3, ect1: 1, ce: 1 });
  });
});
