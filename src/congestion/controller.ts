/*
 * Congestion control for QUIC and TCP alike. Units in this folder, without exception: bytes,
 * milliseconds (with fractions), and bytes per millisecond for rates (1 byte/ms = 8 kbit/s), so that
 * rate × time is a window without a factor. Times come from the caller; only differences between them matter.
 *
 * Records passed to a controller are reused by the caller: they are valid during the call only.
 */

/** The result of one acknowledgement, after the losses that it revealed were reported. */
export interface AckEvent {
  now: number;
  /** Bytes newly acknowledged. */
  acked: number;
  /** Bytes that this acknowledgement revealed as lost; `onLoss` was called for each packet before. */
  lost: number;
  /** Bytes in flight now, without those acknowledged and lost. */
  inFlight: number;
  /** Bytes in flight before this acknowledgement. */
  priorInFlight: number;
  /** When the most recently sent packet of those acknowledged was sent. */
  newestSentAt: number;
  /** The round trip that this acknowledgement measured; 0 for none. */
  latestRtt: number;
  /** From the estimator, including this acknowledgement; 0 before the first measurement. */
  smoothedRtt: number;
  minRtt: number;
  /** The delivery rate up to this acknowledgement. */
  rate: RateSample;
}

/** The delivery rate that an acknowledgement measured (draft-ietf-ccwg-bbr, "Delivery Rate Samples"). */
export interface RateSample {
  /** Bytes per millisecond; 0 if this acknowledgement allows no measurement. */
  rate: number;
  /** Whether the application limited it: the path can carry at least this rate. */
  appLimited: boolean;
  /** Whether that was due to the peer's flow control, not for lack of data. */
  flowLimited: boolean;
  /** Bytes delivered during `interval`. */
  delivered: number;
  /** The time over which it was measured, in milliseconds. */
  interval: number;
  /** Bytes lost while `delivered` were delivered. */
  lost: number;
  /** Bytes in flight right after P was sent, the packet that this sample is based on. */
  inFlightAtSend: number;
  /** Bytes delivered in total when P was sent. */
  priorDelivered: number;
  /** Bytes delivered in total now. */
  totalDelivered: number;
  /** Bytes lost in total now. */
  totalLost: number;
}

/** A lost packet, with the state when it was sent. */
export interface LossEvent {
  now: number;
  /** The size of the packet. */
  bytes: number;
  sentAt: number;
  /** Bytes in flight right after it was sent, including it. */
  inFlightAtSend: number;
  /** Bytes lost since then, including it. */
  lostSinceSend: number;
  /** Bytes delivered since it was sent. */
  deliveredSinceSend: number;
  /** Bytes delivered in total when it was sent: identifies its round. */
  deliveredAtSend: number;
  /** Whether the application, not the window, limited what was in flight. */
  appLimited: boolean;
}

export type ControllerName = 'newreno' | 'cubic' | 'brutal' | 'bbr';

/** Decides how much may be in flight and how fast it is sent. No method throws. */
export interface CongestionController {
  readonly name: ControllerName;
  /** Bytes that may be in flight. Never below two packets (RFC 9002 §7.2). */
  readonly window: number;
  /** Bytes per millisecond for the pacer; always above 0. */
  readonly pacingRate: number;
  /**
   * A packet that counts as in flight was sent.
   * @param inFlight bytes in flight, this packet included.
   * @param appLimited whether the sender had run out of data before this packet.
   */
  onSent(now: number, bytes: number, inFlight: number, appLimited: boolean): void;
  /** Called once for each acknowledgement that newly acknowledges bytes in flight. */
  onAck(event: AckEvent): void;
  /** Called once for each lost packet, before `onAck` for the acknowledgement that revealed it. */
  onLoss(event: LossEvent): void;
  /** The peer reported ECN-CE for packets sent up to `sentAt` (RFC 9002 §7.1). */
  onCongestionExperienced(now: number, sentAt: number): void;
  /** Persistent congestion was established (RFC 9002 §7.6). */
  onPersistentCongestion(now: number): void;
  /** A packet that was passed to `onLoss` was acknowledged after all. */
  onSpuriousLoss(now: number, sentAt: number): void;
  /** The maximum packet size has changed. */
  onMtu(bytes: number): void;
}

/** The minimum window in packets (RFC 9002 §7.2). */
export const MINIMUM_WINDOW_PACKETS = 2;

/** The initial window: ten packets, but at most the larger of 14,720 bytes and two packets (RFC 9002 §7.2). */
export const initialWindow = (mtu: number): number => Math.min(10 * mtu, Math.max(14_720, 2 * mtu));
