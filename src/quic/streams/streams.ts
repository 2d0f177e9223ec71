import type { Verdict } from '../wire/frames.ts';
import type { StreamEvent } from './stream-events.ts';

/** What this side grants the peer: goes into its transport parameters (RFC 9000 §18.2). */
export interface StreamGrants {
  /** Bytes on all streams together: initial_max_data. */
  readonly connectionWindow: number;
  readonly maxConnectionWindow: number;
  /** Bytes on one stream, of every kind: initial_max_stream_data_*. */
  readonly streamWindow: number;
  readonly maxStreamWindow: number;
  /** Streams of the peer that may be open at once: initial_max_streams_*. */
  readonly bidirectionalStreams: number;
  readonly unidirectionalStreams: number;
}

/** What the peer grants: these of its transport parameters. */
export interface PeerGrants {
  readonly initialMaxData: number;
  readonly initialMaxStreamDataBidiLocal: number;
  readonly initialMaxStreamDataBidiRemote: number;
  readonly initialMaxStreamDataUni: number;
  readonly initialMaxStreamsBidi: number;
  readonly initialMaxStreamsUni: number;
}

/**
 * Where the writer of a packet notes what the packet carries, so that `Streams` gets it back when the
 * packet is acknowledged or lost. `false` when the packet has no room for another note: the frame is
 * then not written.
 */
export interface CarriedNotes {
  stream(id: number, offset: number, size: number, fin: boolean): boolean;
  resetStream(id: number): boolean;
  stopSending(id: number): boolean;
  maxData(limit: number): boolean;
  maxStreamData(id: number, limit: number): boolean;
  maxStreams(bidirectional: boolean, limit: number): boolean;
  dataBlocked(limit: number): boolean;
  streamDataBlocked(id: number, limit: number): boolean;
  streamsBlocked(bidirectional: boolean, limit: number): boolean;
}

/** What `read` returns at the end of a stream. */
export const END_OF_STREAM = 'end';

/**
 * The streams of a connection (RFC 9000 §2 to §4): ids, states, limits, flow control, and the frames
 * for all of it. No call takes a time. Calls for ids that are unknown or forgotten do nothing.
 */
export declare class Streams {
  constructor(side: 'client' | 'server', grants?: StreamGrants);

  /** The peer's transport parameters have arrived. Before, nothing can be opened or sent. */
  setPeerGrants(grants: PeerGrants): void;

  // ---- the application's calls ----

  /** Opens a stream; `undefined` while the peer allows no more: then `streams-available` follows. */
  open(bidirectional: boolean): number | undefined;
  /**
   * Queues a chunk, which must no longer be changed. False asks the caller to wait for
   * `stream-writable`; the chunk is queued nevertheless. `undefined` when the stream takes nothing:
   * finished, reset, stopped or forgotten.
   */
  write(id: number, chunk: Uint8Array): boolean | undefined;
  /** Bytes queued and not sent yet. */
  queued(id: number): number;
  /** Ends what this side sends, after what is queued. Idempotent. */
  finish(id: number): void;
  /** Ends what this side sends with RESET_STREAM and drops what is queued. Idempotent. */
  reset(id: number, code: number): void;
  /**
   * The next bytes, which the caller then owns; `END_OF_STREAM`, or `undefined` when there is nothing
   * now (or the stream was reset, stopped or forgotten). Reading grants the peer more.
   */
  read(id: number): Uint8Array | typeof END_OF_STREAM | undefined;
  /** Discards what the peer sends from now on, and requests its end with STOP_SENDING. Idempotent. */
  stopSending(id: number, code: number): void;
  /** The next thing that happened. */
  nextEvent(): StreamEvent | undefined;
  /** Streams that are not forgotten yet. */
  readonly size: number;
  /** Received bytes that were not read. */
  readonly unread: number;

  // ---- frames of the peer (the methods of FrameVisitor) ----

  stream(
    id: number,
    offset: number,
    bytes: Uint8Array,
    at: number,
    size: number,
    fin: boolean,
  ): Verdict;
  resetStream(id: number, code: number, finalSize: number): Verdict;
  stopSendingReceived(id: number, code: number): Verdict;
  maxData(limit: number): Verdict;
  maxStreamData(id: number, limit: number): Verdict;
  maxStreams(bidirectional: boolean, limit: number): Verdict;
  dataBlocked(limit: number): Verdict;
  streamDataBlocked(id: number, limit: number): Verdict;
  streamsBlocked(bidirectional: boolean, limit: number): Verdict;

  // ---- frames to the peer ----

  /** Whether `writeFrames` would write something into an empty packet. */
  readonly hasFrames: boolean;
  /** Whether only control frames are due: they do not wait for the congestion window's data. */
  readonly hasControlFrames: boolean;
  /**
   * Writes what is due between `at` and `limit`: control frames, lost ranges, new data of the stream
   * whose turn it is. Returns the offset behind it; `at` when nothing fitted.
   */
  writeFrames(out: Uint8Array, at: number, limit: number, carried: CarriedNotes): number;

  // ---- what became of the frames that a packet carried ----

  streamAcknowledged(id: number, offset: number, size: number, fin: boolean): void;
  streamLost(id: number, offset: number, size: number, fin: boolean): void;
  resetStreamAcknowledged(id: number): void;
  resetStreamLost(id: number): void;
  stopSendingLost(id: number): void;
  maxDataLost(limit: number): void;
  maxStreamDataLost(id: number, limit: number): void;
  maxStreamsLost(bidirectional: boolean, limit: number): void;
  dataBlockedLost(limit: number): void;
  streamDataBlockedLost(id: number, limit: number): void;
  streamsBlockedLost(bidirectional: boolean, limit: number): void;
}
