import type { Role } from '../contract.ts';
import { cryptoErrorCode, QuicError, TransportErrorCode } from '../errors.ts';
import { isCipherSuite } from '../protection/packet-keys.ts';
import type { ConnectionKeys } from './connection-keys.ts';
import type { CryptoStreams } from '../packets/crypto-streams.ts';
import type { HandshakeIds } from './handshake-ids.ts';
import type {
  ClientTls,
  SecretDirection,
  ServerTls,
  TlsHandshake,
  TlsLevel,
} from './tls-handshake.ts';
import { FrameType } from '../wire/frame-types.ts';
import type { FrameError } from '../wire/frame-visitor.ts';
import {
  decodeTransportParameters,
  type TransportParameters,
} from '../wire/transport-parameters.ts';

/**
 * The TLS handshake of a connection (RFC 9001 §4): passes CRYPTO data to TLS and back, installs its keys in
 * `ConnectionKeys`, and checks the peer's transport parameters.
 */
export class ConnectionTls implements Disposable {
  readonly #role: Role;
  readonly #tls: TlsHandshake;
  readonly #keys: ConnectionKeys;
  readonly #crypto: CryptoStreams;
  readonly #ids: HandshakeIds;
  #peer: TransportParameters | undefined;
  #error: QuicError | undefined;
  #isComplete = false;

  constructor(
    role: Role,
    tls: ClientTls | ServerTls,
    keys: ConnectionKeys,
    crypto: CryptoStreams,
    ids: HandshakeIds,
  ) {
    this.#role = role;
    this.#keys = keys;
    this.#crypto = crypto;
    this.#ids = ids;
    this.#tls = tls.createHandshake({
      onCryptoData: (level, bytes) => {
        this.#crypto.write(level, bytes);
      },
      onSecret: (level, direction, suite, secret) => {
        this.#onSecret(level, direction, suite, secret);
      },
      onPeerParameters: (bytes) => {
        this.#onPeerParameters(bytes);
      },
      onAlert: (code) => {
        const reason = this.#tls.failure ?? 'the TLS handshake failed';
        this.#error ??= new QuicError(cryptoErrorCode(code), reason, FrameType.CRYPTO);
      },
      onViolation: (reason) => {
        const { PROTOCOL_VIOLATION } = TransportErrorCode;
        this.#error ??= new QuicError(PROTOCOL_VIOLATION, reason, FrameType.CRYPTO);
      },
      onComplete: () => {
        this.#isComplete = this.#error === undefined;
      },
    });
  }

  /**
   * Whether TLS is complete, and the peer's transport parameters are authentic. Remains true after an error in later
   * messages, which is reported under the 1-RTT keys.
   */
  get isComplete(): boolean {
    return this.#isComplete && this.#peer !== undefined;
  }

  /** The peer's transport parameters, once they have arrived. */
  get peerParameters(): TransportParameters | undefined {
    return this.#peer;
  }

  /**
   * Starts the handshake; a client creates its ClientHello.
   * @param parameters the encoded transport parameters of this side.
   */
  start(parameters: Uint8Array): void {
    this.#tls.setTransportParameters(parameters);
    if (this.#role === 'client') this.#tls.start();
  }

  /** Passes received data of a level to TLS, in order. */
  advance(level: TlsLevel): FrameError {
    while (this.#error === undefined) {
      const bytes = this.#crypto.read(level);
      if (bytes === undefined) return undefined;
      this.#tls.receive(level, bytes);
    }
    return this.#error;
  }

  [Symbol.dispose](): void {
    this.#tls[Symbol.dispose]();
  }

  #onSecret(
    level: Exclude<TlsLevel, 'initial'>,
    direction: SecretDirection,
    suite: number,
    secret: Uint8Array,
  ): void {
    if (isCipherSuite(suite)) this.#keys.install(level, direction, suite, secret);
    else {
      const { INTERNAL_ERROR } = TransportErrorCode;
      this.#error ??= new QuicError(INTERNAL_ERROR, 'TLS chose a suite that QUIC does not know');
    }
    secret.fill(0);
  }

  #onPeerParameters(bytes: Uint8Array): void {
    const peer = decodeTransportParameters(bytes, this.#role === 'client' ? 'server' : 'client');
    if (peer instanceof QuicError) {
      this.#error ??= peer;
      return;
    }
    const fault = this.#ids.check(peer);
    if (fault === undefined) this.#peer = peer;
    else this.#error ??= fault;
  }
}
