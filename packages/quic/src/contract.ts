import type { CreateController } from '@weir/congestion';
import type { WeirError } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import type { ByteLink, WireCounter } from '@weir/io/links';

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

/**
 * The encryption level of a handshake message (RFC 9001 §4): each has its own keys and its own stream
 * of CRYPTO data. 0-RTT is not offered.
 */
export type TlsLevel = 'initial' | 'handshake' | 'application';

/** The direction of the packets that a secret protects, as seen by this side. */
export type SecretDirection = 'read' | 'write';

/**
 * The events of a handshake, in the order in which TLS produced them. They are only reported during `start`
 * and `receive`, at points where a handler may call any method of the handshake. An exception of a handler
 * ends the handshake and is rethrown by `start` or `receive`.
 */
export interface TlsEvents {
  /** Bytes for CRYPTO frames of `level`, after those reported before. The handler owns them. */
  readonly onCryptoData: (level: TlsLevel, bytes: Uint8Array) => void;
  /**
   * The secret of a level, before the first CRYPTO data that needs it. Never for `initial`.
   *
   * @param cipherSuite 0x1301, 0x1302 or 0x1303 (RFC 8446 appendix B.4); the same for all secrets.
   * @param secret 32 or 48 bytes; the handler owns it, and clears it after use.
   */
  readonly onSecret: (
    level: Exclude<TlsLevel, 'initial'>,
    direction: SecretDirection,
    cipherSuite: number,
    secret: Uint8Array,
  ) => void;
  /**
   * The peer's transport parameters, encoded. They are authentic only once the
   * handshake is complete (RFC 9001 §8.2). The handler owns them.
   */
  readonly onPeerParameters: (bytes: Uint8Array) => void;
  /**
   * The handshake has failed, or a later message was invalid: the TLS alert, which becomes the code of
   * CONNECTION_CLOSE (`cryptoErrorCode`). The last event; `failure` describes it.
   */
  readonly onAlert: (code: number) => void;
  /**
   * The peer violated RFC 9001 §4.1.3: CRYPTO data arrived at a level that TLS has
   * left. The connection closes with PROTOCOL_VIOLATION. The last event.
   */
  readonly onViolation: (reason: string) => void;
  /**
   * The handshake is complete (RFC 9001 §4.1.1): the peer's Finished was verified, and, on the side
   * that verifies, its certificate. A server may now confirm the handshake.
   */
  readonly onComplete: () => void;
}

/** TLS 1.3 for one connection. Bytes in, events out: no clock, no socket, nothing asynchronous. */
export interface TlsHandshake extends Disposable {
  /**
   * Sets the transport parameters of this side. Called once: by a client before `start`, by a server before the
   * first `receive`.
   */
  setTransportParameters(bytes: Uint8Array): void;
  /** Creates the ClientHello. Clients only, once. */
  start(): void;
  /**
   * Passes the next CRYPTO bytes of a level to TLS, in order and without gaps, in pieces of any size; they
   * are not used after the call. Ignored once the handshake has failed.
   */
  receive(level: TlsLevel, bytes: Uint8Array): void;
  readonly isComplete: boolean;
  /** The reason why the handshake failed, for log lines and errors; for a certificate, the reason of its rejection. */
  readonly failure: string | undefined;
  /**
   * Frees the native memory of TLS: 50 KB during a handshake, then 25 KB for a client and none for a server.
   * Idempotent, and allowed in a handler. Messages after the handshake (RFC 9001 §4.1.3) are passed to TLS as well, so
   * a connection keeps the handshake until it ends. Every other method throws afterwards.
   */
  [Symbol.dispose](): void;
}

/**
 * The server side of TLS, with one certificate, for any number of connections. A renewed certificate
 * is another `ServerTls`: handshakes that the former one has created continue after its disposal.
 */
export interface ServerTls extends Disposable {
  /**
   * Creates the handshake of a new connection.
   * @throws {WeirError} when the process is out of memory.
   */
  createHandshake(events: TlsEvents): TlsHandshake;
}

/** The client side of TLS for one server, whose name and certificate it verifies. */
export interface ClientTls extends Disposable {
  /**
   * Creates the handshake of a new connection. The first call also creates the trust store, which all connections
   * share.
   * @throws {WeirError} when a trusted certificate cannot be loaded, or memory is short.
   */
  createHandshake(events: TlsEvents): TlsHandshake;
}
