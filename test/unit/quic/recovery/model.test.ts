import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { SendControl } from '../../../../src/congestion/send-control.ts';
import { Reordering } from '../../../../src/quic/recovery/reordering.ts';
import { Space } from '../../../../src/quic/recovery/space.ts';
import { newControl, PACKET, RecoveryRig } from '../../../support/quic/recovery-rig.ts';

/** Packets, from the newest back, that one ACK frame may speak of. */
const REACH = 40;

interface Packet {
  readonly number: number;
  readonly sentAt: number;
  readonly kind: 'data' | 'ack' | 'probe' | 'elsewhere';
  state: 'outstanding' | 'lost' | 'acknowledged' | 'forgotten';
  lostAt: number;
  /** Whether it was sent on the path in use. */
  isHere: boolean;
}

/** RFC 9002 §6.1 as it is written: every packet is looked at every time. */
class NaiveRecovery {
  readonly packets: Packet[] = [];
  readonly #reordering = new Reordering();
  readonly #rig: RecoveryRig;
  #largest = -1;

  constructor(rig: RecoveryRig) {
    this.#rig = rig;
  }

  get inFlight(): number {
    return PACKET * this.packets.filter((packet) => counts(packet) && isOutstanding(packet)).length;
  }

  get isAckElicitingInFlight(): boolean {
    return this.packets.some(
      ({ kind, state }) => (kind === 'data' || kind === 'probe') && state === 'outstanding',
    );
  }

  /** Returns what owners should hear of; `undefined` when nothing is newly acknowledged. */
  acknowledge(numbers: readonly number[]): string[] | undefined {
    const largest = Math.max(...numbers);
    const before = this.#largest;
    const { now } = this.#rig;
    const { rtt } = this.#rig.loss.control;
    const heard: string[] = [];
    const acknowledged = numbers
      .map((number) => this.packets[number])
      .filter((packet) => packet?.state === 'outstanding' || packet?.state === 'lost');
    if (acknowledged.length === 0) return undefined;
    this.#largest = Math.max(before, largest);
    for (const packet of acknowledged) {
      if (packet === undefined) continue;
      if (packet.state === 'lost' && packet.kind === 'data' && packet.isHere) {
        this.#reordering.onSpurious(this.#largest - packet.number, now, rtt);
      }
      packet.state = 'acknowledged';
      if (isHeard(packet)) heard.push(`acknowledged ${nameOf(packet)}`);
    }
    return heard;
  }

  /** The second part of an acknowledgement, when the round trip is known, and all of a timeout. */
  findLost(): string[] {
    const { now } = this.#rig;
    const delay = this.#reordering.lossDelay(this.#rig.loss.control.rtt);
    const heard: string[] = [];
    for (const packet of this.packets) {
      if (packet.state !== 'outstanding' || packet.number >= this.#largest) continue;
      if (packet.kind === 'ack') {
        packet.state = 'forgotten';
        continue;
      }
      const isFar = this.#largest - packet.number >= this.#reordering.packetThreshold;
      // Nothing is lost before what was sent earlier is.
      if (!isFar && packet.sentAt + delay > now) break;
      packet.state = 'lost';
      packet.lostAt = now;
      if (packet.kind === 'data' && packet.isHere) this.#reordering.onLoss(now, packet.sentAt);
      if (isHeard(packet)) heard.push(`lost ${nameOf(packet)}`);
    }
    return heard;
  }

  /** Lost packets that are old enough, oldest first, are forgotten. */
  forget(lostBefore: number): void {
    for (const packet of this.packets) {
      if (packet.state === 'outstanding') return;
      if (packet.state !== 'lost') continue;
      if (packet.lostAt > lostBefore) return;
      packet.state = 'forgotten';
    }
  }

  leavePath(): void {
    for (const packet of this.packets) packet.isHere = false;
    this.#reordering.reset();
  }

  /** What is known of the order of a path ends with persistent congestion, of which other tests are. */
  onPersistentCongestion(): void {
    this.#reordering.reset();
  }
}

const isOutstanding = ({ state }: Packet): boolean => state === 'outstanding';
const counts = ({ kind, isHere }: Packet): boolean =>
  isHere && (kind === 'data' || kind === 'probe');
const isHeard = ({ kind, isHere }: Packet): boolean =>
  kind !== 'ack' && (kind !== 'probe' || isHere);
const nameOf = ({ kind, number }: Packet): string =>
  kind === 'probe' ? `probe of ${PACKET}` : `${number}`;

const STEP = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      send: fc.constantFrom('data', 'data', 'ack', 'probe', 'elsewhere'),
      count: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      back: fc.nat(REACH),
      mask: fc.bigInt({ min: 1n, max: 2n ** BigInt(REACH) - 1n }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 300 }) }) },
  { weight: 2, arbitrary: fc.constant('expire' as const) },
  { weight: 1, arbitrary: fc.constant('move' as const) },
);

test('random sends, acknowledgements and timeouts give what RFC 9002 §6.1 says', () => {
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 150, size: 'max' }), (steps) => {
      const rig = new RecoveryRig();
      const model = new NaiveRecovery(rig);
      const { loss } = rig;
      let isCongestionPersistent = false;
      const watched = (control: SendControl): SendControl => {
        const pass = control.onPersistentCongestion.bind(control);
        control.onPersistentCongestion = (now) => {
          isCongestionPersistent = true;
          pass(now);
        };
        return control;
      };
      watched(loss.control);
      const findLost = (): string[] => {
        const heard = model.findLost();
        if (isCongestionPersistent) model.onPersistentCongestion();
        isCongestionPersistent = false;
        model.forget(rig.now - 2 * loss.probeTimeout());
        return heard;
      };
      for (const step of steps) {
        if (step === 'expire') {
          if (loss.timeout === Infinity) continue;
          const probes = loss.ptoCount;
          loss.onTimeout(loss.timeout - 0.01);
          assert.deepEqual(rig.recorder.take(), []);
          const heard = rig.expire();
          // A probe timeout only offers what is in flight.
          if (loss.ptoCount === probes) {
            assert.deepEqual(heard, findLost());
          }
        } else if (step === 'move') {
          loss.usePath(watched(newControl()), rig.recorder.sizes, rig.now);
          model.leavePath();
        } else if ('send' in step) {
          const kind = step.send;
          for (let i = 0; i < step.count; i++) {
            const number = rig.send({
              ackEliciting: kind !== 'ack',
              mtuProbe: kind === 'probe',
              offPath: kind === 'elsewhere',
            });
            model.packets.push({
              number,
              sentAt: rig.now,
              kind,
              state: 'outstanding',
              lostAt: 0,
              isHere: true,
            });
          }
        } else if ('wait' in step) {
          rig.now += step.wait;
        } else {
          const newest = model.packets.length - 1 - step.back;
          const numbers: number[] = [];
          for (let i = 0; i < REACH; i++) {
            if (((step.mask >> BigInt(i)) & 1n) === 1n && newest - i >= 0) numbers.push(newest - i);
          }
          if (numbers.length === 0) continue;
          const expected = model.acknowledge(numbers);
          const heard = rig.ack(numbers);
          expected?.push(...findLost());
          assert.deepEqual(heard, expected ?? []);
        }
        assert.equal(loss.control.inFlight, model.inFlight);
        assert.equal(loss.isAckElicitingInFlight, model.isAckElicitingInFlight);
        assert.equal(loss.nextNumber(Space.APPLICATION), model.packets.length);
      }
    }),
    { numRuns: 300 },
  );
});
