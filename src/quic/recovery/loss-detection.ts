import type { SendControl } from '../../congestion/send-control.ts';
import type { RandomSource } from '../../crypto/random-source.ts';
import type { QuicError } from '../errors.ts';
import type { CarriedLog, CarriedOwner } from './carried.ts';
import type { Space } from './space.ts';

/** What is known of a packet when it is sent. One record may be reused. */
export interface SentPacket {
  number: number;
  /** Bytes on the wire, header and tag included (not of the UDP and IP headers). */
  bytes: number;
  ackEliciting: boolean;
  /** Whether it counts against the window: all but packets with ACK and CONNECTION_CLOSE frames alone. */
  inFlight: boolean;
  /** Whether it left with ECT(0). */
  ect0: boolean;
  /** A DPLPMTUD probe, whose loss says nothing of congestion (RFC 9000 §14.4). */
  mtuProbe: boolean;
  /** Sent on another path than the one in use (RFC 9000 §9.4): measures nothing, counts nowhere. */
  offPath: boolean;
}

/**
 * Loss recovery of a connection (RFC 9002): the packets sent in its three spaces, which of them arrived,
 * which are lost, when to probe. What packets carried is reported to `owner`; the window, the round-trip
 * time and the pacing of the path in use are `control`'s.
 *
 * Sending a packet: `canSend`, `nextNumber`, record what it carries in `carried(space)`, `onSent`.
 * Receiving an ACK frame: `ackStart`, `ackRange` for each, `ackEnd`, as `FrameVisitor` gives them.
 */
export declare class LossDetection {
  constructor(options: {
    readonly role: 'client' | 'server';
    readonly random: RandomSource;
    readonly control: SendControl;
    readonly owner: CarriedOwner;
  });

  /** Of the path in use. */
  readonly control: SendControl;
  /** When `onTimeout` is to be called; Infinity for not at all. */
  readonly timeout: number;
  /** Probe timeouts in a row (RFC 9002 §6.2.1). */
  readonly probeCount: number;

  /** The frames of the packet of this space that is being assembled. */
  carried(space: Space): CarriedLog;
  /** The number for the next packet; the same until `onSent`. Numbers are skipped now and then (RFC 9000 §21.4). */
  nextNumber(space: Space): number;
  /** For the size of packet numbers on the wire; -1 for none. */
  largestAcknowledged(space: Space): number;
  /** Whether there is memory for another packet; probes need not ask. */
  canSend(space: Space): boolean;
  /** A packet leaves; what was recorded in `carried(space)` is what it carries. */
  onSent(space: Space, packet: SentPacket, now: number): void;

  /** Ack-eliciting packets that have to leave now whatever the window says (§6.2.4). */
  probesDue(space: Space): number;
  /** Whether a packet without any other ack-eliciting frame should hold a PING: many of them were sent (RFC 9000 §13.2.4). */
  wantsPing(space: Space): boolean;
  /** Whether ack-eliciting packets are outstanding in any space. */
  readonly isElicitingInFlight: boolean;

  /** @param delay as in the frame. */
  ackStart(space: Space, largest: number, delay: number, now: number): QuicError | undefined;
  ackRange(smallest: number, largest: number): QuicError | undefined;
  ackEnd(hasEcn: boolean, ect0: number, ect1: number, ce: number): QuicError | undefined;

  /** Before `timeout` it does nothing. */
  onTimeout(now: number): void;

  /** The keys of a space are discarded (§6.4); nothing is reported to the owner. */
  discard(space: Space, now: number): void;
  /** A Retry came: what Initial packets carried is reported lost, without a signal of congestion. */
  onRetry(now: number): void;
  /** The peer's transport parameters (RFC 9000 §18.2). */
  setPeer(maxAckDelay: number, ackDelayExponent: number, now: number): void;
  /** Handshake packets can be sent from now on. */
  onHandshakeKeys(now: number): void;
  onHandshakeConfirmed(now: number): void;
  /** Whether a server may not send before it receives more (§6.2.2.1). */
  setAmplificationLimited(limited: boolean, now: number): void;
  /** Sends on another path from now on: what is in flight counts no more, but is still watched (RFC 9000 §9.4). */
  usePath(control: SendControl, now: number): void;

  /** The probe timeout without backoff, in milliseconds, with the peer's max_ack_delay (§6.2.1). */
  probeTimeout(): number;
}
