import type { TcpSegment } from '../wire/tcp.ts';

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
