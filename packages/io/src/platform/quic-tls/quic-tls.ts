import { asError, messageOf } from '@weir/base';
import { NativeError } from '../native.ts';
import type { NativeMemory } from '../native-memory.ts';
import type { QuicTlsContext } from './quic-tls-context.ts';
import type { Address } from './quic-tls-functions.ts';
import { INPUT_PIECE, type QuicTlsLibrary } from './quic-tls-library.ts';
import {
  QuicTlsReports,
  type KeyedLevel,
  type QuicTlsLevel,
  type QuicTlsReport,
} from './quic-tls-reports.ts';
import { verifyFailure } from './quic-tls-trust.ts';
import { setServerName, tlsReasonInWords, verifiableName } from '../tls/tls-context.ts';

/** Events of a connection, as in `TlsEvents` of quic/contract.ts, which is in a layer above. */
interface QuicTlsEvents {
  readonly onCryptoData: (level: QuicTlsLevel, bytes: Uint8Array) => void;
  readonly onSecret: (
    level: KeyedLevel,
    direction: 'read' | 'write',
    cipherSuite: number,
    secret: Uint8Array,
  ) => void;
  readonly onPeerParameters: (bytes: Uint8Array) => void;
  readonly onAlert: (code: number) => void;
  readonly onViolation: (reason: string) => void;
  readonly onComplete: () => void;
}

/** Constants of openssl/ssl.h. */
const WANT_READ = 2;
const WANT_WRITE = 3;

/** Alerts (RFC 8446 §6). */
const UNEXPECTED_MESSAGE = 10;
const ILLEGAL_PARAMETER = 47;
const INTERNAL_ERROR = 80;

/** The TLS of one QUIC connection: an `SSL` without records (RFC 9001 §4). */
export class QuicTls implements Disposable {
  readonly #library: QuicTlsLibrary;
  readonly #isServer: boolean;
  /** The name that the certificate must have, without a trailing dot; `undefined` for any. */
  readonly #expectedName: string | undefined;
  readonly #events: QuicTlsEvents;
  readonly #reports: QuicTlsReports;
  readonly #messages = new MessageHeads();
  /** The address of the `SSL`; 0 once freed. */
  #tls: Address;
  #isDisposed = false;
  /** The local transport parameters; referenced here, because OpenSSL keeps their address. */
  #parameters: NativeMemory | undefined;
  #isStarted = false;
  /** Whether OpenSSL has finished the handshake; `isComplete` is set when this is reported. */
  #isFinished = false;
  #isComplete = false;
  #failure: string | undefined;
  #isReporting = false;

  /**
   * @param serverName the server's name for a client: a DNS name, which is sent as SNI, or an IP
   *   address. Verified in the certificate if the context verifies. `undefined` for servers.
   * @throws {NativeError} when the process is out of memory, or the name is invalid.
   */
  constructor(context: QuicTlsContext, serverName: string | undefined, events: QuicTlsEvents) {
    const { library } = context;
    const { functions } = library;
    const name = verifiableName(serverName, context.verifies);
    this.#library = library;
    this.#isServer = context.isServer;
    this.#expectedName = context.verifies ? name : undefined;
    this.#events = events;
    functions.ERR_clear_error();
    this.#tls = functions.SSL_new(context.address);
    if (this.#tls === 0) throw this.#unusable();
    library.forgottenConnections.register(this, this.#tls, this);
    this.#reports = new QuicTlsReports(context, this.#tls);
    try {
      this.#must(
        functions.SSL_set_quic_tls_cbs(this.#tls, library.callbacks, this.#reports.number),
      );
      if (this.#isServer) functions.SSL_set_accept_state(this.#tls);
      else functions.SSL_set_connect_state(this.#tls);
      const verifies = this.#expectedName !== undefined;
      if (name && !setServerName(library, this.#tls, name, verifies)) throw this.#unusable();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /** Sets the local transport parameters. Called once, before any other method. */
  setTransportParameters(bytes: Uint8Array): void {
    const tls = this.#live();
    if (this.#parameters) throw new NativeError('TLS has its transport parameters');
    // Empty memory has no address.
    const memory = this.#library.memory(Math.max(1, bytes.length));
    memory.bytes.set(bytes);
    const { SSL_set_quic_tls_transport_params } = this.#library.functions;
    this.#must(SSL_set_quic_tls_transport_params(tls, memory.at, bytes.length));
    this.#parameters = memory;
  }

  /** Produces the ClientHello. */
  start(): void {
    this.#ready();
    if (this.#isServer || this.#isStarted) throw new NativeError('TLS has started');
    this.#isStarted = true;
    this.#step(undefined);
    this.#report();
  }

  receive(level: QuicTlsLevel, bytes: Uint8Array): void {
    this.#ready();
    if (!this.#isServer && !this.#isStarted) throw new NativeError('TLS has not started');
    if (this.#failure !== undefined || bytes.length === 0) return;
    const fault = this.#messages.faultIn(MAX_MESSAGE[level], bytes);
    // At every level, even if TLS would not read it: the code is that of RFC 9001 §6.
    if (fault === 'key update') this.#fail(UNEXPECTED_MESSAGE, 'a KeyUpdate message of TLS');
    else if (this.#tls === 0) this.#refuse(level);
    else if (fault === undefined) this.#take(level, bytes);
    else this.#fail(ILLEGAL_PARAMETER, `a handshake message exceeds ${MAX_MESSAGE[level]} bytes`);
    this.#report();
  }

  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#free();
    this.#reports.clear();
  }

  #free(): void {
    const tls = this.#tls;
    if (tls === 0) return;
    this.#tls = 0;
    this.#library.forgottenConnections.unregister(this);
    this.#library.functions.SSL_free(tls);
    this.#parameters = undefined;
  }

  /** Returns the address of the `SSL`, which must be used synchronously. */
  #live(): Address {
    if (this.#isDisposed) throw new NativeError('TLS was used after it was closed');
    if (this.#tls === 0) throw new NativeError('TLS has finished');
    return this.#tls;
  }

  #ready(): void {
    if (this.#isDisposed) this.#live();
    if (this.#tls === 0 || this.#parameters) return;
    throw new NativeError('TLS has no transport parameters');
  }

  /** Rejects data that arrives after OpenSSL was freed: see `#take`. */
  #refuse(level: QuicTlsLevel): void {
    if (level === 'application') this.#fail(UNEXPECTED_MESSAGE, 'unexpected message');
    else this.#violate(notRead(level));
  }

  #take(level: QuicTlsLevel, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#failure === undefined; at += INPUT_PIECE) {
      const isTaken =
        level === this.#reports.readLevel && this.#step(bytes.subarray(at, at + INPUT_PIECE));
      if (!isTaken && this.#failure === undefined) {
        this.#violate(notRead(level));
      }
    }
    // After the handshake a client sends no TLS messages: no tickets, no KeyUpdate (RFC 9001 §6),
    // and no certificate, which is never requested. Freeing the `SSL` saves 20 KB per live
    // connection.
    if (this.#isServer && this.#isFinished) this.#free();
  }

  /** Runs OpenSSL. Returns false if it has not consumed all input. */
  #step(input: Uint8Array | undefined): boolean {
    const tls = this.#live();
    const { functions } = this.#library;
    const step = (): boolean => {
      // Clears errors of other connections in this thread.
      functions.ERR_clear_error();
      const result = this.#isFinished
        ? functions.SSL_read(tls, this.#library.results.at, 1)
        : functions.SSL_do_handshake(tls);
      if (result > 0) {
        this.#finish();
        return true;
      }
      const error = functions.SSL_get_error(tls, result);
      if (error === WANT_READ || error === WANT_WRITE) return true;
      this.#failByOpenSsl();
      return false;
    };
    try {
      return this.#library.run(this.#reports, input, step);
    } catch (error) {
      this.#fail(INTERNAL_ERROR, messageOf(error));
      return false;
    } finally {
      functions.ERR_clear_error();
    }
  }

  #finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#reports.add({ kind: 'complete' });
  }

  #failByOpenSsl(): void {
    const { refusal, alertCode = INTERNAL_ERROR } = this.#reports;
    if (refusal) {
      this.#fail(refusal.alert, tlsReasonInWords(refusal.reason));
      return;
    }
    const name = this.#expectedName;
    const unverified =
      name === undefined ? undefined : verifyFailure(this.#library, this.#live(), name);
    this.#fail(alertCode, unverified ?? this.#openSslReason());
  }

  #fail(alert: number, reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.#reports.add({ kind: 'alert', code: alert });
  }

  #violate(reason: string): void {
    this.#failure = reason;
    this.#reports.add({ kind: 'violation', reason });
  }

  /** Calls the handlers. If a handler calls this method, the outer call delivers the new reports. */
  #report(): void {
    if (this.#isReporting) return;
    this.#isReporting = true;
    try {
      for (let next = this.#reports.next(); next; next = this.#reports.next()) this.#dispatch(next);
    } catch (error) {
      this.#failure ??= messageOf(error);
      this.#reports.clear();
      throw asError(error);
    } finally {
      this.#isReporting = false;
    }
  }

  #dispatch(report: QuicTlsReport): void {
    const events = this.#events;
    switch (report.kind) {
      case 'data':
        return events.onCryptoData(report.level, report.bytes);
      case 'secret':
        return events.onSecret(report.level, report.direction, report.cipherSuite, report.bytes);
      case 'parameters':
        return events.onPeerParameters(report.bytes);
      case 'alert':
        return events.onAlert(report.code);
      case 'violation':
        return events.onViolation(report.reason);
      case 'complete':
        this.#isComplete = true;
        return events.onComplete();
      default:
        return report satisfies never;
    }
  }

  #must(result: number): void {
    if (result !== 1) throw this.#unusable();
  }

  #unusable(): NativeError {
    return new NativeError(`TLS cannot be set up: ${this.#openSslReason()}`);
  }

  #openSslReason(): string {
    return tlsReasonInWords(this.#library.takeError() ?? 'OpenSSL failed');
  }
}

const notRead = (level: QuicTlsLevel): string =>
  `CRYPTO data of level "${level}", which TLS does not read`;

/** Bytes of the type and length of a handshake message (RFC 8446 §4). */
const HEADER = 4;

/**
 * The longest handshake message, in bytes, without its header; a longer one aborts the handshake.
 * OpenSSL allocates the announced length immediately: without this bound the first packet of a
 * client would cost 128 KB. A ClientHello has 300 to 2,000 bytes, a certificate chain rarely more
 * than 10,000.
 */
const MAX_MESSAGE = { initial: 0x4000, handshake: 0x10000, application: 0x4000 } as const;

/** The type KeyUpdate, forbidden in QUIC, which has its own key update (RFC 9001 §6). */
const KEY_UPDATE = 24;

/** The reason why a handshake message is rejected before TLS reads it. */
type MessageFault = 'key update' | 'too long';

/** Tracks the types and lengths of handshake messages in CRYPTO data of arbitrary pieces. */
class MessageHeads {
  /** Outstanding bytes of the current message. */
  #left = 0;
  #headerBytes = 0;
  #length = 0;

  /**
   * Returns the first fault of the messages that start in these bytes; each may have at most `most` bytes.
   */
  faultIn(most: number, bytes: Uint8Array): MessageFault | undefined {
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const byte = bytes[at++] ?? 0;
      if (this.#headerBytes === 0 && byte === KEY_UPDATE) return 'key update';
      this.#length = this.#headerBytes === 0 ? 0 : this.#length * 256 + byte;
      this.#headerBytes++;
      if (this.#headerBytes < HEADER) continue;
      if (this.#length > most) return 'too long';
      this.#left = this.#length;
      this.#headerBytes = 0;
    }
    return undefined;
  }
}
