/*
 * What the state machine of a connection uses of this folder's lower half. All offsets are plain
 * numbers: the first byte of data is 0, the SYN is not counted, the FIN is one byte behind the data.
 */

/** What an acceptable segment with ACK says; filled and reused by the connection. */
export interface Acknowledgement {
  /** The cumulative acknowledgement. */
  offset: number;
  /** SACK blocks in the order of the option, start and end (excluded) by turns; `blockCount` pairs. */
  readonly blocks: Float64Array;
  blockCount: number;
  /**
   * When the segment was sent whose timestamp is echoed (RFC 7323 §4): the least `now` that gives this
   * timestamp, in milliseconds. -1 without the option.
   */
  echo: number;
  /** A duplicate acknowledgement by RFC 5681 §2; only used with peers that do not send SACK. */
  isDuplicate: boolean;
}

/** The next segment to be sent; filled by `Recovery.plan` and reused. */
export interface PlannedSegment {
  start: number;
  /** Excluded; one more than the end of the data when FIN goes along. */
  end: number;
  isRetransmission: boolean;
}

/** Loss recovery of one connection (class `Recovery` in recovery.ts). */
export interface LossRecovery {
  /** SND.UNA. */
  readonly acknowledged: number;
  /** SND.NXT: the end of what was ever sent. */
  readonly sent: number;
  /** Timeouts in a row without an answer, for the limits of RFC 9293 §3.8.3. */
  readonly timeouts: number;
  /** The next deadline in milliseconds; `Infinity` for none. */
  readonly timeout: number;
  /** Whether `plan` held data back because of the peer's window with nothing in flight: probe it. */
  readonly isWindowBlocked: boolean;

  /** SACK permitted by both, and the payload bytes of a full segment; before the first segment. */
  start(sack: boolean, mss: number): void;
  /** The round trip of the handshake, unless its SYN was repeated (then `undefined`). */
  onHandshake(roundTrip: number | undefined, now: number): void;
  /** Path MTU changed. */
  setMss(mss: number, now: number): void;
  /**
   * What may be sent now, into `planned`; false for nothing.
   * @param available the end of what is queued, FIN included.
   * @param edge the right edge of the peer's window.
   * @param largest payload bytes of a segment, at least the MSS; more with segmentation offload.
   */
  plan(now: number, available: number, edge: number, largest: number): boolean;
  readonly planned: Readonly<PlannedSegment>;
  /** The planned segment has left. */
  onSent(now: number): void;
  /** Returns false, and does nothing, when it acknowledges what was never sent. */
  onAck(ack: Acknowledgement, now: number): boolean;
  /** Before `timeout` it does nothing. `plan` afterwards. */
  onTimeout(now: number): void;
  /** What timed out without an answer is sent again at once, and waits no longer than at first. */
  onPathRestored(now: number): void;
}
