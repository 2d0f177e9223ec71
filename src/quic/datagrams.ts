import type { Verdict } from './wire/frames.ts';

/** DATAGRAM frames of a connection (RFC 9221), bounded in both directions. */
export declare class Datagrams {
  /** @param maxFrameSize the max_datagram_frame_size that this side announces; 0 accepts none. */
  constructor(maxFrameSize: number);

  /**
   * Sets what a frame may have at most.
   *
   * @param peerFrameSize the peer's max_datagram_frame_size, with type and length; 0 for none.
   * @param room bytes for frames in a packet of the path's present size.
   */
  setLimits(peerFrameSize: number, room: number): void;
  /** The largest payload that `send` takes at present; 0 when the peer accepts none. */
  readonly maxSize: number;
  /** Queues a payload, which must no longer be changed; false when it was dropped: too large or full. */
  send(data: Uint8Array): boolean;
  /** Frames that wait to be sent. */
  readonly queued: number;
  /** Payloads dropped in either direction, for lack of room or because the path has shrunk. */
  readonly dropped: number;
  /** Writes as many frames as fit. Returns the offset behind them. */
  writeFrames(out: Uint8Array, at: number, limit: number): number;
  /** A frame of the peer; its bytes are copied. */
  datagram(bytes: Uint8Array, at: number, size: number): Verdict;
  /** The next received payload, which the caller then owns. */
  next(): Uint8Array | undefined;
}
