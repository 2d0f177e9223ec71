import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TransportErrorCode } from '../../../../src/quic/errors.ts';
import { Space } from '../../../../src/quic/recovery/space.ts';
import { newControl, PACKET, RecoveryRig } from '../../../support/quic/recovery-rig.ts';

describe('acknowledgements', () => {
  test('each newly acknowledged packet is reported once (RFC 9002 §A.7)', () => {
    const rig = new RecoveryRig();
    rig.sendMany(3);
    rig.now += 100;
    assert.deepEqual(rig.ack([[0, 1]]), ['acknowledged 0', 'acknowledged 1']);
    assert.deepEqual(rig.ack([[0, 2]]), ['acknowledged 2']);
    assert.deepEqual(rig.ack([[0, 2]]), []);
    assert.equal(rig.control.inFlight, 0);
    assert.equal(rig.loss.isAckElicitingInFlight, false);
  });

  test('the round trip comes from the largest, if it is newly acknowledged (RFC 9002 §5.1)', () => {
    const rig = new RecoveryRig();
    rig.send();
    rig.now += 10;
    rig.send();
    rig.now += 50;
    rig.ack([1]);
    assert.equal(rig.control.rtt.latest, 50);
    rig.now += 100;
    rig.ack([[0, 1]]);
    assert.equal(rig.control.rtt.latest, 50);
  });

  test('packets that elicit no acknowledgement measure no round trip alone (RFC 9002 §5.1)', () => {
    const rig = new RecoveryRig();
    rig.send({ ackEliciting: false });
    rig.now += 50;
    rig.ack([0]);
    assert.equal(rig.control.rtt.firstSampleAt, undefined);
  });

  test('a delay counts up to max_ack_delay once the handshake is confirmed (RFC 9002 §5.3)', () => {
    for (const { confirmed, space, expected } of [
      { confirmed: true, space: Space.APPLICATION, expected: 100 + (200 - 25 - 100) / 8 },
      { confirmed: false, space: Space.HANDSHAKE, expected: 100 + (200 - 80 - 100) / 8 },
      { confirmed: false, space: Space.INITIAL, expected: 100 + (200 - 100) / 8 },
    ]) {
      const rig = new RecoveryRig('server', { confirmed });
      rig.send({ space });
      rig.now += 100;
      rig.ack([0], { space });
      rig.send({ space });
      rig.now += 200;
      rig.ack([[0, 1]], { space, delay: 80 });
      assert.equal(rig.control.rtt.smoothed, expected);
    }
  });

  test('the delay is scaled by ack_delay_exponent (RFC 9000 §19.3)', () => {
    const rig = new RecoveryRig();
    rig.loss.setPeer(100, 10, rig.now);
    rig.send();
    rig.now += 100;
    rig.ack([0]);
    rig.send();
    rig.now += 200;
    // 62.5 times 8 µs times 2^7: 64 ms.
    rig.ack([1], { delay: 0.5 });
    assert.equal(rig.control.rtt.smoothed, 100 + (200 - 64 - 100) / 8);
  });

  test('an acknowledgement of a packet that was never sent is an error (RFC 9000 §13.1)', () => {
    const rig = new RecoveryRig();
    rig.sendMany(2);
    for (const ranges of [[[0, 2]], [[2, 2]]] as const) {
      const error = rig.tryAck(ranges);
      assert.equal(error?.code, TransportErrorCode.PROTOCOL_VIOLATION);
      assert.equal(error.frameType, 0x02);
    }
  });

  test('an acknowledgement of a number that was skipped is an error (RFC 9000 §21.4)', () => {
    const rig = new RecoveryRig('server', { skips: true });
    let last = -1;
    let skipped = -1;
    while (skipped < 0) {
      const number = rig.send();
      if (number !== last + 1) skipped = number - 1;
      last = number;
      rig.now++;
      if (skipped < 0) rig.ack([[0, number]]);
    }
    assert.equal(rig.tryAck([[skipped + 1, last]]), undefined);
    const error = rig.tryAck([[0, last]]);
    assert.equal(error?.code, TransportErrorCode.PROTOCOL_VIOLATION);
  });

  test('skipped numbers grow rarer, and never count as lost (RFC 9000 §21.4)', () => {
    const rig = new RecoveryRig('server', { skips: true });
    const skipped: number[] = [];
    for (let expected = 0; expected < 20_000; expected++) {
      const number = rig.send();
      for (; expected < number; expected++) skipped.push(expected);
      rig.now++;
      rig.ack([number]);
    }
    assert.ok(skipped.length >= 3 && skipped.length <= 12, String(skipped));
    assert.equal(rig.loss.timeout, Infinity);
    assert.equal(rig.control.inFlight, 0);
  });
});

describe('packet threshold (RFC 9002 §6.1.1)', () => {
  test('a packet is lost when one sent three packets later has arrived', () => {
    const rig = new RecoveryRig();
    rig.sendMany(5);
    rig.now += 100;
    assert.deepEqual(rig.ack([2]), ['acknowledged 2']);
    assert.deepEqual(rig.ack([[2, 3]]), ['acknowledged 3', 'lost 0']);
    assert.deepEqual(rig.ack([[2, 4]]), ['acknowledged 4', 'lost 1']);
    assert.equal(rig.control.inFlight, 0);
  });

  test('a skipped number does not bring the threshold nearer', () => {
    const rig = new RecoveryRig('server', { skips: true });
    let number = rig.send();
    for (;;) {
      const next = rig.send();
      if (next !== number + 1) break;
      number = next;
    }
    rig.sendMany(2);
    rig.now += 100;
    // The packet before the gap; three numbers later is two packets later.
    const lost = rig.ack([number + 3, [0, number - 1]]).filter((event) => event.startsWith('lost'));
    assert.deepEqual(lost, []);
    assert.ok(rig.ack([[number + 3, number + 4]]).includes(`lost ${number}`));
  });

  test('spaces do not count for each other (RFC 9002 §6.1)', () => {
    const rig = new RecoveryRig('server', { confirmed: false });
    rig.send({ space: Space.INITIAL });
    rig.sendMany(5, { space: Space.HANDSHAKE });
    rig.now += 10;
    rig.ack([[0, 4]], { space: Space.HANDSHAKE });
    assert.equal(rig.loss.isAckElicitingInFlight, true);
  });
});

describe('time threshold (RFC 9002 §6.1.2)', () => {
  test('a packet is lost 9/8 of a round trip after it was sent, if a later one has arrived', () => {
    const rig = new RecoveryRig();
    rig.sendMany(2);
    const sentAt = rig.now;
    rig.now += 80;
    rig.ack([1]);
    assert.equal(rig.loss.timeout, sentAt + 90);
    rig.now += 9;
    rig.loss.onTimeout(rig.now);
    assert.deepEqual(rig.recorder.take(), []);
    assert.deepEqual(rig.expire(), ['lost 0']);
    assert.equal(rig.loss.timeout, Infinity);
  });

  test('the larger of the latest and the smoothed round trip counts', () => {
    const rig = new RecoveryRig();
    rig.send();
    rig.now += 80;
    rig.ack([0]);
    rig.sendMany(2);
    const sentAt = rig.now;
    rig.now += 160;
    rig.ack([2]);
    assert.equal(rig.loss.timeout, sentAt + 180);
  });

  test('it is never less than the granularity of timers', () => {
    const rig = new RecoveryRig();
    rig.sendMany(2);
    const sentAt = rig.now;
    rig.now += 0.1;
    rig.ack([1]);
    assert.equal(rig.loss.timeout, sentAt + 1);
  });

  test('packets sent after the largest acknowledged one are not lost, however old', () => {
    const rig = new RecoveryRig();
    rig.sendMany(2);
    rig.now += 10;
    rig.ack([0]);
    rig.now += 1000;
    rig.ack([0]);
    assert.deepEqual(rig.recorder.take(), []);
    assert.equal(rig.loss.isAckElicitingInFlight, true);
  });
});

describe('spurious losses (RFC 9002 §6.1)', () => {
  test('a late acknowledgement is reported, and the window restored', () => {
    const rig = new RecoveryRig();
    const before = rig.control.controller.window;
    rig.sendMany(4);
    rig.now += 100;
    rig.ack([[1, 3]]);
    assert.ok(rig.control.controller.window < before);
    assert.deepEqual(rig.ack([[0, 3]]), ['acknowledged 0']);
    assert.ok(rig.control.controller.window >= before);
    assert.equal(rig.control.inFlight, 0);
  });

  test('reordering raises the packet threshold to what was seen', () => {
    const rig = new RecoveryRig();
    rig.sendMany(6);
    rig.now += 100;
    rig.ack([[1, 5]]);
    rig.ack([[0, 5]]);
    rig.sendMany(7);
    rig.now += 90;
    assert.deepEqual(
      rig.ack([[7, 11]]).filter((event) => event.startsWith('lost')),
      [],
    );
    assert.ok(rig.ack([[7, 12]]).includes('lost 6'));
  });

  test('a lost packet is forgotten after two probe timeouts', () => {
    const rig = new RecoveryRig();
    rig.sendMany(4);
    rig.now += 100;
    rig.ack([[1, 3]]);
    rig.now += 2 * rig.loss.probeTimeout();
    rig.send();
    rig.now += 100;
    rig.ack([4]);
    assert.deepEqual(rig.ack([[0, 4]]), []);
  });
});

describe('persistent congestion (RFC 9002 §7.6)', () => {
  const measured = (): RecoveryRig => {
    const rig = new RecoveryRig();
    rig.send();
    rig.now += 100;
    rig.ack([0]);
    rig.now += 1;
    return rig;
  };
  // (smoothed + 4 × variation + max_ack_delay) × 3 after two samples of 100 ms.
  const PERIOD = (100 + 150 + 25) * 3;

  test('the window collapses when all packets of the period are lost', () => {
    for (const { gap, isPersistent } of [
      { gap: PERIOD + 1, isPersistent: true },
      { gap: PERIOD, isPersistent: false },
    ]) {
      const rig = measured();
      rig.send();
      rig.now += gap;
      rig.sendMany(4);
      // The first of the four is lost by the packet threshold.
      rig.now += 100;
      rig.ack([5]);
      // The least window, and what the acknowledgement adds to it.
      assert.equal(rig.control.controller.window === 3 * PACKET, isPersistent, `${gap} ms`);
    }
  });

  test('an acknowledged packet between interrupts the period', () => {
    const rig = measured();
    rig.send();
    rig.now += PERIOD / 2;
    rig.send();
    rig.now += PERIOD / 2 + 1;
    rig.sendMany(4);
    rig.now += 100;
    rig.ack([6, 2]);
    assert.ok(rig.control.controller.window > 4 * PACKET);
  });

  test('packets sent before the first measurement do not count (§7.6.2)', () => {
    const rig = new RecoveryRig();
    rig.send();
    rig.now += 5000;
    rig.sendMany(4);
    rig.now += 100;
    rig.ack([4]);
    assert.ok(rig.control.controller.window > 4 * PACKET);
  });

  test('packets that are not ack-eliciting begin and end no period', () => {
    const rig = measured();
    rig.send({ ackEliciting: false, inFlight: true });
    rig.now += PERIOD + 1;
    rig.sendMany(4);
    rig.now += 100;
    rig.ack([5]);
    assert.ok(rig.control.controller.window > 4 * PACKET);
  });
});

describe('what is no congestion', () => {
  test('a lost MTU probe leaves the window as it is (RFC 9000 §14.4)', () => {
    const rig = new RecoveryRig();
    const before = rig.control.controller.window;
    rig.send({ mtuProbe: true, bytes: 1400 });
    rig.sendMany(3);
    rig.now += 100;
    assert.ok(rig.ack([[1, 3]]).includes('lost probe of 1400'));
    assert.ok(rig.control.controller.window >= before);
    assert.equal(rig.control.inFlight, 0);
  });

  test('sizes of lost and arrived packets are reported, those of MTU probes apart', () => {
    const seen: string[] = [];
    const sizes = {
      onProbeAcknowledged: (bytes: number) => void seen.push(`probe +${bytes}`),
      onProbeLost: (bytes: number) => void seen.push(`probe -${bytes}`),
      onAcknowledged: (bytes: number) => void seen.push(`+${bytes}`),
      onLost: (bytes: number) => void seen.push(`-${bytes}`),
    };
    const rig = new RecoveryRig('server', { sizes });
    rig.send({ mtuProbe: true, bytes: 1400 });
    rig.send({ bytes: 1300 });
    rig.sendMany(3);
    rig.now += 10;
    rig.ack([4]);
    assert.deepEqual(seen, ['+1000', 'probe -1400', '-1300']);
  });

  test('discarded keys take their packets out of flight without a report (RFC 9002 §6.4)', () => {
    const rig = new RecoveryRig('client', { confirmed: false });
    rig.sendMany(3, { space: Space.INITIAL });
    rig.send({ space: Space.HANDSHAKE });
    rig.loss.discard(Space.INITIAL, rig.now);
    assert.deepEqual(rig.recorder.take(), []);
    assert.equal(rig.control.inFlight, PACKET);
    assert.equal(rig.tryAck([[0, 2]], { space: Space.INITIAL }), undefined);
    assert.deepEqual(rig.recorder.take(), []);
  });

  test('a lost packet is not taken out of flight a second time with its keys', () => {
    const rig = new RecoveryRig('server', { confirmed: false });
    rig.sendMany(4, { space: Space.INITIAL });
    rig.send({ space: Space.HANDSHAKE });
    rig.now += 10;
    rig.ack([3], { space: Space.INITIAL });
    rig.loss.discard(Space.INITIAL, rig.now);
    assert.equal(rig.control.inFlight, PACKET);
    assert.equal(rig.loss.isAckElicitingInFlight, true);
  });

  test('a Retry has Initial packets sent again (RFC 9002 §6.3)', () => {
    const rig = new RecoveryRig('client', { confirmed: false });
    const before = rig.control.controller.window;
    rig.send({ space: Space.INITIAL });
    rig.loss.onRetry(rig.now + 10);
    assert.deepEqual(rig.recorder.take(), ['lost 0']);
    assert.equal(rig.control.inFlight, 0);
    assert.equal(rig.control.controller.window, before);
    assert.equal(rig.loss.nextNumber(Space.INITIAL), 1);
  });
});

describe('another path (RFC 9000 §9.4)', () => {
  test('what is in flight counts and measures nothing there, but is acknowledged or lost', () => {
    const rig = new RecoveryRig();
    rig.sendMany(5);
    const control = newControl();
    rig.loss.usePath(control, undefined, rig.now);
    assert.equal(rig.control.inFlight, 0);
    const { window } = control.controller;
    rig.now += 300;
    assert.deepEqual(rig.ack([4]), ['acknowledged 4', 'lost 0', 'lost 1']);
    assert.equal(control.rtt.firstSampleAt, undefined);
    assert.equal(control.controller.window, window);
    rig.send();
    rig.now += 30;
    rig.ack([5]);
    assert.equal(control.rtt.latest, 30);
    assert.equal(control.inFlight, 0);
  });

  test('a late acknowledgement from the path before does not count as a spurious loss', () => {
    const rig = new RecoveryRig();
    rig.sendMany(4);
    rig.now += 100;
    rig.ack([[1, 3]]);
    const control = newControl();
    rig.loss.usePath(control, undefined, rig.now);
    assert.deepEqual(rig.ack([[0, 3]]), ['acknowledged 0']);
    assert.equal(rig.control.inFlight, 0);
  });

  test('reordering on the path before does not raise the threshold of this one', () => {
    const rig = new RecoveryRig();
    rig.sendMany(8);
    rig.now += 100;
    rig.ack([[1, 7]]);
    rig.loss.usePath(newControl(), undefined, rig.now);
    rig.ack([[0, 7]]);
    rig.sendMany(4);
    rig.now += 10;
    assert.ok(rig.ack([11]).includes('lost 8'));
  });

  test('packets on a path that is not in use neither count nor measure nor arm the probe timeout', () => {
    const rig = new RecoveryRig();
    rig.send({ offPath: true });
    assert.equal(rig.control.inFlight, 0);
    assert.equal(rig.loss.timeout, Infinity);
    rig.now += 400;
    assert.deepEqual(rig.ack([0]), ['acknowledged 0']);
    assert.equal(rig.control.rtt.firstSampleAt, undefined);
  });

  test('an MTU probe on the path before is not reported', () => {
    const rig = new RecoveryRig();
    rig.send({ mtuProbe: true, bytes: 1400 });
    rig.loss.usePath(newControl(), rig.recorder.sizes, rig.now);
    rig.now += 10;
    assert.deepEqual(rig.ack([0]), []);
  });

  test('the same controls go on when only the port has changed', () => {
    const rig = new RecoveryRig();
    rig.send();
    rig.loss.usePath(rig.control, undefined, rig.now);
    assert.equal(rig.control.inFlight, PACKET);
  });
});
