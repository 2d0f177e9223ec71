import type { TcpSegment } from '../wire/tcp.ts';
import { DEFAULT_MSS, MAX_UNSCALED_WINDOW, MIN_MSS, OWN_WINDOW_SCALE } from './limits.ts';
import type { TcpPath } from './segment-output.ts';

/** Bytes of the timestamps option with its padding, in every segment (RFC 7323 appendix A). */
const TIMESTAMPS_BYTES = 12;

/**
 * What the two SYNs have agreed on (RFC 9293 §3.7.1, RFC 7323, RFC 2018). The active side offers
 * everything, the passive side what the client has offered.
 */
export class NegotiatedOptions {
  readonly #path: TcpPath;
  #segmentBytes: number;
  #peerMss = DEFAULT_MSS;
  timestamps = true;
  sack = true;
  isScaled = true;
  /** The shift of windows that the peer sends; SYNs are never scaled. */
  sendScale = 0;

  constructor(path: TcpPath) {
    this.#path = path;
    this.#segmentBytes = path.segmentBytes;
  }

  /** The shift of windows that this side sends. */
  get receiveScale(): number {
    return this.isScaled ? OWN_WINDOW_SCALE : 0;
  }

  /** Bytes of the largest segment that the peer may send: it knows this number. */
  get announcedMss(): number {
    return Math.min(this.#path.announcedMss, MAX_UNSCALED_WINDOW);
  }

  /** Bytes of payload of a full segment: Eff.snd.MSS of RFC 9293 §3.7.1. */
  get mss(): number {
    const most = Math.min(this.#peerMss, this.#segmentBytes);
    return Math.max(MIN_MSS, most - (this.timestamps ? TIMESTAMPS_BYTES : 0));
  }

  /** Bytes of payload of the largest segment: several full ones with segmentation offload. */
  get largest(): number {
    const { mss } = this;
    return Math.max(mss, this.#path.largestPayload - (this.#path.largestPayload % mss));
  }

  /** The packets of the path have another size now. @returns whether it is another one. */
  setSegmentBytes(bytes: number): boolean {
    if (bytes === this.#segmentBytes) return false;
    this.#segmentBytes = bytes;
    return true;
  }

  /** Takes the options of the peer's SYN or SYN-ACK. */
  onSyn(segment: TcpSegment): void {
    this.#peerMss = segment.mss === 0 ? DEFAULT_MSS : segment.mss;
    this.timestamps = segment.hasTimestamps;
    this.sack = segment.sackPermitted;
    this.isScaled = segment.windowScale >= 0;
    this.sendScale = Math.max(0, segment.windowScale);
  }

  /** Writes what this side's SYN offers, and its SYN-ACK accepts. */
  writeSyn(segment: TcpSegment): void {
    segment.mss = this.announcedMss;
    segment.windowScale = this.isScaled ? OWN_WINDOW_SCALE : -1;
    segment.sackPermitted = this.sack;
    segment.hasTimestamps = this.timestamps;
  }
}
