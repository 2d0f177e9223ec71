import type { RandomSource } from '@weir/base/random';
import type { SendControl } from '@weir/congestion';
import type { EcnValidation } from './ecn-validation.ts';
import { PersistentCongestion, type ProbedSpace, type Reordering } from './probe-timeout.ts';
import { PacketFlag, SentPackets, SentFrames } from './sent-packets.ts';
import { Space } from '../wire/packet-header.ts';

/** Skipped numbers that are remembered; peers no longer acknowledge older ones. */
const REMEMBERED = 4;
/** The mean distance between skipped numbers: initial and largest, as quic-go chooses them. */
const FIRST_PERIOD = 256;
const LAST_PERIOD = 1 << 17;

/**
 * Packet numbers that are never sent, at random distances. A peer that acknowledges one of them mounts an optimistic
 * ACK attack: it acknowledges packets before they arrive, to make this side send more (RFC 9000 §21.4).
 */
class NumberSkipping {
  readonly #random: RandomSource;
  readonly #skipped = new Float64Array(REMEMBERED).fill(-1);
  #count = 0;
  #period = FIRST_PERIOD;
  #next: number;

  constructor(random: RandomSource) {
    this.#random = random;
    this.#next = 1 + random.below(2 * this.#period);
  }

  /** Whether this number is to be skipped; remembers it if so. */
  skips(number: number): boolean {
    if (number < this.#next) return false;
    this.#skipped[this.#count++ % REMEMBERED] = number;
    this.#period = Math.min(this.#period * 2, LAST_PERIOD);
    this.#next = number + 2 + this.#random.below(2 * this.#period);
    return true;
  }

  /** Returns the number of remembered numbers between two numbers, both included. */
  countBetween(smallest: number, largest: number): number {
    let count = 0;
    for (const skipped of this.#skipped) if (skipped >= smallest && skipped <= largest) count++;
    return count;
  }
}

const { ACK_ELICITING, COUNTED, ECT0, MTU_PROBE, OFF_PATH, LOST } = PacketFlag;

/** Learns packet sizes that the path supports (RFC 8899 §4.3): `MtuSearch`. */
export interface PacketSizes {
  /** Called for a DPLPMTUD probe (RFC 9000 §14.4). */
  onProbeAcknowledged(bytes: number, now: number): void;
  onProbeLost(bytes: number, now: number): void;
  /** Called for a packet that is not a probe. */
  onAcknowledged(bytes: number): void;
  onLost(bytes: number, sentAt: number, now: number): void;
}

/** State that the packet number spaces of a connection share. */
export interface SharedRecovery {
  /** The congestion control of the path in use. */
  control: SendControl;
  sizes: PacketSizes | undefined;
  readonly reordering: Reordering;
  readonly ecn: EcnValidation;
}

/** A packet that is sent. One record may be reused. */
export interface SentPacket {
  number: number;
  /** UDP payload bytes of the packet, with its header and tag. */
  bytes: number;
  ackEliciting: boolean;
  /** Whether the packet counts in flight: it is ack-eliciting or has PADDING (RFC 9002 §2). */
  inFlight: boolean;
  /** Whether the packet was sent with ECT(0). */
  ect0: boolean;
  /** Whether the packet is a DPLPMTUD probe: its loss is not a sign of congestion (RFC 9000 §14.4). */
  mtuProbe: boolean;
  /**
   * Whether the packet was sent on a path that is not in use: it neither counts in flight nor gives RTT samples (RFC
   * 9000 §9.4).
   */
  offPath: boolean;
}

/** The sent packets of one packet number space, and their delivery (RFC 9002 §6.1). */
export class PacketSpace implements ProbedSpace {
  readonly space: Space;
  readonly frames = new SentFrames();
  readonly packets = new SentPackets();
  readonly #shared: SharedRecovery;
  readonly #skipping: NumberSkipping | undefined;
  readonly #persistent = new PersistentCongestion();

  /** largest_acked_packet (RFC 9002 §A.3); -1 for none. */
  largestAckedPacket = -1;
  /** loss_time: the time at which the next packet is declared lost; Infinity for none. */
  lossTime = Infinity;
  /** Probes to send, even if the congestion window is full (§6.2.4). */
  probes = 0;
  ackElicitingInFlight = 0;
  timeOfLastAckElicitingPacket = 0;
  /** Number of packets since the last ack-eliciting one. */
  notEliciting = 0;
  isDiscarded = false;
  /** Number of packets that were declared lost. */
  lostPackets = 0;

  /** Every packet before this number is done or declared lost. */
  #watched = 0;
  /** The first packet on the path in use. */
  #pathStart = 0;
  /** The ACK frame that is being processed. */
  newlyAcknowledged = 0;
  newlyElicited = false;
  newlyMarked = 0;
  largestNew = -1;
  #newest = -1;

  constructor(space: Space, shared: SharedRecovery, random: RandomSource) {
    this.space = space;
    this.#shared = shared;
    this.#skipping = space === Space.APPLICATION ? new NumberSkipping(random) : undefined;
  }

  /** Returns the number of the next packet. Some numbers are skipped (`NumberSkipping`). */
  nextNumber(): number {
    const { packets } = this;
    if (this.#skipping?.skips(packets.next) === true) {
      this.#makeRoom();
      packets.add(0, 0, this.frames.start, 0, 0);
    }
    return packets.next;
  }

  onSent(packet: SentPacket, now: number): void {
    const { packets, frames } = this;
    const { bytes } = packet;
    this.#makeRoom();
    const isOnPath = packet.inFlight && !packet.offPath;
    let flags = packet.ackEliciting ? ACK_ELICITING : 0;
    if (isOnPath) flags |= COUNTED;
    if (packet.offPath) flags |= OFF_PATH;
    if (packet.mtuProbe) flags |= MTU_PROBE;
    if (packet.ect0) flags |= ECT0;
    const { number } = packet;
    packets.add(bytes, flags, frames.start, frames.count, now);
    frames.take();
    if (packet.ect0) this.#shared.ecn.onSent(this.space);
    if (isOnPath) this.#shared.control.onSent(packets.facts, packets.slot(number), bytes, now);
    if (!packet.ackEliciting) {
      this.notEliciting++;
      return;
    }
    this.notEliciting = 0;
    if (packet.offPath) return;
    this.ackElicitingInFlight++;
    this.timeOfLastAckElicitingPacket = now;
    if (this.probes > 0) this.probes--;
  }

  /** Begins an ACK frame that acknowledges up to `largest`. */
  beginAck(largest: number): void {
    this.#newest = Math.max(this.largestAckedPacket, largest);
    this.newlyAcknowledged = 0;
    this.newlyElicited = false;
    this.newlyMarked = 0;
    this.largestNew = -1;
  }

  /**
   * Handles a range of an ACK frame; its largest number is below `packets.next`.
   * @returns whether all of these packets were sent.
   */
  acknowledge(smallest: number, largest: number, now: number): boolean {
    if (this.#skipping !== undefined && this.#skipping.countBetween(smallest, largest) > 0) {
      return false;
    }
    const { packets } = this;
    for (let n = packets.find(smallest); n <= largest; n = packets.find(n + 1)) {
      this.#acknowledgeOne(n, now);
    }
    return true;
  }

  #acknowledgeOne(number: number, now: number): void {
    const { packets } = this;
    const { control, reordering, sizes } = this.#shared;
    const flags = packets.flags(number);
    this.newlyAcknowledged++;
    this.largestNew = Math.max(this.largestNew, number);
    if ((flags & ACK_ELICITING) !== 0) this.newlyElicited = true;
    if ((flags & ECT0) !== 0) this.newlyMarked++;
    if ((flags & LOST) !== 0) {
      this.#persistent.restart();
      if (isOrdinary(flags) && this.#isOnPath(number)) {
        reordering.onSpurious(this.#newest - number, now, control.rtt);
        control.onSpuriousLoss(now, packets.sentAt(number));
      }
    } else {
      if ((flags & COUNTED) !== 0) control.onAcked(packets.facts, packets.slot(number));
      this.#settled(flags);
    }
    if (isOrdinary(flags)) sizes?.onAcknowledged(packets.bytes(number));
    else if (this.#isProbeOfPath(number, flags)) {
      sizes?.onProbeAcknowledged(packets.bytes(number), now);
    }
    packets.markDone(number);
    this.frames.acknowledge(packets.framesStart(number), packets.framesCount(number));
  }

  /** Whether a newly acknowledged packet gives an RTT sample of the path in use. */
  measures(number: number): boolean {
    return this.#isOnPath(number) && (this.packets.flags(number) & OFF_PATH) === 0;
  }

  /**
   * Declares packets lost that were sent before an acknowledged one, by the packet threshold or the time
   * threshold (DetectAndRemoveLostPackets, §A.10), and sets `lossTime`.
   */
  detectLost(now: number): void {
    const { packets } = this;
    const { control, reordering } = this.#shared;
    this.lossTime = Infinity;
    const delay = reordering.lossDelay(control.rtt);
    for (;;) {
      const number = packets.find(this.#watched);
      // A packet between the previous loss and this one was acknowledged.
      if (number > this.#watched) this.#persistent.interrupt();
      this.#watched = number;
      if (number >= this.largestAckedPacket) return;
      if (packets.flags(number) === 0) {
        packets.markDone(number);
      } else {
        const dueAt = packets.sentAt(number) + delay;
        if (dueAt > now && this.#distance(number) < reordering.packetThreshold) {
          this.lossTime = dueAt;
          return;
        }
        this.#lose(number, now);
      }
      this.#watched = number + 1;
    }
  }

  /** Whether the losses so far establish persistent congestion (§7.6); true once. */
  isCongestionPersistent(maxAckDelay: number): boolean {
    return this.#persistent.check(this.#shared.control.rtt, maxAckDelay);
  }

  /** Reports the frames of the oldest packets as lost, so that probes send them again (§6.2.4). */
  resendOldest(count: number): void {
    const { packets } = this;
    let left = count;
    for (
      let n = packets.find(this.#watched);
      n < packets.next && left > 0;
      n = packets.find(n + 1)
    ) {
      const flags = packets.flags(n);
      if ((flags & ACK_ELICITING) === 0 || (flags & (OFF_PATH | MTU_PROBE)) !== 0) continue;
      this.#repeat(n);
      left--;
    }
  }

  /**
   * Declares all packets lost without a congestion event: the keys are discarded, or a Retry packet arrived.
   * @param report whether their frames are to be retransmitted.
   */
  giveUp(report: boolean): void {
    const { packets } = this;
    for (let n = packets.find(packets.base); n < packets.next; n = packets.find(n + 1)) {
      const flags = packets.flags(n);
      if ((flags & LOST) === 0) {
        this.#discount(n, flags);
        if (report) this.#repeat(n);
      }
      packets.markDone(n);
    }
    this.ackElicitingInFlight = 0;
    this.probes = 0;
    this.lossTime = Infinity;
    this.#persistent.restart();
    this.release(Infinity);
  }

  /** Called when the keys are discarded: nothing is sent or acknowledged any more (§6.4). */
  discard(): void {
    this.isDiscarded = true;
    this.giveUp(false);
    this.packets.free();
    this.frames.free();
  }

  /** Frees memory that was needed for a burst and not by its remaining packets. */
  trim(lostBefore: number): void {
    this.release(lostBefore);
    this.packets.trim();
    this.frames.trim();
  }

  /** Moves to another path: packets in flight do not count there. */
  leavePath(): void {
    const { packets } = this;
    const start = Math.max(this.#pathStart, this.#watched);
    for (let n = packets.find(start); n < packets.next; n = packets.find(n + 1)) {
      this.#discount(n, packets.flags(n));
    }
    this.#pathStart = packets.next;
    this.#persistent.restart();
  }

  /** Forgets packets that are done, and those that were declared lost until `lostBefore`. */
  release(lostBefore: number): void {
    const { packets, frames } = this;
    packets.advance(lostBefore);
    frames.release(packets.base < packets.next ? packets.framesStart(packets.base) : frames.start);
  }

  #isOnPath(number: number): boolean {
    return number >= this.#pathStart;
  }

  /** Returns the number of packets sent after this one, up to `largestAckedPacket`. */
  #distance(number: number): number {
    const newest = this.largestAckedPacket;
    return newest - number - (this.#skipping?.countBetween(number, newest) ?? 0);
  }

  #lose(number: number, now: number): void {
    const { packets } = this;
    const { control, reordering, ecn, sizes } = this.#shared;
    const flags = packets.flags(number);
    packets.markLost(number, now);
    this.lostPackets++;
    this.#settled(flags);
    if ((flags & ECT0) !== 0) ecn.onLost();
    if ((flags & MTU_PROBE) !== 0) {
      this.#loseProbe(number, flags, now);
    } else if ((flags & COUNTED) !== 0) {
      const sentAt = packets.sentAt(number);
      reordering.onLoss(now, sentAt);
      control.onLost(packets.facts, packets.slot(number), now);
      sizes?.onLost(packets.bytes(number), sentAt, now);
      if ((flags & ACK_ELICITING) !== 0) {
        this.#persistent.onLost(sentAt, control.rtt.firstSampleAt);
      }
    }
    this.#repeat(number);
  }

  /** Handles the loss of a DPLPMTUD probe, which is not a sign of congestion (RFC 9000 §14.4). */
  #loseProbe(number: number, flags: number, now: number): void {
    this.#discount(number, flags);
    if (!this.#isProbeOfPath(number, flags)) return;
    this.#shared.sizes?.onProbeLost(this.packets.bytes(number), now);
  }

  /** Whether a packet is a DPLPMTUD probe of the path in use; probes of other paths are not reported. */
  #isProbeOfPath(number: number, flags: number): boolean {
    return (flags & MTU_PROBE) !== 0 && this.#isOnPath(number);
  }

  /** Stops counting a packet in flight that was neither acknowledged nor lost. */
  #discount(number: number, flags: number): void {
    if ((flags & COUNTED) === 0) return;
    const { packets } = this;
    this.#shared.control.onDiscarded(packets.facts, packets.slot(number));
    packets.clearFlag(number, COUNTED);
  }

  /** Called when a packet was acknowledged or declared lost. */
  #settled(flags: number): void {
    if ((flags & ACK_ELICITING) !== 0 && (flags & OFF_PATH) === 0) this.ackElicitingInFlight--;
  }

  /** Requests the retransmission of a packet's frames. */
  #repeat(number: number): void {
    const { packets } = this;
    this.frames.lose(packets.framesStart(number), packets.framesCount(number));
  }

  /** Declares the oldest packet lost when the ring is full. */
  #makeRoom(): void {
    const { packets } = this;
    if (!packets.isFull) return;
    this.release(Infinity);
    if (!packets.isFull) return;
    const oldest = packets.base;
    const flags = packets.flags(oldest);
    if ((flags & MTU_PROBE) !== 0)
      this.#loseProbe(oldest, flags, this.timeOfLastAckElicitingPacket);
    else this.#discount(oldest, flags);
    this.#settled(flags);
    packets.markDone(oldest);
    this.#repeat(oldest);
    this.release(Infinity);
  }
}

/** Whether a packet counts in flight on the path in use, and is not a DPLPMTUD probe. */
const isOrdinary = (flags: number): boolean => (flags & (COUNTED | MTU_PROBE)) === COUNTED;
