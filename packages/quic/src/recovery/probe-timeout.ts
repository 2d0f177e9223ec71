import type { RttEstimator } from '@weir/congestion';
import { Space } from '../wire/packet-header.ts';

/** kGranularity, in milliseconds (RFC 9002 §6.1.2). */
const GRANULARITY = 1;
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
  /** pto_count: timeouts in a row. */
  count = 0;
  deadline = Infinity;
  /** The space to probe when the deadline is reached. */
  space: Space = Space.INITIAL;

  onTimeout(): void {
    this.count++;
  }

  /** Called when an acknowledgement arrived (§6.2.1), or the keys of a space were discarded (§6.2.2). */
  restart(): void {
    this.count = 0;
  }

  stop(): void {
    this.deadline = Infinity;
  }

  /**
   * Sets the client's timeout when nothing is in flight (§6.2.2.1): the server may have reached its
   * anti-amplification limit, and only a further datagram of the client ends that deadlock.
   */
  setForAntiDeadlock(space: Space, rtt: RttEstimator, now: number): void {
    this.space = space;
    this.deadline = now + probeInterval(rtt) * this.#backoff();
  }

  /** Sets the earliest timeout of the spaces up to `last` (GetPtoTimeAndSpace, §A.8). */
  setForAckElicitingPackets(
    spaces: readonly ProbedSpace[],
    last: Space,
    rtt: RttEstimator,
    maxAckDelay: number,
  ): void {
    this.deadline = Infinity;
    const interval = probeInterval(rtt);
    for (let space: number = Space.INITIAL; space <= last; space++) {
      const state = spaces[space];
      if (state === undefined || state.ackElicitingInFlight === 0) continue;
      // Initial and Handshake packets are acknowledged at once: max_ack_delay is 0 (§6.2.1).
      const delay = space === Space.APPLICATION ? maxAckDelay : 0;
      const deadline = state.timeOfLastAckElicitingPacket + (interval + delay) * this.#backoff();
      if (deadline < this.deadline) {
        this.deadline = deadline;
        this.space = space as Space;
      }
    }
  }

  #backoff(): number {
    return 2 ** Math.min(this.count, MOST_DOUBLINGS);
  }
}

/** kPersistentCongestionThreshold, in probe timeouts (RFC 9002 §7.6.1). */
const THRESHOLD = 3;

/**
 * Detects persistent congestion in one packet number space (RFC 9002 §7.6): the loss of all ack-eliciting
 * packets that were sent over three probe timeouts. Losses are reported in the order of sending.
 */
export class PersistentCongestion {
  /** Time at which the first packet of the current run of losses was sent. */
  #start = Infinity;
  /** The longest run since the last check, in milliseconds. */
  #longest = 0;

  /** Called when an ack-eliciting packet was lost, and none between it and the last one reported was acknowledged. */
  onLost(sentAt: number, firstSampleAt: number | undefined): void {
    // The period SHOULD NOT start before the first RTT sample (§7.6.2).
    if (firstSampleAt === undefined || sentAt <= firstSampleAt) return;
    this.#start = Math.min(this.#start, sentAt);
    this.#longest = Math.max(this.#longest, sentAt - this.#start);
  }

  /** Called when a packet sent after the last loss was acknowledged. */
  interrupt(): void {
    this.#start = Infinity;
  }

  /** Discards the losses so far: one of them was spurious, or the path has changed. */
  restart(): void {
    this.#start = Infinity;
    this.#longest = 0;
  }

  /** Whether the losses since the last check establish persistent congestion. True once for a period. */
  check(rtt: RttEstimator, maxAckDelay: number): boolean {
    const longest = this.#longest;
    this.#longest = 0;
    if (longest <= (probeInterval(rtt) + maxAckDelay) * THRESHOLD) return false;
    this.#start = Infinity;
    return true;
  }
}

/** kPacketThreshold (RFC 9002 §6.1.1). */
const PACKET_THRESHOLD = 3;
/** kTimeThreshold, in round trips (RFC 9002 §6.1.2). */
const TIME_THRESHOLD = 9 / 8;
/** The upper bounds: that of Linux for tcp_reordering, and that of RFC 8985 §6.2 for RACK's reordering window. */
const MOST_PACKETS = 300;
const MOST_TIME = 2;
/** The amount by which a spurious loss raises the time threshold, once per round trip (RFC 8985 §6.2). */
const TIME_STEP = 1 / 4;
/** Round trips with losses, none of them spurious, after which the thresholds are reset (RFC 8985 §6.2). */
const PERSISTENCE = 16;

/**
 * The thresholds after which a packet is declared lost. They grow with every spurious loss, as RFC 9002 §6.1
 * permits, and are reset when reordering is over.
 */
export class Reordering {
  /** kPacketThreshold: the distance by which an acknowledged packet may be ahead. */
  packetThreshold = PACKET_THRESHOLD;
  #time = TIME_THRESHOLD;
  #raisedAt = -Infinity;
  #roundAt = -Infinity;
  #rounds = 0;

  /** loss_delay: milliseconds that a packet may be outstanding once a later one was acknowledged. */
  lossDelay(rtt: RttEstimator): number {
    return Math.max(this.#time * Math.max(rtt.latest, rtt.smoothed), GRANULARITY);
  }

  /** Called when a packet was declared lost. */
  onLoss(now: number, sentAt: number): void {
    if (sentAt <= this.#roundAt) return;
    this.#roundAt = now;
    if (++this.#rounds >= PERSISTENCE) this.reset();
  }

  /**
   * Called when a packet that was declared lost was acknowledged.
   * @param distance largest_acked_packet minus its number.
   */
  onSpurious(distance: number, now: number, rtt: RttEstimator): void {
    this.#rounds = 0;
    this.packetThreshold = Math.min(Math.max(this.packetThreshold, distance + 1), MOST_PACKETS);
    if (now - this.#raisedAt < rtt.smoothed) return;
    this.#raisedAt = now;
    this.#time = Math.min(this.#time + TIME_STEP, MOST_TIME);
  }

  reset(): void {
    this.packetThreshold = PACKET_THRESHOLD;
    this.#time = TIME_THRESHOLD;
    this.#rounds = 0;
  }
}
