/*
 * Congestion control for QUIC and TCP alike. Units in this folder, without exception: bytes,
 * milliseconds (with fractions), and bytes per millisecond for rates (1 byte/ms = 8 kbit/s), so that
 * rate × time is a window without a factor. Times come from the caller; zero has no meaning.
 *
 * The records passed to a controller are reused by the caller and valid during the call only.
 */

/** What one acknowledgement brought, after the losses that it revealed have been reported. */
export interface AckEvent {
  now: number;
  /** Bytes newly acknowledged. */
  acked: number;
  /** Bytes that this acknowledgement showed to be lost; each was passed to `onLoss` before. */
  lost: number;
  /** Bytes in flight now: without those acknowledged and lost. */
  inFlight: number;
  /** Bytes in flight before this acknowledgement. */
  priorInFlight: number;
  /** When the most recently sent of the acknowledged packets was sent. */
  newestSentAt: number;
  /** The round trip that this acknowledgement measured; 0 when it measured none. */
  latestRtt: number;
  /** From the estimator, this acknowledgement included; 0 before the first measurement. */
  smoothedRtt: number;
  minRtt: number;
  /** The delivery rate up to this acknowledgement. */
  rate: RateSample;
}

/** The delivery rate that an acknowledgement measured (draft-ietf-ccwg-bbr, "Delivery Rate Samples"). */
export interface RateSample {
  /** Bytes per millisecond; 0 when this acknowledgement allows no measurement. */
  rate: number;
  /** Whether the application limited it: the path can carry at least this much, perhaps more. */
  appLimited: boolean;
  /** Whether that was because the peer's flow control allowed no more, not for lack of data. */
  flowLimited: boolean;
  /** Bytes delivered during `interval`. */
  delivered: number;
  /** The time over which it was measured, in milliseconds. */
  interval: number;
  /** Bytes lost while `delivered` were delivered. */
  lost: number;
  /** Bytes in flight right after the packet was sent that this sample is based on. */
  inFlightAtSend: number;
  /** Bytes delivered in total when that packet was sent. */
  priorDelivered: number;
  /** Bytes delivered in total now. */
  totalDelivered: number;
  /** Bytes lost in total now. */
  totalLost: number;
}

/** One lost packet, as it was when it was sent. */
export interface LossEvent {
  now: number;
  /** Its bytes. */
  bytes: number;
  sentAt: number;
  /** Bytes in flight right after it was sent, its own included. */
  inFlightAtSend: number;
  /** Bytes lost of what was sent from then on, its own included. */
  lostSinceSend: number;
  /** Bytes delivered since it was sent. */
  deliveredSinceSend: number;
  /** Bytes delivered in total when it was sent: says to which round it belongs. */
  deliveredAtSend: number;
  /** Whether the application, not the window, limited what was in flight. */
  appLimited: boolean;
}

export type ControllerName = 'newreno' | 'cubic' | 'brutal' | 'bbr';

/** How much may be in flight and how fast it may leave. Nothing here throws. */
export interface CongestionController {
  readonly name: ControllerName;
  /** Bytes that may be in flight. Never below two packets (RFC 9002 §7.2). */
  readonly window: number;
  /** Bytes per millisecond at which the pacer lets packets leave; always above 0. */
  readonly pacingRate: number;
  /**
   * A packet that counts as in flight was sent.
   * @param inFlight bytes in flight, this packet included.
   * @param appLimited whether the sender was out of data before this packet.
   */
  onSent(now: number, bytes: number, inFlight: number, appLimited: boolean): void;
  /** Once for each acknowledgement that newly acknowledges bytes in flight. */
  onAck(event: AckEvent): void;
  /** Once for each lost packet, before the `onAck` of the acknowledgement that showed it. */
  onLoss(event: LossEvent): void;
  /** The peer saw Congestion Experienced on what was sent up to `sentAt` (RFC 9002 §7.1). */
  onCongestionExperienced(now: number, sentAt: number): void;
  /** Nothing was delivered over a whole period of persistent congestion (RFC 9002 §7.6). */
  onPersistentCongestion(now: number): void;
  /** A packet that was passed to `onLoss` has been acknowledged after all. */
  onSpuriousLoss(now: number, sentAt: number): void;
  /** The most bytes of a packet have changed. */
  onMtu(bytes: number): void;
}

/** The least window, in packets (RFC 9002 §7.2). */
export const MINIMUM_WINDOW_PACKETS = 2;

/** The initial window: ten packets, but no more than the larger of 14,720 bytes and two packets. */
export const initialWindow = (mtu: number): number => Math.min(10 * mtu, Math.max(14_720, 2 * mtu));
