import type { RandomSource } from '@weir/base/random';

/**
 * Congestion control for QUIC and TCP alike. Units in this folder, without exception: bytes, milliseconds (with
 * fractions), and bytes per millisecond for rates (1 byte/ms = 8 kbit/s), so that rate × time is a window without a
 * conversion factor. Times are given by the caller; only their differences matter.
 *
 * The caller reuses the records passed to a controller, so they are valid only during the call.
 */

/** The result of an acknowledgement, after its losses were reported. */
export interface AckEvent {
  now: number;
  /** Number of bytes newly acknowledged. */
  acked: number;
  /** Number of bytes that the acknowledgement revealed as lost; `onLoss` was called for each packet before. */
  lost: number;
  /** Number of bytes in flight, after those acknowledged and lost are subtracted. */
  inFlight: number;
  /** Number of bytes in flight before the acknowledgement. */
  priorInFlight: number;
  /** Time at which the most recently sent packet of the acknowledged ones was sent. */
  newestSentAt: number;
  /** The round-trip time that the acknowledgement measured, in milliseconds; 0 for none. */
  latestRtt: number;
  /** The smoothed round-trip time, including this acknowledgement; 0 before the first sample. */
  smoothedRtt: number;
  minRtt: number;
  /** The delivery rate up to the acknowledgement. */
  rate: RateSample;
}

/** The delivery rate that an acknowledgement measured (draft-ietf-ccwg-bbr, "Delivery Rate Samples"). */
export interface RateSample {
  /** The delivery rate in bytes per millisecond; 0 if the acknowledgement allows no measurement. */
  rate: number;
  /** Whether the rate was limited by the application: the path can carry at least this rate. */
  appLimited: boolean;
  /** Whether the application limit was due to the peer's flow control and not to a lack of data. */
  flowLimited: boolean;
  /** Number of bytes delivered during `interval`. */
  delivered: number;
  /** Milliseconds over which the rate was measured. */
  interval: number;
  /** Number of bytes lost during `interval`. */
  lost: number;
  /** Number of bytes in flight directly after sending P, the packet on which the sample is based. */
  inFlightAtSend: number;
  /** Number of bytes delivered in total when P was sent. */
  priorDelivered: number;
  /** Number of bytes delivered in total at present. */
  totalDelivered: number;
  /** Number of bytes lost in total at present. */
  totalLost: number;
}

/** A lost packet, with the state at the time when it was sent. */
export interface LossEvent {
  now: number;
  /** Size of the packet in bytes. */
  bytes: number;
  sentAt: number;
  /** Number of bytes in flight directly after the packet was sent, including the packet. */
  inFlightAtSend: number;
  /** Number of bytes lost since the packet was sent, including the packet. */
  lostSinceSend: number;
  /** Number of bytes delivered since the packet was sent. */
  deliveredSinceSend: number;
  /** Number of bytes delivered in total when the packet was sent, which identifies its round. */
  deliveredAtSend: number;
  /** Whether the application, and not the window, limited the bytes in flight. */
  appLimited: boolean;
}

/** Controls the number of bytes in flight and the sending rate. No method throws. */
export interface CongestionController {
  /** The name of the algorithm, for logs. */
  readonly name: string;
  /** The congestion window: maximum number of bytes in flight. Never below two packets (RFC 9002 §7.2). */
  readonly window: number;
  /** The pacing rate in bytes per millisecond; always above 0. */
  readonly pacingRate: number;
  /**
   * Called when a packet that counts as in flight was sent.
   * @param inFlight bytes in flight, including this packet.
   * @param appLimited whether the sender had run out of data before this packet.
   */
  onSent(now: number, bytes: number, inFlight: number, appLimited: boolean): void;
  /** Called once for each acknowledgement that newly acknowledges bytes in flight. */
  onAck(event: AckEvent): void;
  /** Called once for each lost packet, before `onAck` for the acknowledgement that revealed it. */
  onLoss(event: LossEvent): void;
  /** Called when the peer reported ECN-CE for packets sent up to `sentAt` (RFC 9002 §7.1). */
  onCongestionExperienced(now: number, sentAt: number): void;
  /** Called when persistent congestion was established (RFC 9002 §7.6). */
  onPersistentCongestion(now: number): void;
  /** Called when a packet that was passed to `onLoss` has been acknowledged after all. */
  onSpuriousLoss(now: number, sentAt: number): void;
  /** Called when the maximum packet size has changed. */
  onMtu(bytes: number): void;
}

/**
 * Creates the controller of a path.
 * @param mtu the maximum packet size in bytes; it may change later, see `onMtu`.
 */
export type CreateController = (mtu: number, random: RandomSource) => CongestionController;

/** The minimum window in packets (RFC 9002 §7.2). */
export const MINIMUM_WINDOW_PACKETS = 2;

/**
 * Returns the initial window in bytes: ten packets, but at most the larger of 14,720 bytes and two packets (RFC 9002
 * §7.2).
 */
export const initialWindow = (mtu: number): number => Math.min(10 * mtu, Math.max(14_720, 2 * mtu));
