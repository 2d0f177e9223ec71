import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Space } from '../../../../src/quic/recovery/space.ts';
import { RecoveryRig } from '../../../support/quic/recovery-rig.ts';

/** Without a measurement: 333 ms and four times half of it (RFC 9002 §6.2.2). */
const INITIAL = 999;

describe('the probe timeout (RFC 9002 §6.2.1)', () => {
  test('smoothed round trip, four variations, and max_ack_delay for application data', () => {
    const rig = new RecoveryRig();
    rig.send();
    assert.equal(rig.loss.timeout, rig.now + INITIAL + 25);
    rig.now += 100;
    rig.ack([0]);
    rig.send();
    assert.equal(rig.loss.timeout, rig.now + 100 + 200 + 25);
    rig.loss.setPeer(50, 3, rig.now);
    assert.equal(rig.loss.timeout, rig.now + 100 + 200 + 50);
    assert.equal(rig.loss.probeTimeout(), 350);
  });

  test('at least a granularity of variation', () => {
    const rig = new RecoveryRig();
    for (let number = 0; number < 60; number++) {
      rig.send();
      rig.now += 8;
      rig.ack([number]);
    }
    rig.send();
    assert.equal(Math.round((rig.loss.timeout - rig.now) * 1000), (8 + 1 + 25) * 1000);
  });

  test('each packet that is sent starts it again', () => {
    const rig = new RecoveryRig();
    rig.send();
    rig.now += 500;
    rig.send();
    assert.equal(rig.loss.timeout, rig.now + INITIAL + 25);
    rig.now += 100;
    rig.send({ ackEliciting: false });
    assert.equal(rig.loss.timeout, rig.now - 100 + INITIAL + 25);
  });

  test('it doubles each time, and starts anew with an acknowledgement', () => {
    const rig = new RecoveryRig();
    rig.send();
    for (let doubling = 1; doubling <= 5; doubling++) {
      rig.expire();
      assert.equal(rig.loss.ptoCount, doubling);
      rig.send();
      assert.equal(rig.loss.timeout, rig.now + (INITIAL + 25) * 2 ** doubling);
    }
    rig.ack([5]);
    assert.equal(rig.loss.ptoCount, 0);
  });

  test('the doubling ends, so that deadlines stay numbers', () => {
    const rig = new RecoveryRig();
    rig.send();
    for (let i = 0; i < 2000; i++) rig.expire();
    assert.ok(Number.isSafeInteger(Math.floor(rig.loss.timeout)));
  });

  test('no acknowledgement is awaited of packets that elicit none', () => {
    const rig = new RecoveryRig();
    rig.sendMany(3, { ackEliciting: false });
    assert.equal(rig.loss.timeout, Infinity);
  });

  test('a loss that is due comes before it', () => {
    const rig = new RecoveryRig();
    rig.sendMany(3);
    rig.now += 10;
    rig.ack([1]);
    rig.expire();
    assert.equal(rig.loss.ptoCount, 0);
    assert.equal(rig.loss.probesDue(Space.APPLICATION), 0);
  });

  test('it is no loss: nothing leaves flight, and the window stays (§6.2)', () => {
    const rig = new RecoveryRig();
    const { window } = rig.control.controller;
    rig.sendMany(3);
    rig.expire();
    assert.equal(rig.control.inFlight, 3000);
    assert.equal(rig.control.controller.window, window);
  });

  test('application data has none before the handshake is confirmed', () => {
    const rig = new RecoveryRig('server', { confirmed: false });
    rig.send();
    assert.equal(rig.loss.timeout, Infinity);
    rig.loss.onHandshakeConfirmed(rig.now);
    assert.equal(rig.loss.timeout, rig.now + INITIAL + 25);
  });

  test('the earliest space comes first, without max_ack_delay in the handshake', () => {
    const rig = new RecoveryRig('server', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    const first = rig.now;
    rig.now += 10;
    rig.send({ space: Space.HANDSHAKE });
    assert.equal(rig.loss.timeout, first + INITIAL);
    rig.ack([0], { space: Space.INITIAL });
    rig.loss.discard(Space.INITIAL, rig.now);
    const { smoothed, variation } = rig.control.rtt;
    assert.equal(rig.loss.timeout, rig.now + smoothed + 4 * variation);
  });

  test('discarded keys start it anew (§6.2.2)', () => {
    const rig = new RecoveryRig('client', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    rig.expire();
    rig.loss.onHandshakeKeys(rig.now);
    rig.send({ space: Space.HANDSHAKE });
    rig.loss.discard(Space.INITIAL, rig.now);
    assert.equal(rig.loss.ptoCount, 0);
    assert.equal(rig.loss.timeout, rig.now + INITIAL);
  });
});

describe('probes (RFC 9002 §6.2.4)', () => {
  test('two packets may leave, and the oldest data is offered for them', () => {
    const rig = new RecoveryRig();
    rig.sendMany(3);
    assert.deepEqual(rig.expire(), ['lost 0', 'lost 1']);
    assert.equal(rig.loss.probesDue(Space.APPLICATION), 2);
    rig.send();
    assert.equal(rig.loss.probesDue(Space.APPLICATION), 1);
    rig.send({ ackEliciting: false });
    assert.equal(rig.loss.probesDue(Space.APPLICATION), 1);
    rig.send();
    assert.equal(rig.loss.probesDue(Space.APPLICATION), 0);
  });

  test('what was offered for a probe can still be acknowledged, or lost', () => {
    const rig = new RecoveryRig();
    rig.sendMany(2);
    rig.expire();
    rig.sendMany(4);
    rig.now += 10;
    assert.deepEqual(rig.ack([5, 0]).sort(), [
      'acknowledged 0',
      'acknowledged 5',
      'lost 1',
      'lost 2',
    ]);
  });

  test('an acknowledgement makes probes needless', () => {
    const rig = new RecoveryRig();
    rig.sendMany(2);
    rig.expire();
    rig.ack([0]);
    assert.equal(rig.loss.probesDue(Space.APPLICATION), 0);
  });

  test('MTU probes and packets of other paths are not repeated', () => {
    const rig = new RecoveryRig();
    rig.send({ mtuProbe: true, bytes: 1400 });
    rig.send({ offPath: true });
    rig.send();
    assert.deepEqual(rig.expire(), ['lost 2']);
  });

  test('both spaces of the handshake are probed at once, in one datagram', () => {
    const rig = new RecoveryRig('server', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    rig.sendMany(2, { space: Space.HANDSHAKE });
    rig.expire();
    assert.equal(rig.loss.probesDue(Space.INITIAL), 2);
    assert.equal(rig.loss.probesDue(Space.HANDSHAKE), 1);
    assert.equal(rig.loss.probesDue(Space.APPLICATION), 0);
  });
});

describe('before the peer has validated the address (RFC 9002 §6.2.2.1)', () => {
  test('a client probes with an Initial packet although nothing is in flight', () => {
    const rig = new RecoveryRig('client', { confirmed: false });
    assert.equal(rig.loss.timeout, Infinity);
    rig.send({ space: Space.INITIAL });
    rig.now += 100;
    rig.ack([0], { space: Space.INITIAL });
    assert.equal(rig.loss.timeout, rig.now + 100 + 200);
    rig.expire();
    assert.equal(rig.loss.probesDue(Space.INITIAL), 1);
    assert.equal(rig.loss.probesDue(Space.HANDSHAKE), 0);
  });

  test('it probes with a Handshake packet once it can', () => {
    const rig = new RecoveryRig('client', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    rig.now += 100;
    rig.ack([0], { space: Space.INITIAL });
    rig.loss.onHandshakeKeys(rig.now);
    rig.expire();
    assert.equal(rig.loss.probesDue(Space.INITIAL), 0);
    assert.equal(rig.loss.probesDue(Space.HANDSHAKE), 1);
  });

  test('it goes on when only application data is in flight that cannot be acknowledged yet', () => {
    const rig = new RecoveryRig('client', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    rig.now += 100;
    rig.ack([0], { space: Space.INITIAL });
    rig.send();
    assert.notEqual(rig.loss.timeout, Infinity);
  });

  test('an acknowledged Initial packet does not end the backoff of a client', () => {
    const rig = new RecoveryRig('client', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    rig.expire();
    rig.send({ space: Space.INITIAL });
    rig.ack([0], { space: Space.INITIAL });
    assert.equal(rig.loss.ptoCount, 1);
    rig.send({ space: Space.HANDSHAKE });
    rig.ack([0], { space: Space.HANDSHAKE });
    assert.equal(rig.loss.ptoCount, 0);
  });

  test('an acknowledged Handshake packet or the confirmation ends these probes', () => {
    for (const how of ['acknowledged', 'confirmed']) {
      const rig = new RecoveryRig('client', { confirmed: false });
      rig.send({ space: Space.INITIAL });
      rig.loss.onHandshakeKeys(rig.now);
      rig.send({ space: Space.HANDSHAKE });
      rig.loss.discard(Space.INITIAL, rig.now);
      if (how === 'acknowledged') rig.ack([0], { space: Space.HANDSHAKE });
      else {
        rig.loss.discard(Space.HANDSHAKE, rig.now);
        assert.notEqual(rig.loss.timeout, Infinity);
        rig.loss.onHandshakeConfirmed(rig.now);
      }
      assert.equal(rig.loss.timeout, Infinity);
    }
  });

  test('a server does not probe for credit', () => {
    const rig = new RecoveryRig('server', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    rig.ack([0], { space: Space.INITIAL });
    assert.equal(rig.loss.timeout, Infinity);
  });

  test('a server at its amplification limit has no timeout until it has room', () => {
    const rig = new RecoveryRig('server', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    const { timeout } = rig.loss;
    rig.loss.setAmplificationLimited(true, rig.now);
    assert.equal(rig.loss.timeout, Infinity);
    rig.now += 5000;
    rig.loss.setAmplificationLimited(false, rig.now);
    assert.equal(rig.loss.timeout, timeout);
    rig.expire();
    assert.equal(rig.loss.probesDue(Space.INITIAL), 2);
  });
});

test('a deadline that is not reached does nothing', () => {
  const rig = new RecoveryRig();
  rig.send();
  rig.loss.onTimeout(rig.loss.timeout - 1);
  assert.deepEqual(rig.recorder.take(), []);
  assert.equal(rig.loss.ptoCount, 0);
});
