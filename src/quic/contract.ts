import type { WeirError } from '../errors.ts';
import type { Endpoint } from '../net/addresses/address.ts';
import type { ByteLink, WireCounter } from '../net/links/link.ts';

/** Which side of a connection this is. */
export type Role = 'client' | 'server';

/** One stream of a connection (RFC 9000 §2), as a link. */
export interface QuicStream extends ByteLink {
  /** Its id, with the type in the two low bits (§2.1). */
  readonly id: number;
  /** Whether both sides may send on it. The other direction of a unidirectional stream has ended. */
  readonly bidirectional: boolean;
  /** Ends the sending part with RESET_STREAM and drops what is queued. Idempotent. */
  reset(code: number): void;
  /** Discards all further data of the peer, and sends STOP_SENDING. Idempotent. */
  stopSending(code: number): void;
}

/** The error of a stream that the peer has reset or stopped. */
export interface StreamFailure extends WeirError {
  /** The application's error code (§20.2). */
  readonly streamCode: number;
}

/** How a connection ended. */
export interface CloseReason {
  /** `application` for the codes of the protocol above (§20.2), `transport` for those of §20.1. */
  readonly kind: 'application' | 'transport' | 'idle' | 'stateless-reset' | 'version';
  /** Which side ended it. */
  readonly by: 'self' | 'peer';
  readonly code: number;
  /** Printable text, never longer than a packet; empty when none was given. */
  readonly reason: string;
}

/** The events of a connection for the protocol above it. The functions must not throw. */
export interface QuicHandlers {
  /** The peer has opened a stream; the handler owns it. */
  readonly onStream: (stream: QuicStream) => void;
  /** A DATAGRAM frame (RFC 9221) was received; the handler owns its bytes. */
  readonly onDatagram: (data: Uint8Array) => void;
  /** A stream of either side is closed: both directions have ended, and the peer has acknowledged everything. */
  readonly onStreamClosed?: (() => void) | undefined;
  /** The peer has migrated to another address, which is validated. */
  readonly onMigrated?: ((remote: Endpoint) => void) | undefined;
}

/** A live QUIC connection, as the protocols above it use it. */
export interface QuicConnection {
  /** The current address of the peer. */
  readonly remote: Endpoint;
  /** The local address that the peer sends to; `undefined` where it is not available. */
  readonly local: Endpoint | undefined;
  /** UDP payload bytes in both directions, obfuscation included. */
  readonly wire: WireCounter;
  /** Resolves when the handshake is complete; rejects with a WeirError when it fails. */
  readonly established: Promise<void>;
  /**
   * Opens a stream, as soon as the peer's limit allows it.
   * @throws the reason of `signal`, or the cause of the connection's end.
   */
  openStream(kind: 'bidirectional' | 'unidirectional', signal?: AbortSignal): Promise<QuicStream>;
  /**
   * The peer has authenticated itself: it gets larger windows, and its connection is not given to another. No
   * effect unless `ConnectionSettings.authenticates`. Idempotent.
   */
  authenticated(): void;
  /**
   * How many bidirectional streams of the peer may be open at once. A lower number does not withdraw streams
   * that the peer was already allowed to open.
   */
  allowStreams(atOnce: number): void;
  /**
   * Whether a bidirectional stream is open: one of its directions has not ended, or the peer has not
   * acknowledged everything that was sent.
   */
  readonly hasOpenStream: boolean;
  /** The largest payload that `sendDatagram` accepts now; 0 when the peer accepts none. */
  readonly maxDatagramSize: number;
  /** Queues a DATAGRAM frame, bounded: false when it was dropped (too large, full, or closed). */
  sendDatagram(data: Uint8Array): boolean;
  /** Sends at a fixed rate (Brutal) instead of the congestion controller's. */
  useFixedRate(bytesPerSecond: number): void;
  /** Ends the connection with CONNECTION_CLOSE and the application's code. Idempotent. */
  close(code: number, reason?: string): void;
  /** Resolves, never rejects, when the connection has ended. */
  readonly closed: Promise<CloseReason>;
}
