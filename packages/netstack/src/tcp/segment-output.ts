import type { TcpSegment } from '../wire/tcp.ts';

/**
 * The output for the segments of one connection. The stack adds ports, checksum and the IP header:
 *
 *     fill output.segment
 *     const at = output.begin(payloadBytes);
 *     if (at < 0) return; // `transmit` is called again when there is room
 *     copy the payload to output.buffer from `at`
 *     output.end(segmentSize);
 */
export interface SegmentOutput {
  /** The header of the next segment: the connection sets every field but the ports. */
  readonly segment: TcpSegment;
  /** The buffer with the room that `begin` reserved; each `begin` may replace it. */
  readonly buffer: Uint8Array;
  /**
   * Writes the header from `segment`, and reserves room for the payload after it.
   * @returns the start of the payload in `buffer`; -1 if there is no room now.
   */
  begin(payloadBytes: number): number;
  /**
   * Sends the segment that `begin` started.
   * @param segmentSize payload bytes of each segment into which the device divides it; 0 for a plain segment.
   */
  end(segmentSize: number): void;
}

/** The packet sizes of a connection's path. */
export interface TcpPath {
  /** Bytes of TCP options and payload in one packet: the path's MTU less the IP and TCP headers. */
  readonly segmentBytes: number;
  /** The MSS option: the device's MTU less the IP and TCP headers (RFC 6691). */
  readonly announcedMss: number;
  /** Payload bytes of a large segment that the device divides; 0 without segmentation offload. */
  readonly largestPayload: number;
}
