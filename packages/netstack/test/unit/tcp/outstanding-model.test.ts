import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { NewReno } from '../../../../congestion/src/classic-window.ts';
import { SendControl } from '@weir/congestion';
import { Outstanding } from '../../../src/tcp/recovery/outstanding.ts';

const MSS = 1000;
/** Packets that acknowledgements and SACK blocks speak of, from the first unacknowledged one. */
const REACH = 24;

interface Packet {
  state: 'in flight' | 'lost' | 'sacked' | 'acknowledged';
  sentAt: number;
  transmission: number;
  isRepeated: boolean;
}

/** RFC 8985 §6.2 as it is written, packet by packet: every one is looked at every time. */
class NaiveRack {
  readonly packets: Packet[] = [];
  readonly #control: SendControl;
  acknowledged = 0;
  #transmission = 0;
  #newest = { transmission: -1, index: -1, roundTrip: 0 };
  #highest = -1;
  #reorders = false;
  #multiple = 1;
  #roundEnd = -1;

  constructor(control: SendControl) {
    this.#control = control;
  }

  count(state: Packet['state']): number {
    return this.packets.filter((packet) => packet.state === state).length;
  }

  send(from: number, count: number, now: number): void {
    const transmission = this.#transmission++;
    for (let i = from; i < from + count; i++) {
      const isRepeated = this.packets[i] !== undefined;
      if (this.packets[i]?.state === 'sacked') continue;
      this.packets[i] = { state: 'in flight', sentAt: now, transmission, isRepeated };
    }
  }

  acknowledge(until: number, reported: readonly number[], now: number): void {
    const priorHighest = this.#highest;
    for (let i = this.acknowledged; i < until; i++) {
      this.#deliver(i, priorHighest, now);
      const packet = this.packets[i];
      if (packet) packet.state = 'acknowledged';
    }
    this.acknowledged = until;
    for (const i of reported) {
      const packet = this.packets[i];
      if (!packet || i <= until || packet.state === 'sacked') continue;
      this.#deliver(i, priorHighest, now);
      packet.state = 'sacked';
    }
  }

  detectLost(recovers: boolean, now: number): void {
    const { rtt } = this.#control;
    const isDense = this.count('sacked') >= 3;
    const none = !this.#reorders && (recovers || isDense);
    const window = none ? 0 : Math.min((this.#multiple * rtt.minimum) / 4, rtt.smoothed);
    for (const [i, packet] of this.packets.entries()) {
      if (packet.state !== 'in flight' || !this.#isOvertaken(packet, i)) continue;
      if (packet.sentAt + this.#newest.roundTrip + window <= now + 0.001) packet.state = 'lost';
    }
  }

  #isOvertaken({ transmission }: Packet, index: number): boolean {
    const newest = this.#newest;
    if (transmission !== newest.transmission) return transmission < newest.transmission;
    return index < newest.index;
  }

  #deliver(index: number, priorHighest: number, now: number): void {
    const packet = this.packets[index];
    if (!packet || packet.state === 'sacked' || packet.state === 'acknowledged') return;
    if (packet.state === 'lost') this.#spurious();
    if (index > this.#highest) this.#highest = index;
    else if (index < priorHighest && !packet.isRepeated) this.#reorders = true;
    const roundTrip = now - packet.sentAt;
    if (packet.isRepeated && roundTrip < this.#control.rtt.minimum) return;
    const isOlder = this.#isOvertaken(packet, index);
    if (!isOlder) this.#newest = { transmission: packet.transmission, index, roundTrip };
  }

  #spurious(): void {
    if (this.acknowledged < this.#roundEnd) return;
    this.#roundEnd = this.packets.length;
    this.#reorders = true;
    this.#multiple = Math.min(this.#multiple + 1, 64);
  }
}

const STEP = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      send: fc.integer({ min: 1, max: 6 }),
      size: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      forward: fc.constantFrom(0, 0, 0, 1, 2, 7),
      blocks: fc.array(fc.record({ at: fc.nat(REACH), size: fc.integer({ min: 1, max: 5 }) }), {
        maxLength: 4,
      }),
      recovers: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 3, arbitrary: fc.record({ early: fc.constantFrom(0, 0.01) }) },
  { weight: 3, arbitrary: fc.record({ repeat: fc.integer({ min: 1, max: 4 }) }) },
);

test('random segments, reports and repetitions lose what RFC 8985 §6.2 says, packet by packet', () => {
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 120, size: 'max' }), (steps) => {
      const control = new SendControl(new NewReno(MSS), MSS);
      const outstanding = new Outstanding(control, MSS);
      const model = new NaiveRack(control);
      const blocks = new Float64Array(8);
      let now = 1000;
      for (const step of steps) {
        if ('send' in step) {
          for (let i = 0; i < step.send; i++) {
            model.send(model.packets.length, step.size, now);
            outstanding.onSent(outstanding.sndNxt + step.size * MSS, now);
          }
        } else if ('wait' in step) {
          now += step.wait;
        } else if ('early' in step) {
          if (outstanding.lossTime === Infinity) continue;
          now = Math.max(now, outstanding.lossTime - step.early);
          outstanding.detectLost(false, now);
          model.detectLost(false, now);
        } else if ('repeat' in step) {
          const { lost } = outstanding;
          if (lost.size === 0) continue;
          const start = lost.start(0);
          const end = outstanding.resentEnd(start, lost.end(0), step.repeat * MSS);
          model.send(start / MSS, (end - start) / MSS, now);
          outstanding.onResent(start, end, now);
        } else {
          // No round trip is shorter than that.
          now += 20;
          const sent = model.packets.length;
          const until = Math.min(model.acknowledged + step.forward, sent);
          const reported: number[] = [];
          let blockCount = 0;
          for (const { at, size } of step.blocks) {
            const start = until + 1 + at;
            const end = start + size;
            if (end > sent) continue;
            // A first block within the second reports duplicates (RFC 2883).
            const [first = -1, firstEnd = -1] = blocks;
            const isWithin = first >= start * MSS && firstEnd <= end * MSS;
            if (blockCount === 1 && isWithin) continue;
            blocks[blockCount * 2] = start * MSS;
            blocks[blockCount * 2 + 1] = end * MSS;
            blockCount++;
            for (let i = start; i < end; i++) reported.push(i);
          }
          const ack = { offset: until * MSS, blocks, blockCount, echo: -1, isDuplicate: false };
          control.beginAck(now);
          outstanding.beginAck(ack.offset, -1, now);
          model.acknowledge(until, reported, now);
          outstanding.acknowledge(ack.offset);
          outstanding.scoreboard.take(ack, outstanding.sndNxt, outstanding);
          const roundTrip = outstanding.roundTrip();
          if (roundTrip >= 0) control.onRtt(roundTrip, 0);
          outstanding.detectLost(step.recovers, now);
          model.detectLost(step.recovers, now);
          control.finishAck();
        }
        let lost = 0;
        for (let i = 0; i < outstanding.lost.size; i++) {
          lost += outstanding.lost.end(i) - outstanding.lost.start(i);
        }
        assert.equal(outstanding.sndUna, model.acknowledged * MSS);
        assert.equal(lost, model.count('lost') * MSS);
        assert.equal(control.inFlight, model.count('in flight') * MSS);
        assert.equal(outstanding.sackedBytes, model.count('sacked') * MSS);
        for (const [i, { state }] of model.packets.entries()) {
          assert.equal(
            outstanding.lost.has(i * MSS, (i + 1) * MSS),
            state === 'lost',
            `packet ${i}`,
          );
          assert.equal(outstanding.scoreboard.has(i * MSS, (i + 1) * MSS), state === 'sacked');
        }
      }
    }),
    { numRuns: 400 },
  );
});
