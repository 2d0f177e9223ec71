import {
  type AckEvent,
  type CongestionController,
  initialWindow,
  type LossEvent,
  MINIMUM_WINDOW_PACKETS,
} from './controller.ts';

/** Seconds over which losses are counted. */
const SLOTS = 5;
const SLOT_TIME = 1000;
/** Fewer packets than these say nothing about the path. */
const MINIMUM_SAMPLES = 50;
/** Losses beyond this are not made up for. */
const MINIMUM_ACK_RATE = 0.8;
/** The window, in products of rate and round trip. */
const WINDOW_GAIN = 2;

/**
 * Sends at a fixed rate that the peer has asked for, raised by what the path loses so that this rate
 * arrives (Hysteria's "Brutal"; constants of apernet/hysteria core/internal/congestion/brutal). Losses
 * are counted in bytes where the reference counts packets.
 */
export class Brutal implements CongestionController {
  readonly name = 'brutal';
  /** Bytes per millisecond that are to arrive. */
  readonly rate: number;
  readonly #acked = new Float64Array(SLOTS);
  readonly #lost = new Float64Array(SLOTS);
  /** Which second each slot holds. */
  readonly #second = new Float64Array(SLOTS).fill(-Infinity);
  #ackRate = 1;
  #smoothedRtt = 0;
  #mtu: number;

  /**
   * @param rate bytes per millisecond that are to arrive, above 0.
   * @param mtu the most bytes of a packet.
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
    // Only what arrives and what is lost counts.
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
    // Its acknowledgement was counted or not; one packet of five seconds makes no difference.
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
