/** The link, as its halves for reading and writing see it. */
export interface HalfOwner {
  /** See `ByteLink`. */
  readonly closed: Promise<Error | undefined>;
  /** Whether the peer's end of stream has been read. */
  readonly inputEnded: boolean;
  /** The connection is over: ends both halves. */
  fail(error: Error): void;
  /** The connection has failed: `fail` follows once what was received before has been read. */
  peerFailed(error: Error): void;
  /** One half has reached its end. */
  halfEnded(): void;
  /** One half begins to wait for an event of the kernel. */
  waits(): void;
}

/**
 * Moves bytes between two sockets in place of reads and writes. While one is set at a half, events of
 * the socket go to it, and other reads or writes are rejected.
 */
export interface HalfPump {
  /** Whether it waits for an event of its source. */
  readonly isWaiting: boolean;
  /** One of the sockets is ready. */
  pump(): void;
  /** The source has failed; what it had received is still to be moved. */
  sourceFailed(error: Error): void;
  /** One of the links has failed or was closed. */
  fail(error: Error, side: 'from' | 'to'): void;
}
