import { messageOf } from '../../errors.ts';
import { putWord64 } from '../native-memory.ts';
import { NativeError, registerCallback } from '../native.ts';
import type { Address } from '../quic-tls-functions.ts';
import type { QuicTlsLibrary } from '../quic-tls-library.ts';
import { quicTls } from '../quic-tls-probe.ts';
import { openStreamTlsFunctions, type StreamTlsFunctions } from './stream-tls-functions.ts';

/** Of openssl/bio.h. */
const RESET = 1;
const PENDING = 10;
const SET_MEM_EOF_RETURN = 130;

/** `SSL_TLSEXT_ERR_OK` and `SSL_TLSEXT_ERR_ALERT_FATAL` of openssl/tls1.h. */
const ALPN_CHOSEN = 0;
const ALPN_REFUSED = 2;

const POINTER = 'uintptr_t';

/**
 * OpenSSL's TLS over streams in this process: functions, and the memory that all connections share.
 *
 * Every call on a connection is given its whole input and hands over its whole output before it
 * returns. So one pair of memory BIOs serves all connections: it stays in the processor's caches, and
 * a connection that rests holds no buffers.
 */
export class StreamTlsLibrary {
  readonly base: QuicTlsLibrary;
  readonly functions: StreamTlsFunctions;
  /** Chooses HTTP/1.1 where a client offers it, the first protocol otherwise. */
  readonly preferHttp1: Address;
  /** Frees the session of a client that was not disposed of. */
  readonly forgottenSessions: FinalizationRegistry<{ address: Address }>;
  readonly #input: Address;
  readonly #output: Address;

  /** @throws {NativeError} where the functions are not available. */
  constructor(base: QuicTlsLibrary) {
    this.base = base;
    this.functions = openStreamTlsFunctions();
    const { functions } = this;
    this.#input = functions.BIO_new(functions.BIO_s_mem());
    this.#output = functions.BIO_new(functions.BIO_s_mem());
    if (this.#input === 0 || this.#output === 0) throw new NativeError('OpenSSL is out of memory');
    // No more input is not the end of it.
    functions.BIO_ctrl(this.#input, SET_MEM_EOF_RETURN, -1, 0);
    this.forgottenSessions = new FinalizationRegistry(({ address }) => {
      if (address !== 0) functions.SSL_SESSION_free(address);
    });
    this.preferHttp1 = registerCallback(
      'int',
      [POINTER, POINTER, POINTER, POINTER, 'unsigned int', POINTER],
      (_tls, out, outLength, offered, length) => {
        try {
          return this.#choose(out ?? 0, outLength ?? 0, offered ?? 0, length ?? 0);
        } catch {
          return ALPN_REFUSED;
        }
      },
    );
  }

  /** Connects an `SSL`, which keeps them, with the shared BIOs. */
  attach(tls: Address): void {
    const { functions } = this;
    functions.BIO_up_ref(this.#input);
    functions.SSL_set0_rbio(tls, this.#input);
    functions.BIO_up_ref(this.#output);
    functions.SSL_set0_wbio(tls, this.#output);
  }

  /** Makes bytes the input of the next call. @throws {NativeError} when out of memory. */
  putInput(bytes: Uint8Array): void {
    if (this.functions.BIO_writeBytes(this.#input, bytes, bytes.length) === bytes.length) return;
    this.dropInput();
    throw new NativeError('OpenSSL is out of memory');
  }

  /** Drops input that a failed connection has not read. */
  dropInput(): void {
    this.functions.BIO_ctrl(this.#input, RESET, 0, 0);
  }

  /** Bytes of output that the last call has left. */
  get outputLength(): number {
    return this.functions.BIO_ctrl(this.#output, PENDING, 0, 0);
  }

  /** Moves output into `bytes`, which are as long as it. */
  takeOutput(bytes: Uint8Array): void {
    this.functions.BIO_readBytes(this.#output, bytes, bytes.length);
  }

  /** Chooses from a list of names, each with its length in front (RFC 7301 §3.1). */
  #choose(out: Address, outLength: Address, offered: Address, length: number): number {
    const { functions, results } = this.base;
    const list = Buffer.alloc(length);
    if (length > 0) functions.copyOut(list, offered, length);
    let chosen = 0;
    for (let at = 0; at < length; at += 1 + (list[at] ?? 0)) {
      if (list.toString('latin1', at + 1, at + 1 + (list[at] ?? 0)) === 'http/1.1') chosen = at;
    }
    const size = list[chosen];
    if (size === undefined) return ALPN_REFUSED;
    putWord64(results.words, 0, offered + chosen + 1);
    putWord64(results.words, 2, size);
    functions.memcpy(out, results.at, 8);
    functions.memcpy(outLength, results.at + 8, 1);
    return ALPN_CHOSEN;
  }
}

/** Whether this Node has what TLS over streams needs, and why not. */
export type StreamTlsProbe =
  | { readonly kind: 'available'; readonly library: StreamTlsLibrary }
  | { readonly kind: 'unavailable'; readonly reason: string };

let known: StreamTlsProbe | undefined;

/** Finds out once for the process; never throws. */
export const streamTls = (): StreamTlsProbe => (known ??= probe());

function probe(): StreamTlsProbe {
  const base = quicTls();
  if (base.kind === 'unavailable') return base;
  try {
    return { kind: 'available', library: new StreamTlsLibrary(base.library) };
  } catch (error) {
    return { kind: 'unavailable', reason: messageOf(error) };
  }
}
