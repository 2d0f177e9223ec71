import {
  type AckEvent,
  type CongestionController,
  initialWindow,
  type LossEvent,
  MINIMUM_WINDOW_PACKETS,
} from './controller.ts';

/** Number of seconds over which losses are counted. */
const SLOTS = 5;
const SLOT_TIME = 1000;
/** Number of packets below which the loss rate is assumed to be 0. */
const MINIMUM_SAMPLES = 50;
/** Minimum delivery ratio that is compensated: loss beyond 20 % is not. */
const MINIMUM_ACK_RATE = 0.8;
/** The window as a multiple of rate × round trip. */
const WINDOW_GAIN = 2;

/**
 * Sends at a fixed rate chosen by the peer, raised by the loss rate so that the chosen rate arrives (Hysteria's
 * "Brutal"; constants of apernet/hysteria core/internal/congestion/brutal). Losses are counted in bytes; the reference
 * implementation counts packets.
 */
export class Brutal implements CongestionController {
  readonly name = 'brutal';
  /** The rate that must arrive, in bytes per millisecond. */
  readonly rate: number;
  readonly #acked = new Float64Array(SLOTS);
  readonly #lost = new Float64Array(SLOTS);
  /** The second counted in each slot. */
  readonly #second = new Float64Array(SLOTS).fill(-Infinity);
  #ackRate = 1;
  #smoothedRtt = 0;
  #mtu: number;

  /**
   * @param rate the rate that must arrive, in bytes per millisecond; above 0.
   */
  constructor(rate: number, mtu: number) {
    this.rate = rate;
    this.#mtu = mtu;
  }

  get window(): number {
    if (this.#smoothedRtt <= 0) return initialWindow(this.#mtu);
    return Math.max(
      WINDOW_GAIN * this.pacingRate * this.#smoothedRtt,
      MINIMUM_WINDOW_PACKETS * this.#mtu,
    );
  }

  get pacingRate(): number {
    return this.rate / this.#ackRate;
  }

  onSent(): void {
    // Only deliveries and losses count.
  }

  onAck(event: AckEvent): void {
    this.#smoothedRtt = event.smoothedRtt;
    this.#count(event.now, event.acked, 0);
  }

  onLoss({ now, bytes }: LossEvent): void {
    this.#count(now, 0, bytes);
  }

  onCongestionExperienced(): void {
    // The rate is fixed.
  }

  onPersistentCongestion(): void {
    // The rate is fixed.
  }

  onSpuriousLoss(): void {
    // One packet in five seconds makes no difference.
  }

  onMtu(bytes: number): void {
    this.#mtu = bytes;
  }

  #count(now: number, acked: number, lost: number): void {
    const second = Math.floor(now / SLOT_TIME);
    const slot = ((second % SLOTS) + SLOTS) % SLOTS;
    if (this.#second[slot] !== second) {
      this.#second[slot] = second;
      this.#acked[slot] = 0;
      this.#lost[slot] = 0;
    }
    this.#acked[slot] = (this.#acked[slot] ?? 0) + acked;
    this.#lost[slot] = (this.#lost[slot] ?? 0) + lost;
    let allAcked = 0;
    let allLost = 0;
    for (let i = 0; i < SLOTS; i++) {
      if ((this.#second[i] ?? -Infinity) <= second - SLOTS) continue;
      allAcked += this.#acked[i] ?? 0;
      allLost += this.#lost[i] ?? 0;
    }
    const all = allAcked + allLost;
    this.#ackRate =
      all < MINIMUM_SAMPLES * this.#mtu ? 1 : Math.max(allAcked / all, MINIMUM_ACK_RATE);
  }
}
