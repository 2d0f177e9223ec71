import type { TcpSegment } from '../wire/tcp.ts';
import { DEFAULT_MSS, MAX_UNSCALED_WINDOW, MIN_MSS, OWN_WINDOW_SCALE } from './limits.ts';
import type { TcpPath } from './segment-output.ts';

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
