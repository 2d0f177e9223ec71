/** An acceptable ACK, in offsets of this side's stream. The connection reuses one record. */
export interface ReceivedAck {
  /** SEG.ACK: the cumulative acknowledgement. */
  offset: number;
  /** SACK blocks in the order of the option: start and end (excluded) alternately, `blockCount` pairs. */
  readonly blocks: Float64Array;
  blockCount: number;
  /**
   * Time at which the segment was sent whose timestamp is echoed (RFC 7323 §4): the smallest `now` with this
   * timestamp, in milliseconds. -1 without the option.
   */
  echo: number;
  /** Whether this is a duplicate acknowledgement by RFC 5681 §2. Used only if the peer does not send SACK. */
  isDuplicate: boolean;
}
