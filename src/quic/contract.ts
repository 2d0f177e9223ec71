import type { CreateController } from '../congestion/controller.ts';
import type { WeirError } from '../errors.ts';
import type { Endpoint } from '../net/addresses/address.ts';
import type { ByteLink, WireCounter } from '../net/links/link.ts';

/** The role of this side of a connection. */
export type Role = 'client' | 'server';

/** One stream of a connection (RFC 9000 §2), as a link. */
export interface QuicStream extends ByteLink {
  /** The stream id, with the type in the two low bits (§2.1). */
  readonly id: number;
  /** Whether both sides may send on the stream. The other direction of a unidirectional stream has ended. */
  readonly bidirectional: boolean;
  /** Ends the sending part with RESET_STREAM and drops queued data. Idempotent. */
  reset(code: number): void;
  /** Discards all further data of the peer, and sends STOP_SENDING. Idempotent. */
  stopSending(code: number): void;
}

/** The error of a stream that the peer has reset or stopped. */
export interface StreamFailure extends WeirError {
  /** The application's error code (§20.2). */
  readonly streamCode: number;
}

/** The reason why a connection ended. */
export interface CloseReason {
  /** The kind of end: `application` with a code of the protocol above (§20.2), `transport` with one of §20.1. */
  readonly kind: 'application' | 'transport' | 'idle' | 'stateless-reset' | 'version';
  /** The side that ended the connection. */
  readonly by: 'self' | 'peer';
  readonly code: number;
  /** The reason phrase: printable text, never longer than a packet; empty when none was given. */
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
  /** The peer has migrated to another address, which has been validated. */
  readonly onMigrated?: ((remote: Endpoint) => void) | undefined;
}

/** A live QUIC connection, as seen by the protocols above. */
export interface QuicConnection {
  /** The current address of the peer. */
  readonly remote: Endpoint;
  /** The local address that the peer sends to; `undefined` if unknown. */
  readonly local: Endpoint | undefined;
  /** Counts UDP payload bytes in both directions, obfuscation included. */
  readonly wire: WireCounter;
  /** Resolves when the handshake is complete; rejects with a WeirError when it fails. */
  readonly established: Promise<void>;
  /**
   * Opens a stream, as soon as the peer's limit allows it.
   * @throws the reason of `signal`, or the cause of the connection's end.
   */
  openStream(kind: 'bidirectional' | 'unidirectional', signal?: AbortSignal): Promise<QuicStream>;
  /**
   * Called by the protocol above when the peer has authenticated itself: it gets larger windows, and its connection is
   * no longer replaced by others. No effect unless `ConnectionSettings.authenticates`. Idempotent.
   */
  authenticated(): void;
  /**
   * Sets the number of bidirectional streams of the peer that may be open at once. A lower number does not withdraw
   * streams that the peer was already allowed to open.
   */
  allowStreams(atOnce: number): void;
  /**
   * Whether a bidirectional stream is open: one of its directions has not ended, or the peer has not
   * acknowledged everything that was sent.
   */
  readonly hasOpenStream: boolean;
  /** The largest payload that `sendDatagram` accepts now; 0 when the peer accepts none. */
  readonly maxDatagramSize: number;
  /** Queues a DATAGRAM frame; returns false when it was dropped (too large, queue full, or closed). */
  sendDatagram(data: Uint8Array): boolean;
  /** Replaces the congestion controller. */
  useController(create: CreateController): void;
  /** Ends the connection with CONNECTION_CLOSE and the application's code. Idempotent. */
  close(code: number, reason?: string): void;
  /** Resolves, never rejects, when the connection has ended. */
  readonly closed: Promise<CloseReason>;
}
