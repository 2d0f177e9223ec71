import type { RttEstimator } from '../../congestion/rtt.ts';
import { Space } from './space.ts';

/** kGranularity, in milliseconds (RFC 9002 §6.1.2). */
export const GRANULARITY = 1;
/** Number of doublings: the timeout is then about a day, far beyond every idle timeout. */
const MOST_DOUBLINGS = 16;

/** Returns the PTO without backoff and without the peer's max_ack_delay, in milliseconds (RFC 9002 §6.2.1). */
export const probeInterval = (rtt: RttEstimator): number =>
  rtt.smoothed + Math.max(4 * rtt.variation, GRANULARITY);

/** The state of a packet number space that the probe timeout depends on (RFC 9002 §A.3). */
export interface ProbedSpace {
  /** Number of ack-eliciting packets that are neither acknowledged nor lost. */
  readonly ackElicitingInFlight: number;
  /** time_of_last_ack_eliciting_packet. */
  readonly timeOfLastAckElicitingPacket: number;
}

/** Schedules probes for acknowledgements, and selects their space (RFC 9002 §6.2, §A.8). */
export class ProbeTimeout {
  #count = 0;
  #deadline = Infinity;
  #space: Space = Space.INITIAL;

  /** pto_count: timeouts in a row. */
  get count(): number {
    return this.#count;
  }

  get deadline(): number {
    return this.#deadline;
  }

  /** The space to probe when the deadline is reached. */
  get space(): Space {
    return this.#space;
  }

  onTimeout(): void {
    this.#count++;
  }

  /** Called when an acknowledgement arrived (§6.2.1), or the keys of a space were discarded (§6.2.2). */
  restart(): void {
    this.#count = 0;
  }

  stop(): void {
    this.#deadline = Infinity;
  }

  /**
   * Sets the client's timeout when nothing is in flight (§6.2.2.1): the server may have reached its
   * anti-amplification limit, and only a further datagram of the client ends that deadlock.
   */
  setForAntiDeadlock(space: Space, rtt: RttEstimator, now: number): void {
    this.#space = space;
    this.#deadline = now + probeInterval(rtt) * this.#backoff();
  }

  /** Sets the earliest timeout of the spaces up to `last` (GetPtoTimeAndSpace, §A.8). */
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
      // Initial and Handshake packets are acknowledged at once: max_ack_delay is 0 (§6.2.1).
      const delay = space === Space.APPLICATION ? maxAckDelay : 0;
      const deadline = state.timeOfLastAckElicitingPacket + (interval + delay) * this.#backoff();
      if (deadline < this.#deadline) {
        this.#deadline = deadline;
        this.#space = space as Space;
      }
    }
  }

  #backoff(): number {
    return 2 ** Math.min(this.#count, MOST_DOUBLINGS);
  }
}
