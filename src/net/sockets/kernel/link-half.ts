/** The link, as its halves for reading and writing see it. */
export interface HalfOwner {
  /** Resolves when the connection is over. */
  readonly closed: Promise<unknown>;
  /** Whether the peer's end of stream has been read. */
  readonly inputEnded: boolean;
  /** The connection has failed: ends both halves. */
  fail(error: Error): void;
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
  /** One of the links has failed or was closed. */
  fail(error: Error): void;
}
