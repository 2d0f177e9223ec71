import type { TcpSegment } from '../wire/tcp.ts';

/**
 * What passes between a TCP connection and the stack that drives it: events and failures one way, an
 * output for segments and the facts of the path the other.
 */

/** Why a connection ended before both directions were closed. */
export type TcpFailure =
  /** A RST of the peer before the connection was established: it refuses (or takes back) the connection. */
  | 'refused'
  /** A valid RST of the peer afterwards. */
  | 'reset'
  /** The peer did not answer for as long as a handshake, data or keep-alive probes wait. */
  | 'timeout'
  /** ICMP reported the destination unreachable while connecting. */
  | 'unreachable'
  /** This side ended it: `abort` or `refuse`. */
  | 'aborted';

/** What happened on a connection; each is reported once for all times that it happened since. */
export type TcpEvent =
  /** Passive: a valid SYN arrived, and `accept` or `refuse` is awaited. */
  | 'requested'
  /** The handshake is complete: the first bytes may have been written before. */
  | 'established'
  /** `read` returns something. */
  | 'readable'
  /** Everything up to the peer's FIN arrived: after the last chunk of `read` there is the end of stream. */
  | 'end'
  /** `write` takes more after it had returned false. */
  | 'writable'
  /** Every byte and the FIN of this side are acknowledged. */
  | 'finished'
  /** The connection failed: `failure` has the reason. Followed by `closed`. */
  | 'failed'
  /**
   * The last event: no segment leaves any more but a RST that `transmit` still returns. A connection that
   * goes through TIME-WAIT leaves `timeWait` for the table that answers from now on.
   */
  | 'closed';

/**
 * Where the segments of one connection are written. The stack adds ports, checksum and the IP header:
 *
 *     fill output.segment
 *     const at = output.begin(payloadBytes);
 *     if (at < 0) return; // asked again when there is room
 *     copy the payload to output.buffer from `at`
 *     output.end(segmentSize);
 */
export interface SegmentOutput {
  /** The header of the next segment: the connection sets every field but the ports. */
  readonly segment: TcpSegment;
  /** Where `begin` made room; may be another one after each `begin`. */
  readonly buffer: Uint8Array;
  /**
   * Writes the header from `segment`, and makes room for the payload behind it.
   * @returns where the payload is to begin in `buffer`; -1 when there is no room now.
   */
  begin(payloadBytes: number): number;
  /**
   * Sends what `begin` made room for.
   * @param segmentSize bytes of payload of each segment that the device makes of it; 0 for a plain segment.
   */
  end(segmentSize: number): void;
}

/** The path of a connection as its stack knows it. */
export interface TcpPath {
  /** Bytes of TCP options and payload that one packet takes: the path's MTU less the IP and TCP headers. */
  readonly segmentBytes: number;
  /** Bytes of TCP payload that this device's MTU allows to be received: announced as MSS (RFC 6691). */
  readonly announcedMss: number;
  /** Bytes of payload of a large segment that the device takes apart; 0 without segmentation offload. */
  readonly largestPayload: number;
}
