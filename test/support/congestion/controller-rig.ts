import type { CongestionController } from '../../../packages/congestion/src/controller.ts';
import { SentFacts, SendControl } from '@weir/congestion';

/** Bytes of every packet. */
export const PACKET = 1000;
const CAPACITY = 1 << 14;
/** Bytes per ms at which the path delivers. */
const PATH_RATE = 4000;

/**
 * A controller driven by hand: packets are numbered from 0, each round sends what the window
 * allows and has it acknowledged one round trip later, but for what the script loses.
 */
export class ControllerRig {
  readonly control: SendControl;
  readonly facts = new SentFacts(CAPACITY);
  now: number;
  next = 0;

  constructor(controller: CongestionController, now = 1000) {
    this.control = new SendControl(controller, PACKET);
    this.now = now;
  }

  /** The window in packets, with one digit. */
  get packets(): number {
    return Math.round((this.control.controller.window / PACKET) * 10) / 10;
  }

  /** Sends so many packets; returns the number of the first. */
  send(count: number): number {
    const first = this.next;
    for (let i = 0; i < count; i++) {
      this.control.onSent(this.facts, this.next++ % CAPACITY, PACKET, this.now);
    }
    return first;
  }

  /** One acknowledgement: of packets from `first` on, after the loss of others. */
  acknowledge(first: number, count: number, lost: readonly number[] = []): void {
    const { control, facts, now } = this;
    control.beginAck(now);
    for (let number = first; number < first + count; number++) {
      if (!lost.includes(number)) control.onAcked(facts, number % CAPACITY);
    }
    control.onRtt(now - facts.sentAt((first + count - 1) % CAPACITY), 0);
    for (const number of lost) control.onLost(facts, number % CAPACITY, now);
    control.finishAck();
  }

  /** Loses a packet without an acknowledgement. */
  lose(number: number): void {
    this.control.onLost(this.facts, number % CAPACITY, this.now);
  }

  /**
   * A round trip: fills the window (or sends `limit` packets and has no more) and has every second
   * packet acknowledged with the one before it, as the rate of the path delivers them.
   * @param lost the packets that are lost, counted from 0 in this round.
   */
  round(rtt: number, { limit = Infinity, lost = [] as readonly number[] } = {}): void {
    const { control } = this;
    const room = Math.floor((control.controller.window - control.inFlight) / PACKET);
    const count = Math.max(1, Math.min(room, limit));
    const first = this.send(count);
    if (count === limit) control.onAppLimited();
    this.now += rtt;
    const arrivals = this.now;
    const missing = lost.filter((number) => number < count).map((number) => first + number);
    for (let number = first; number < first + count; number += 2) {
      const step = Math.min(2, first + count - number);
      this.now = arrivals + ((number - first) * PACKET) / PATH_RATE;
      this.acknowledge(
        number,
        step,
        missing.filter((other) => other >= number && other < number + step),
      );
    }
  }
}
