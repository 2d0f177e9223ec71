import type { WeirError } from '../errors.ts';
import type { Endpoint } from '../net/addresses/address.ts';
import type { ByteLink, WireCounter } from '../net/links/link.ts';

/** Which side of a connection this is. */
export type Role = 'client' | 'server';

/** One stream of a connection (RFC 9000 §2), as a link. */
export interface QuicStream extends ByteLink {
  /** Its id, with the type in the two low bits (§2.1). */
  readonly id: number;
  /** Whether both sides may send on it. A unidirectional one has one direction, the other has ended. */
  readonly bidirectional: boolean;
  /** Ends what this side sends with RESET_STREAM and drops what is queued. Idempotent. */
  reset(code: number): void;
  /** Discards what the peer sends and requests with STOP_SENDING that it end it. Idempotent. */
  stopSending(code: number): void;
}

/** A stream that the peer has reset or asked to stop: the cause with which its link fails. */
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

/** What a connection reports to the protocol above it. The functions must not throw. */
export interface QuicHandlers {
  /** A stream that the peer has opened; the handler owns it. */
  readonly onStream: (stream: QuicStream) => void;
  /** A received DATAGRAM frame (RFC 9221), whose bytes the handler then owns. */
  readonly onDatagram: (data: Uint8Array) => void;
  /** A stream of either side is over: both directions have ended, and the peer has all that was sent. */
  readonly onStreamClosed?: (() => void) | undefined;
  /** The peer has moved to another address, which is validated. */
  readonly onMigrated?: ((remote: Endpoint) => void) | undefined;
}

/** A live QUIC connection, as the protocols above it use it. */
export interface QuicConnection {
  /** The peer's address at present. */
  readonly remote: Endpoint;
  /** The own address that the peer sends to; `undefined` where it cannot be known. */
  readonly local: Endpoint | undefined;
  /** UDP payload bytes in both directions, obfuscation included. */
  readonly wire: WireCounter;
  /** Resolves when the handshake is complete; rejects with a WeirError when it fails. */
  readonly established: Promise<void>;
  /**
   * Opens a stream, when the peer's limit allows it: waits until then.
   * @throws the reason of `signal`, or the cause of the connection's end.
   */
  openStream(kind: 'bidirectional' | 'unidirectional', signal?: AbortSignal): Promise<QuicStream>;
  /**
   * The peer has authenticated itself: it gets the memory of a peer that is known, and keeps its place.
   * Without effect where the settings do not ask for it. Idempotent.
   */
  authenticated(): void;
  /**
   * How many bidirectional streams of the peer may be open at once from now on. Fewer than before is for
   * those to come: what the peer may open already it may still open.
   */
  allowStreams(atOnce: number): void;
  /**
   * Whether a bidirectional stream is open: one of its directions has not ended, or the peer has not
   * acknowledged everything that was sent.
   */
  readonly hasOpenStream: boolean;
  /** The largest payload that `sendDatagram` takes at present; 0 when the peer accepts none. */
  readonly maxDatagramSize: number;
  /** Queues a DATAGRAM frame, bounded: false when it was dropped (too large, full, or closed). */
  sendDatagram(data: Uint8Array): boolean;
  /** Sends at a fixed rate from now on (Brutal), instead of the controller's. In bytes a second. */
  useFixedRate(bytesPerSecond: number): void;
  /** Ends the connection with CONNECTION_CLOSE of the application's code. Idempotent. */
  close(code: number, reason?: string): void;
  /** Resolves, never rejects, when the connection has ended. */
  readonly closed: Promise<CloseReason>;
}
