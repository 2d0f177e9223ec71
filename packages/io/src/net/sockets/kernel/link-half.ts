/** The link, as seen by its halves for reading and writing. */
export interface HalfOwner {
  /** Resolves when the link has ended; see `ByteLink`. */
  readonly closed: Promise<Error | undefined>;
  /** Whether the peer's end of stream has been read. */
  readonly inputEnded: boolean;
  /** Ends both halves, since the connection has ended. */
  fail(error: Error): void;
  /** Records the failure of the connection: `fail` follows once data received before has been read. */
  peerFailed(error: Error): void;
  /** Called when one half has reached its end. */
  halfEnded(): void;
  /** Called when one half begins to wait for an event of the kernel. */
  waits(): void;
}

/**
 * Moves bytes between two sockets in place of reads and writes. While a pump is set at a half, events of the socket go
 * to the pump, and other reads or writes are rejected.
 */
export interface HalfPump {
  /** Whether the pump waits for an event of its source. */
  readonly isWaiting: boolean;
  /** Called when one of the sockets is ready. */
  pump(): void;
  /** Called when the source has failed; data received before is still to be moved. */
  sourceFailed(error: Error): void;
  /** Called when one of the links has failed or was closed. */
  fail(error: Error, side: 'from' | 'to'): void;
}
