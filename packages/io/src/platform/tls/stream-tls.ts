import { NativeError } from '../native.ts';
import { word64 } from '../native-memory.ts';
import type { Address } from '../quic-tls/quic-tls-functions.ts';
import { verifyFailure } from '../quic-tls/quic-tls-trust.ts';
import { setServerName, tlsReasonInWords, verifiableName } from './tls-context.ts';
import type { StreamTlsContext } from './stream-tls-context.ts';

/** Payload of a full record in bytes (RFC 8446 §5.1). */
const FULL_RECORD = 16_384;

/**
 * Memory for payload that does not fit into that of its input; copied from here, so that no chunk holds more memory
 * than it fills.
 */
const SPILL = Buffer.allocUnsafeSlow(FULL_RECORD);

/** Constants of openssl/ssl.h. */
const WANT_READ = 2;
const WANT_WRITE = 3;
const ZERO_RETURN = 6;
const BOTH_SHUT = 3;

/** Reads after which a client no longer expects a ticket. */
const TICKET_READS = 8;

/** The TLS of one connection over a stream: an `SSL`, without I/O. */
export class StreamTls implements Disposable {
  readonly #context: StreamTlsContext;
  /** The name that the certificate must have; `undefined` for any. */
  readonly #expectedName: string | undefined;
  /** Number of records of payload read so far. */
  records = 0;
  /** The address of the `SSL`; 0 once freed. */
  #tls: Address;
  #isOpen = false;
  #hasEnded = false;
  #failure: string | undefined;
  /** Number of further reads in which a client checks for a ticket. */
  #ticketReads: number;

  /**
   * @param serverName the server's name for a client: a DNS name, which is sent as SNI, or an IP
   *   address. Verified in the certificate if the context verifies. `undefined` for servers.
   * @throws {NativeError} when the process is out of memory, or the name is invalid.
   */
  constructor(context: StreamTlsContext, serverName: string | undefined) {
    const { library, isServer, verifies } = context;
    const { functions } = library.base;
    const name = verifiableName(serverName, verifies);
    this.#context = context;
    this.#expectedName = verifies ? name : undefined;
    this.#ticketReads = isServer ? 0 : TICKET_READS;
    functions.ERR_clear_error();
    this.#tls = functions.SSL_new(context.address);
    if (this.#tls === 0) throw this.#unusable();
    library.attach(this.#tls);
    if (isServer) {
      functions.SSL_set_accept_state(this.#tls);
      return;
    }
    functions.SSL_set_connect_state(this.#tls);
    if (name && !setServerName(library.base, this.#tls, name, verifies)) {
      const failure = this.#unusable();
      this[Symbol.dispose]();
      throw failure;
    }
    context.resume(this.#tls);
  }

  /** Whether the handshake is complete. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether the peer has ended its side with close_notify. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The protocol chosen by ALPN (RFC 7301); `undefined` without one, and before the handshake is complete. */
  get alpn(): string | undefined {
    if (this.#tls === 0) return undefined;
    const { functions, results } = this.#context.library.base;
    results.words.fill(0);
    functions.SSL_get0_alpn_selected(this.#tls, results.at, results.at + 8);
    const length = results.words[2] ?? 0;
    if (length === 0) return undefined;
    const name = Buffer.alloc(length);
    functions.copyOut(name, word64(results.words, 0), length);
    return name.toString('latin1');
  }

  /** The reason why the connection has failed, in OpenSSL's or Node's words. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * Takes the output of the last call for the peer. Called synchronously after it; the bytes must be used or copied
   * immediately.
   */
  takeOutput(): Uint8Array | undefined {
    return this.#tls === 0 ? undefined : this.#context.library.takeOutput();
  }

  /** Produces a client's first message. */
  start(): void {
    this.#context.library.begin();
    this.#handshake();
  }

  /**
   * Processes up to `CALL_BYTES` from the peer, in arbitrary pieces, and returns their payload.
   * @param bytes overwritten by the payload.
   * @param allocate provides memory for payload that does not fit there.
   */
  receive(bytes: Uint8Array, allocate: (length: number) => Uint8Array): Uint8Array[] {
    if (this.#tls === 0 || this.#failure !== undefined) return [];
    const { library } = this.#context;
    library.begin();
    library.putInput(bytes);
    if (!this.#isOpen) this.#handshake();
    const payload = this.#isOpen && this.#failure === undefined ? this.#read(bytes, allocate) : [];
    if (this.#ticketReads > 0 && this.#isOpen && this.#failure === undefined) this.#lookForTicket();
    return payload;
  }

  /**
   * Encrypts up to `WRITE_BYTES` in up to `CALL_PIECES` non-empty pieces, which may be reused
   * afterwards. Records do not span pieces. Returns false if the connection has failed.
   */
  write(pieces: readonly Uint8Array[]): boolean {
    if (this.#tls === 0 || this.#failure !== undefined) return false;
    const { library } = this.#context;
    library.begin();
    for (const piece of pieces) {
      const result = library.functions.SSL_writeBytes(this.#tls, piece, piece.length);
      if (result === piece.length) continue;
      this.#fail();
      return false;
    }
    return true;
  }

  /** Closes this side with close_notify (RFC 8446 §6.1). */
  end(): void {
    if (this.#tls === 0 || this.#failure !== undefined || !this.#isOpen) return;
    const { library } = this.#context;
    library.begin();
    library.functions.SSL_shutdown(this.#tls);
  }

  [Symbol.dispose](): void {
    const tls = this.#tls;
    if (tls === 0) return;
    this.#tls = 0;
    const { base, functions } = this.#context.library;
    // Otherwise OpenSSL would make the session unusable for resumption.
    if (this.#failure === undefined) functions.SSL_set_shutdown(tls, BOTH_SHUT);
    base.functions.SSL_free(tls);
  }

  #handshake(): void {
    const { functions } = this.#context.library.base;
    functions.ERR_clear_error();
    const result = functions.SSL_do_handshake(this.#tls);
    if (result === 1) {
      this.#isOpen = true;
      if (!this.#context.isServer) this.#context.learnGroup(this.#tls);
      return;
    }
    const error = functions.SSL_get_error(this.#tls, result);
    if (error !== WANT_READ && error !== WANT_WRITE) this.#fail();
  }

  #read(bytes: Uint8Array, allocate: (length: number) => Uint8Array): Uint8Array[] {
    const { base, functions } = this.#context.library;
    const full: Uint8Array[] = [];
    let into = bytes;
    let at = 0;
    for (;;) {
      if (at === into.length) {
        full.push(into === bytes ? bytes : spilled(at, allocate));
        into = SPILL;
        at = 0;
      }
      const room = at === 0 ? into : into.subarray(at);
      base.functions.ERR_clear_error();
      const count = functions.SSL_readBytes(this.#tls, room, room.length);
      if (count > 0) {
        at += count;
        this.records++;
        continue;
      }
      const error = base.functions.SSL_get_error(this.#tls, count);
      if (error === ZERO_RETURN) this.#hasEnded = true;
      else if (error !== WANT_READ && error !== WANT_WRITE) this.#fail();
      break;
    }
    if (at === 0) return full;
    if (into !== bytes) full.push(spilled(at, allocate));
    else full.push(at === bytes.length ? bytes : bytes.subarray(0, at));
    return full;
  }

  #lookForTicket(): void {
    this.#ticketReads--;
    if (this.#context.keepSession(this.#tls)) this.#ticketReads = 0;
  }

  #fail(): void {
    const { base } = this.#context.library;
    const name = this.#expectedName;
    const unverified =
      this.#isOpen || name === undefined ? undefined : verifyFailure(base, this.#tls, name);
    this.#failure = unverified ?? this.#reason();
    base.functions.ERR_clear_error();
    if (!this.#context.isServer && !this.#isOpen) this.#context.forgetServer();
  }

  #unusable(): NativeError {
    return new NativeError(`TLS cannot be set up: ${this.#reason()}`);
  }

  #reason(): string {
    return tlsReasonInWords(this.#context.library.base.takeError() ?? 'OpenSSL failed');
  }
}

function spilled(length: number, allocate: (length: number) => Uint8Array): Uint8Array {
  const chunk = allocate(length);
  chunk.set(SPILL.subarray(0, length));
  return chunk;
}
