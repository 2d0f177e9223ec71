/**
 * Where a handshake message belongs (RFC 9001 §4): each level has keys of its own, and an own stream
 * of CRYPTO data. 0-RTT is not offered.
 */
export type TlsLevel = 'initial' | 'handshake' | 'application';

/** Which packets a secret is for, seen from the own side. */
export type SecretDirection = 'read' | 'write';

/**
 * What a handshake reports, in the order in which TLS produced it, and only during `start` and
 * `receive`. TLS is not in the middle of anything then: a handler may call any method of the handshake.
 * An exception of a handler ends the handshake and is thrown by the method that was called.
 */
export interface TlsEvents {
  /** Bytes for CRYPTO frames of `level`, after those reported before. The handler owns them. */
  readonly onCryptoData: (level: TlsLevel, bytes: Uint8Array) => void;
  /**
   * Keys of a level, before the first CRYPTO data that needs them. Never for `initial`.
   *
   * @param cipherSuite 0x1301, 0x1302 or 0x1303 (RFC 8446 appendix B.4); the same for all secrets.
   * @param secret of 32 or 48 bytes; the handler owns it, and clears it when it is no longer needed.
   */
  readonly onSecret: (
    level: Exclude<TlsLevel, 'initial'>,
    direction: SecretDirection,
    cipherSuite: number,
    secret: Uint8Array,
  ) => void;
  /**
   * The peer's transport parameters as they came, not yet parsed. They are authentic only once the
   * handshake is complete (RFC 9001 §8.2). The handler owns them.
   */
  readonly onPeerParameters: (bytes: Uint8Array) => void;
  /**
   * The handshake has failed, or a message after it was invalid: the alert of TLS that says why,
   * which becomes the code of CONNECTION_CLOSE (`cryptoErrorCode`). The last event; `failure` says
   * the same in words.
   */
  readonly onAlert: (code: number) => void;
  /**
   * The peer broke a rule of QUIC about CRYPTO data (RFC 9001 §4.1.3): bytes of a level that TLS has
   * left. The connection closes with PROTOCOL_VIOLATION. The last event.
   */
  readonly onViolation: (reason: string) => void;
  /**
   * The handshake is complete (RFC 9001 §4.1.1): the peer's Finished was verified, and, on the side
   * that verifies, its certificate. A server may now confirm the handshake.
   */
  readonly onComplete: () => void;
}

/** The TLS 1.3 of one connection. Bytes in, events out: no clock, no socket, nothing asynchronous. */
export interface TlsHandshake extends Disposable {
  /**
   * The own transport parameters. Called once: by a client before `start`, by a server before the
   * first `receive`.
   */
  setTransportParameters(bytes: Uint8Array): void;
  /** Makes the ClientHello. Clients only, once. */
  start(): void;
  /**
   * Gives TLS the next CRYPTO bytes of a level, in order and without gaps, in pieces of any size; they
   * are not used after the call. Ignored once the handshake has failed.
   */
  receive(level: TlsLevel, bytes: Uint8Array): void;
  readonly isComplete: boolean;
  /** Why the handshake failed, for log lines and errors; of a certificate, what is wrong with it. */
  readonly failure: string | undefined;
  /**
   * Frees what TLS holds outside the heap: 50 KB during a handshake, then 25 KB for a client and nothing
   * for a server. Idempotent, and allowed in a handler. Messages that come after the handshake (RFC 9001
   * §4.1.3) go to TLS as well, so that a connection keeps it until it ends.
   * Every other method throws afterwards.
   */
  [Symbol.dispose](): void;
}

/**
 * The server side of TLS, with one certificate, for any number of connections. A renewed certificate
 * is another `ServerTls`: handshakes that the former has created go on when it is disposed of.
 */
export interface ServerTls extends Disposable {
  /** @throws {WeirError} when the process is out of memory. */
  createHandshake(events: TlsEvents): TlsHandshake;
}

/** The client side of TLS towards one server, whose name and certificate it verifies. */
export interface ClientTls extends Disposable {
  /**
   * Makes what all connections share (the trust store) with the first one.
   * @throws {WeirError} when a trusted certificate cannot be loaded, or memory is short.
   */
  createHandshake(events: TlsEvents): TlsHandshake;
}
