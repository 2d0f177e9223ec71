import type { RttEstimator } from '../../congestion/rtt.ts';
import { Space } from './space.ts';

/** kGranularity, in milliseconds (RFC 9002 §6.1.2). */
export const GRANULARITY = 1;
/** Doublings after which the timeout grows no more: a day, and far beyond every idle timeout. */
const MOST_DOUBLINGS = 16;

/** The probe timeout without backoff and without the peer's max_ack_delay, in ms (RFC 9002 §6.2.1). */
export const probeInterval = (rtt: RttEstimator): number =>
  rtt.smoothed + Math.max(4 * rtt.variation, GRANULARITY);

/** What the probe timeout needs to know of a packet number space. */
export interface ProbedSpace {
  /** Ack-eliciting packets that are neither acknowledged nor lost. */
  readonly ackElicitingInFlight: number;
  /** When the last one of them was sent. */
  readonly timeOfLastAckElicitingPacket: number;
}

/** When to probe for acknowledgements, and in which space (RFC 9002 §6.2, §A.8). */
export class ProbeTimeout {
  #count = 0;
  #deadline = Infinity;
  #space: Space = Space.INITIAL;

  /** Timeouts in a row. */
  get count(): number {
    return this.#count;
  }

  get deadline(): number {
    return this.#deadline;
  }

  /** The space whose packets are waited for, after `await`. */
  get space(): Space {
    return this.#space;
  }

  onTimeout(): void {
    this.#count++;
  }

  /** The peer answers (§6.2.1), or the keys of a space were discarded (§6.2.2). */
  restart(): void {
    this.#count = 0;
  }

  stop(): void {
    this.#deadline = Infinity;
  }

  /**
   * The client's timeout when nothing of its own is in flight (§6.2.2.1): the server may be at its
   * amplification limit and wait for more bytes.
   */
  setForAntiDeadlock(space: Space, rtt: RttEstimator, now: number): void {
    this.#space = space;
    this.#deadline = now + probeInterval(rtt) * this.#backoff;
  }

  /** The earliest timeout of the spaces. @param last the last of them that takes part. */
  setForAckElicitingPackets(
    spaces: readonly ProbedSpace[],
    last: Space,
    rtt: RttEstimator,
    maxAckDelay: number,
  ): void {
    this.#deadline = Infinity;
    const interval = probeInterval(rtt);
    for (let space: number = Space.INITIAL; space <= last; space++) {
      const state = spaces[space];
      if (state === undefined || state.ackElicitingInFlight === 0) continue;
      // Packets of the handshake are acknowledged at once.
      const delay = space === Space.APPLICATION ? maxAckDelay : 0;
      const deadline = state.timeOfLastAckElicitingPacket + (interval + delay) * this.#backoff;
      if (deadline < this.#deadline) {
        this.#deadline = deadline;
        this.#space = space as Space;
      }
    }
  }

  get #backoff(): number {
    return 2 ** Math.min(this.#count, MOST_DOUBLINGS);
  }
}
