import type { Role } from '../contract.ts';
import type { SendControl } from '@weir/congestion';
import type { RandomSource } from '@weir/base/random';
import { QuicError, TransportErrorCode } from '../errors.ts';
import { FrameType } from '../wire/frame-types.ts';
import { EcnValidation } from './ecn-validation.ts';
import { PINGLESS_PACKETS } from '../limits.ts';
import {
  PacketSpace,
  type PacketSizes,
  type SentPacket,
  type SharedRecovery,
} from './packet-space.ts';
import { probeInterval, ProbeTimeout, Reordering } from './probe-timeout.ts';
import type { SentFrames } from './sent-packets.ts';
import { Space } from '../wire/packet-header.ts';

export type { PacketSizes, SentPacket };

/** Packets sent when a probe timeout expires (RFC 9002 §6.2.4). */
const PROBES = 2;
/** Probe timeouts for which the acknowledgement of a packet that was declared lost is recognized. */
const LATE_PROBE_TIMEOUTS = 2;
/** The defaults until the peer's transport parameters are known (RFC 9000 §18.2). */
const DEFAULT_ACK_DELAY = 25;
const DEFAULT_ACK_DELAY_EXPONENT = 3;

/**
 * Loss detection of a connection (RFC 9002): tracks the packets sent in its three spaces, detects which of them arrived
 * and which are lost, and decides when to probe. The listeners in `frames(space)` are notified of the delivery of their
 * frames. Congestion window, round-trip time and pacing belong to the path in use and are in `control`.
 *
 * Sending a packet: `canSend`, `nextNumber`, record its frames in `frames(space)`, `onSent`. Receiving an ACK frame:
 * `ackStart`, `ackRange` for each range, `ackEnd`, as in `FrameVisitor`.
 */
export class LossDetection {
  readonly #shared: SharedRecovery;
  readonly #spaces: readonly [PacketSpace, PacketSpace, PacketSpace];
  readonly #probe = new ProbeTimeout();
  #maxAckDelay = DEFAULT_ACK_DELAY;
  #ackDelayExponent = DEFAULT_ACK_DELAY_EXPONENT;
  #hasHandshakeKeys = false;
  #isConfirmed = false;
  /** PeerCompletedAddressValidation (§A.8): whether the peer has validated this side's address. */
  #peerCompletedAddressValidation: boolean;
  #isAmplificationLimited = false;
  #timeout = Infinity;
  /** Time at which the last packet was sent since the timer was set; `timeout` sets it once for a batch. */
  #sentAt: number | undefined;

  /** The ACK frame that is being processed. */
  #acked: PacketSpace;
  #ackLargest = 0;
  #ackDelay = 0;
  #ackAt = 0;

  /** @param sizes the `MtuSearch` of the path in use. */
  constructor(role: Role, random: RandomSource, control: SendControl, sizes?: PacketSizes) {
    this.#peerCompletedAddressValidation = role === 'server';
    const reordering = new Reordering();
    this.#shared = { control, sizes, reordering, ecn: new EcnValidation() };
    const create = (space: Space): PacketSpace => new PacketSpace(space, this.#shared, random);
    this.#spaces = [create(Space.INITIAL), create(Space.HANDSHAKE), create(Space.APPLICATION)];
    this.#acked = this.#spaces[Space.INITIAL];
  }

  /** The congestion control of the path in use. */
  get control(): SendControl {
    return this.#shared.control;
  }

  /** Whether packets are to be marked with ECT(0). */
  get ecn(): EcnValidation {
    return this.#shared.ecn;
  }

  /** Time at which `onTimeout` must be called; Infinity for never. */
  get timeout(): number {
    if (this.#sentAt !== undefined) this.#setLossDetectionTimer(this.#sentAt);
    return this.#timeout;
  }

  /** pto_count: probe timeouts in a row (§6.2.1). */
  get ptoCount(): number {
    return this.#probe.count;
  }

  /** Number of packets that were declared lost. */
  get lostPackets(): number {
    return this.#spaces.reduce((sum, { lostPackets }) => sum + lostPackets, 0);
  }

  /** Returns the allocated capacity for packets of this space and for their frames; for tests. */
  capacity(space: Space): { readonly packets: number; readonly frames: number } {
    const { packets, frames } = this.#spaces[space];
    return { packets: packets.capacity, frames: frames.capacity };
  }

  /** Returns the frames of the packet of this space that is being assembled. */
  frames(space: Space): SentFrames {
    return this.#spaces[space].frames;
  }

  /**
   * Returns the number of the next packet, unchanged until `onSent`. Some numbers are skipped, which exposes a peer
   * that acknowledges packets it has not received (RFC 9000 §21.4).
   */
  nextNumber(space: Space): number {
    return this.#spaces[space].nextNumber();
  }

  /** Returns largest_acked_packet, on which the encoded size of packet numbers depends; -1 for none. */
  largestAckedPacket(space: Space): number {
    return this.#spaces[space].largestAckedPacket;
  }

  /** Whether there is memory for another packet. Probes and acknowledgements are always sent. */
  canSend(space: Space): boolean {
    const { packets, frames } = this.#spaces[space];
    if (packets.hasRoom && !frames.isFull) return true;
    // Rather than stop sending, forget lost packets: their late acknowledgements are not recognized then.
    this.#spaces[space].release(Infinity);
    return packets.hasRoom && !frames.isFull;
  }

  /** Called when a packet with the number `nextNumber` and the frames recorded in `frames(space)` was sent. */
  onSent(space: Space, packet: SentPacket, now: number): void {
    this.#spaces[space].onSent(packet, now);
    if (packet.inFlight) this.#sentAt = now;
  }

  /** Returns the number of ack-eliciting packets to send now, even if the congestion window is full (§6.2.4, §7.5). */
  probesDue(space: Space): number {
    return this.#spaces[space].probes;
  }

  /**
   * Whether the next packet should hold a PING if nothing else in it is ack-eliciting: after
   * `PINGLESS_PACKETS` acknowledgements the peer should acknowledge some of them (RFC 9000 §13.2.4).
   */
  wantsPing(space: Space): boolean {
    return this.#spaces[space].notEliciting >= PINGLESS_PACKETS;
  }

  /**
   * Begins an ACK frame.
   * @param delay the ACK Delay field: microseconds divided by 2 ^ ack_delay_exponent.
   */
  ackStart(space: Space, largest: number, delay: number, now: number): QuicError | undefined {
    const state = this.#spaces[space];
    if (largest >= state.packets.next) return neverSent();
    this.#acked = state;
    this.#ackLargest = largest;
    this.#ackDelay = (delay * 2 ** this.#ackDelayExponent) / 1000;
    this.#ackAt = now;
    state.beginAck(largest);
    this.control.beginAck(now);
    return undefined;
  }

  ackRange(smallest: number, largest: number): QuicError | undefined {
    return this.#acked.acknowledge(smallest, largest, this.#ackAt) ? undefined : neverSent();
  }

  ackEnd(hasEcn: boolean, ect0: number, ect1: number, ce: number): QuicError | undefined {
    const state = this.#acked;
    if (state.newlyAcknowledged === 0) return undefined;
    const { control } = this;
    const now = this.#ackAt;
    const largest = this.#ackLargest;
    const isNewest = largest > state.largestAckedPacket;
    state.largestAckedPacket = Math.max(state.largestAckedPacket, largest);
    if (state.largestNew === largest && state.newlyElicited && state.measures(largest)) {
      control.onRtt(now - state.packets.sentAt(largest), this.#countedDelay(state.space));
    }
    // An ACK frame that does not raise the largest number MUST NOT fail validation (RFC 9000 §13.4.2.1).
    const isCongested =
      isNewest && this.ecn.onAck(state.space, state.newlyMarked, hasEcn, ect0, ect1, ce);
    this.#detectLost(state, now);
    if (isCongested && state.measures(largest)) {
      control.onCongestionExperienced(now, state.packets.sentAt(largest));
    }
    control.finishAck();
    if (state.space === Space.HANDSHAKE) this.#peerCompletedAddressValidation = true;
    if (this.#peerCompletedAddressValidation) this.#probe.restart();
    state.probes = 0;
    state.release(now - LATE_PROBE_TIMEOUTS * this.probeTimeout());
    this.#setLossDetectionTimer(now);
    return undefined;
  }

  /** OnLossDetectionTimeout (§A.9): declares packets lost, or requests probes. No effect before `timeout`. */
  onTimeout(now: number): void {
    if (now < this.timeout) return;
    const late = this.#earliestLoss();
    if (late !== undefined) {
      this.#detectLost(late, now);
      late.release(now - LATE_PROBE_TIMEOUTS * this.probeTimeout());
    } else {
      this.#onProbeTimeout();
    }
    this.#setLossDetectionTimer(now);
  }

  /** Frees memory that was needed before a pause. */
  trim(now: number): void {
    this.#spaces[Space.APPLICATION].trim(now - LATE_PROBE_TIMEOUTS * this.probeTimeout());
  }

  /** Forgets the packets of a space whose keys are discarded (§6.4); nothing is reported. */
  discard(space: Space, now: number): void {
    const state = this.#spaces[space];
    if (state.isDiscarded) return;
    state.discard();
    this.#probe.restart();
    this.#setLossDetectionTimer(now);
  }

  /** Handles a Retry packet: the frames of Initial packets are reported lost, without a congestion event. */
  onRetry(now: number): void {
    this.#spaces[Space.INITIAL].giveUp(true);
    this.#probe.restart();
    this.#timeout = Infinity;
    this.#setLossDetectionTimer(now);
  }

  /** Sets the peer's transport parameters (RFC 9000 §18.2); `maxAckDelay` in milliseconds. */
  setPeer(maxAckDelay: number, ackDelayExponent: number, now: number): void {
    this.#maxAckDelay = maxAckDelay;
    this.#ackDelayExponent = ackDelayExponent;
    this.#setLossDetectionTimer(now);
  }

  /** Called when keys for Handshake packets are available. */
  onHandshakeKeys(now: number): void {
    this.#hasHandshakeKeys = true;
    this.#setLossDetectionTimer(now);
  }

  onHandshakeConfirmed(now: number): void {
    this.#isConfirmed = true;
    this.#peerCompletedAddressValidation = true;
    this.#setLossDetectionTimer(now);
  }

  /** Sets whether the anti-amplification limit is reached: no timer is set then (§6.2.2.1). */
  setAmplificationLimited(limited: boolean, now: number): void {
    if (limited === this.#isAmplificationLimited) return;
    this.#isAmplificationLimited = limited;
    this.#setLossDetectionTimer(now);
  }

  /**
   * Uses another path. Packets in flight on the former one are still acknowledged or lost, but do not count
   * in flight and give no RTT samples (RFC 9000 §9.4).
   */
  usePath(control: SendControl, sizes: PacketSizes | undefined, now: number): void {
    if (control === this.control) return;
    this.#shared.sizes = sizes;
    for (const space of this.#spaces) space.leavePath();
    this.#shared.control = control;
    this.#shared.reordering.reset();
    this.ecn.restart();
    this.#probe.restart();
    this.#setLossDetectionTimer(now);
  }

  /** Returns the PTO without backoff, with the peer's max_ack_delay, in milliseconds (§6.2.1). */
  probeTimeout(): number {
    return probeInterval(this.control.rtt) + this.#maxAckDelay;
  }

  /** Returns the part of the peer's ack_delay that is subtracted from the RTT sample (§5.3). */
  #countedDelay(space: Space): number {
    if (space === Space.INITIAL) return 0;
    return this.#isConfirmed ? Math.min(this.#ackDelay, this.#maxAckDelay) : this.#ackDelay;
  }

  #detectLost(space: PacketSpace, now: number): void {
    space.detectLost(now);
    if (!space.isCongestionPersistent(this.#maxAckDelay)) return;
    this.#shared.reordering.reset();
    this.control.onPersistentCongestion(now);
  }

  #earliestLoss(): PacketSpace | undefined {
    let earliest: PacketSpace | undefined;
    for (const space of this.#spaces) {
      if (space.lossTime < (earliest?.lossTime ?? Infinity)) earliest = space;
    }
    return earliest;
  }

  #onProbeTimeout(): void {
    const waiting = this.#spaces[this.#probe.space];
    waiting.probes = waiting.ackElicitingInFlight > 0 ? PROBES : 1;
    waiting.resendOldest(PROBES);
    // Initial and Handshake packets share a datagram: the other space is probed with it (§6.2.4).
    for (const other of this.#spaces) {
      if (other === waiting || other.space === Space.APPLICATION) continue;
      if (other.ackElicitingInFlight === 0) continue;
      other.probes = Math.max(other.probes, 1);
      other.resendOldest(1);
    }
    this.#probe.onTimeout();
  }

  /** SetLossDetectionTimer (§A.8). */
  #setLossDetectionTimer(now: number): void {
    this.#sentAt = undefined;
    const probe = this.#probe;
    const loss = this.#earliestLoss();
    if (loss !== undefined) {
      this.#timeout = loss.lossTime;
      return;
    }
    this.#timeout = Infinity;
    if (this.#isAmplificationLimited) return;
    const { rtt } = this.control;
    // Before confirmation the PTO timer MUST NOT be set for the application space (§6.2.1).
    const last = this.#isConfirmed ? Space.APPLICATION : Space.HANDSHAKE;
    probe.setForAckElicitingPackets(this.#spaces, last, rtt, this.#maxAckDelay);
    if (probe.deadline === Infinity && !this.#peerCompletedAddressValidation) {
      probe.setForAntiDeadlock(this.#hasHandshakeKeys ? Space.HANDSHAKE : Space.INITIAL, rtt, now);
    }
    this.#timeout = probe.deadline;
  }
}

const neverSent = (): QuicError =>
  new QuicError(
    TransportErrorCode.PROTOCOL_VIOLATION,
    'an acknowledgement of a packet that was never sent',
    FrameType.ACK,
  );
