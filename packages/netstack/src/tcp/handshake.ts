import type { TcpSegment } from '../wire/tcp.ts';
import {
  DEFAULT_MSS,
  MAX_UNSCALED_WINDOW,
  MIN_MSS,
  OWN_WINDOW_SCALE,
  FIRST_HANDSHAKE_TIMEOUT,
  MAX_HANDSHAKE_TIMEOUT,
} from '../limits.ts';
import type { TcpPath } from './segment-output.ts';
import type { Deadlines } from './state.ts';

/** Bytes of the timestamps option with its padding, in every segment (RFC 7323 appendix A). */
const TIMESTAMPS_BYTES = 12;

/**
 * The options negotiated by the two SYNs (RFC 9293 §3.7.1, RFC 7323, RFC 2018). An active connection offers
 * all of them, a passive one those that the client has offered.
 */
export class NegotiatedOptions {
  readonly #path: TcpPath;
  #segmentBytes: number;
  #peerMss = DEFAULT_MSS;
  timestamps = true;
  sack = true;
  isScaled = true;
  /** Snd.Wind.Shift (RFC 7323 §2.3), for the windows that the peer announces, except in a SYN. */
  sendScale = 0;

  constructor(path: TcpPath) {
    this.#path = path;
    this.#segmentBytes = path.segmentBytes;
  }

  /** Rcv.Wind.Shift (RFC 7323 §2.3), for the windows that this side announces. */
  get receiveScale(): number {
    return this.isScaled ? OWN_WINDOW_SCALE : 0;
  }

  /** The MSS option of this side: payload bytes of the largest segment that the peer may send. */
  get announcedMss(): number {
    return Math.min(this.#path.announcedMss, MAX_UNSCALED_WINDOW);
  }

  /** Eff.snd.MSS (RFC 9293 §3.7.1): payload bytes of a full segment. */
  get mss(): number {
    const most = Math.min(this.#peerMss, this.#segmentBytes);
    return Math.max(MIN_MSS, most - (this.timestamps ? TIMESTAMPS_BYTES : 0));
  }

  /** Payload bytes of the largest segment: several full segments with segmentation offload. */
  get largest(): number {
    const { mss } = this;
    return Math.max(mss, this.#path.largestPayload - (this.#path.largestPayload % mss));
  }

  /** Sets the size of packets on the path. @returns whether it has changed. */
  setSegmentBytes(bytes: number): boolean {
    if (bytes === this.#segmentBytes) return false;
    this.#segmentBytes = bytes;
    return true;
  }

  /** Reads the options of the peer's SYN or SYN-ACK. */
  onSyn(segment: TcpSegment): void {
    this.#peerMss = segment.mss === 0 ? DEFAULT_MSS : segment.mss;
    this.timestamps = segment.hasTimestamps;
    this.sack = segment.sackPermitted;
    this.isScaled = segment.windowScale >= 0;
    this.sendScale = Math.max(0, segment.windowScale);
  }

  /** Writes the options of this side's SYN or SYN-ACK. */
  writeSyn(segment: TcpSegment): void {
    segment.mss = this.announcedMss;
    segment.windowScale = this.isScaled ? OWN_WINDOW_SCALE : -1;
    segment.sackPermitted = this.sack;
    segment.hasTimestamps = this.timestamps;
  }
}

/** Schedules the sending and retransmission of this side's SYN or SYN-ACK (RFC 9293 §3.8.1, RFC 6298 §2.1 and §5.5). */
export class SynRetransmission {
  readonly #deadlines: Deadlines;
  /** Whether a SYN of the peer may get a response: a passive connection waits for `accept`. */
  isAccepted: boolean;
  /** Whether the SYN or SYN-ACK is due with the next `transmit`. */
  isDue: boolean;
  #sent = 0;
  /** Number of transmissions since the path was last restored: the timeout doubles with each. */
  #unanswered = 0;
  #sentAt = 0;

  /** Creates the schedule; an active connection sends its SYN at once. */
  constructor(role: 'active' | 'passive', deadlines: Deadlines) {
    this.isAccepted = role === 'active';
    this.isDue = role === 'active';
    this.#deadlines = deadlines;
  }

  /** Whether the SYN or SYN-ACK was ever sent. */
  get isSent(): boolean {
    return this.#sent > 0;
  }

  onSent(now: number): void {
    const backoff = 2 ** this.#unanswered;
    const timeout = Math.min(FIRST_HANDSHAKE_TIMEOUT * backoff, MAX_HANDSHAKE_TIMEOUT);
    this.#deadlines.set('handshake', now + timeout);
    this.isDue = false;
    this.#sent++;
    this.#unanswered++;
    this.#sentAt = now;
  }

  /** Handles the retransmission timeout. @returns false after `retries` retransmissions. */
  onTimeout(retries: number): boolean {
    if (this.#unanswered > retries) return false;
    this.isDue = true;
    return true;
  }

  /**
   * Called when the peer has acknowledged the SYN.
   *
   * @returns the round trip; `undefined` if the SYN was sent more than once.
   */
  onAcknowledged(now: number): number | undefined {
    this.isDue = false;
    this.#deadlines.clear('handshake');
    return this.#sent === 1 ? now - this.#sentAt : undefined;
  }

  /** Called when the path delivers again: the SYN is sent at once, and the timeout starts with its first value. */
  onPathRestored(): void {
    this.#unanswered = 0;
    this.isDue = true;
  }
}
