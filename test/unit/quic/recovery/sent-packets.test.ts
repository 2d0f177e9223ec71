import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { IdleTimeout } from '../../../../src/quic/connection/idle-timeout.ts';
import { NamedDeadlines } from '../../../../src/collections/named-deadlines.ts';
import { CONNECTION_DEADLINES } from '../../../../src/quic/connection/deadlines.ts';
import {
  MAX_PACKETS,
  PINGLESS_PACKETS,
  RESERVED_PACKETS,
} from '../../../../src/quic/recovery/limits.ts';
import { PacketFlag, SentPackets } from '../../../../src/quic/recovery/sent-packets.ts';
import { Space } from '../../../../src/quic/recovery/space.ts';
import { RecoveryRig } from '../../../support/quic/recovery-rig.ts';

describe('the ring of sent packets', () => {
  test('random operations give what a map gives', () => {
    const step = fc.oneof(
      fc.record({ add: fc.integer({ min: 1, max: 200 }) }),
      fc.record({ done: fc.nat(400) }),
      fc.record({ lost: fc.nat(400) }),
      fc.record({ find: fc.nat(400) }),
      fc.record({ advance: fc.nat(40) }),
      fc.record({ trim: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const packets = new SentPackets();
        const model: { bytes: number; lostAt?: number; done?: true }[] = [];
        let base = 0;
        let now = 0;
        for (const one of steps) {
          now++;
          if ('add' in one) {
            for (let i = 0; i < one.add; i++) {
              packets.add(now + i, PacketFlag.ACK_ELICITING, now, i % 5, now);
              model.push({ bytes: now + i });
            }
          } else if ('done' in one || 'lost' in one) {
            const number = base + ('done' in one ? one.done : one.lost);
            const packet = model[number];
            if (packet === undefined || packet.done === true) continue;
            if ('done' in one) {
              packets.markDone(number);
              packet.done = true;
            } else if (packet.lostAt === undefined) {
              packets.markLost(number, now);
              packet.lostAt = now;
            }
          } else if ('find' in one) {
            const from = base + one.find;
            const found = model.findIndex((packet, n) => n >= from && packet.done !== true);
            const expected = found < 0 ? Math.max(from, model.length) : found;
            assert.equal(packets.find(from), expected);
          } else if ('trim' in one) {
            if (one.trim) packets.trim();
            else packets.free();
          } else {
            packets.advance(now - one.advance);
            while (base < model.length) {
              const { done, lostAt = Infinity } = model[base] ?? { bytes: 0 };
              if (done !== true && lostAt > now - one.advance) break;
              base++;
            }
          }
          assert.equal(packets.base, base);
          assert.equal(packets.next, model.length);
          for (let n = base; n < model.length; n++) {
            assert.equal(packets.bytes(n), model[n]?.bytes);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  test('an acknowledgement costs what it newly acknowledges, not what it repeats', () => {
    const packets = new SentPackets();
    // The oldest packet is missing, as after a loss, and every ACK repeats all the others.
    for (let n = 0; n < 20_000; n++) packets.add(1, PacketFlag.ACK_ELICITING, 0, 0, 0);
    let visited = 0;
    for (let largest = 1; largest < 20_000; largest += 2) {
      for (let n = packets.find(1); n <= largest; n = packets.find(n + 1)) {
        packets.markDone(n);
        visited++;
      }
    }
    assert.equal(visited, 19_999);
  });
});

describe('the memory of what is remembered of sent packets', () => {
  const NONE = { packets: 0, frames: 0 };

  test('a space has none before its first packet and after its keys are discarded', () => {
    const { loss } = new RecoveryRig('server', { confirmed: false });
    const rig = new RecoveryRig('client', { confirmed: false });
    assert.deepEqual(loss.capacity(Space.APPLICATION), NONE);
    rig.sendMany(100, { space: Space.INITIAL });
    rig.ack([[0, 9]], { space: Space.INITIAL });
    assert.ok(rig.loss.capacity(Space.INITIAL).packets >= 90);
    rig.loss.discard(Space.INITIAL, rig.now);
    assert.deepEqual(rig.loss.capacity(Space.INITIAL), NONE);
  });

  test('a burst leaves none behind when the next packet of the peer comes after a pause', () => {
    const rig = new RecoveryRig();
    const idle = new IdleTimeout(new NamedDeadlines(CONNECTION_DEADLINES), rig.loss, 30_000, 0);
    idle.onReceived(rig.now);
    rig.sendMany(500);
    rig.now += 50;
    rig.ack([[0, 499]]);
    // Acknowledgements alone, as an idle server sends them, are not acknowledged for long.
    rig.sendMany(5, { ackEliciting: false });
    idle.onReceived(rig.now);
    const { packets, frames } = rig.loss.capacity(Space.APPLICATION);
    assert.ok(packets >= 500 && frames >= 500);
    rig.now += 10_000;
    idle.onReceived(rig.now);
    assert.deepEqual(rig.loss.capacity(Space.APPLICATION), { packets: 8, frames: 16 });
    rig.sendMany(3);
    rig.now += 50;
    assert.equal(rig.ack([[500, 507]]).length, 3);
  });
});

describe('the bounds of what is remembered of sent packets', () => {
  test('at the bound nothing may be sent but probes, and then the oldest packet is given up', () => {
    const rig = new RecoveryRig();
    while (rig.loss.canSend(Space.APPLICATION)) rig.send();
    assert.equal(rig.loss.nextNumber(Space.APPLICATION), MAX_PACKETS - RESERVED_PACKETS);
    rig.sendMany(RESERVED_PACKETS);
    assert.deepEqual(rig.recorder.take(), []);
    rig.send();
    assert.deepEqual(rig.recorder.take(), ['lost 0']);
    assert.equal(rig.control.inFlight, MAX_PACKETS * 1000);
    rig.now += 100;
    assert.equal(rig.ack([[0, MAX_PACKETS]]).length, MAX_PACKETS);
    assert.equal(rig.control.inFlight, 0);
    assert.equal(rig.loss.isAckElicitingInFlight, false);
    assert.equal(rig.loss.canSend(Space.APPLICATION), true);
  });

  test('late acknowledgements of lost packets are given up before sending stops', () => {
    const rig = new RecoveryRig();
    rig.sendMany(2);
    while (rig.loss.canSend(Space.APPLICATION)) rig.send();
    const last = rig.loss.nextNumber(Space.APPLICATION) - 1;
    rig.now += 1;
    const events = rig.ack([[2, last]]);
    assert.ok(events.includes('lost 0'));
    assert.equal(rig.loss.canSend(Space.APPLICATION), true);
  });

  test('after many packets that elicit nothing a PING is wanted (RFC 9000 §13.2.4)', () => {
    const rig = new RecoveryRig();
    for (let i = 0; i < PINGLESS_PACKETS; i++) {
      assert.equal(rig.loss.wantsPing(Space.APPLICATION), false);
      rig.send({ ackEliciting: false });
    }
    assert.equal(rig.loss.wantsPing(Space.APPLICATION), true);
    rig.send();
    assert.equal(rig.loss.wantsPing(Space.APPLICATION), false);
  });

  test('many frames of few packets fill the memory of frames', () => {
    const rig = new RecoveryRig();
    let packets = 0;
    while (rig.loss.canSend(Space.APPLICATION)) {
      const log = rig.loss.frames(Space.APPLICATION);
      while (!log.isPacketFull) log.add(rig.recorder, 4, 1);
      rig.send();
      packets++;
    }
    assert.ok(packets < 1100, String(packets));
    rig.ack([[0, packets - 1]]);
    assert.equal(rig.loss.canSend(Space.APPLICATION), true);
    assert.equal(rig.loss.frames(Space.APPLICATION).size, 0);
  });
});
