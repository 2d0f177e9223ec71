import { messageOf } from '../../errors.ts';
import type { AlpnChoice } from './alpn.ts';
import { word64 } from '../native-memory.ts';
import { nativeView, NativeError, registerCallback } from '../native.ts';
import type { Address } from '../quic-tls/quic-tls-functions.ts';
import { ALPN_REFUSED, type QuicTlsLibrary } from '../quic-tls/quic-tls-library.ts';
import { quicTls } from '../quic-tls/quic-tls-probe.ts';
import { openStreamTlsFunctions, type StreamTlsFunctions } from './stream-tls-functions.ts';

/** Of openssl/bio.h. */
const RESET = 1;

/** Bytes of a peer that one call on a connection may be given. */
export const CALL_BYTES = 128 << 10;
/** Bytes that one call may write: as many, in the frame of a layer above. */
export const WRITE_BYTES = 144 << 10;
/** Pieces of them that one call may write; each ends a record. */
export const CALL_PIECES = 64;
/** With the overhead of their records, and a handshake with a long chain of certificates. */
const BUFFER_BYTES = 256 << 10;

const POINTER = 'uintptr_t';

/**
 * OpenSSL's TLS over streams in this process: functions, and the memory that all connections share.
 *
 * Every call on a connection is given its whole input and hands over its whole output before it
 * returns. So one pair of BIOs serves all connections: its buffers stay in the processor's caches, and
 * a connection that rests holds none.
 */
export class StreamTlsLibrary {
  readonly base: QuicTlsLibrary;
  readonly functions: StreamTlsFunctions;
  /** An OpenSSL callback that has its argument choose among the protocols of a client. */
  readonly chooseProtocol: Address;
  /** Frees the session of a client that was not disposed of. */
  readonly forgottenSessions: FinalizationRegistry<{ address: Address }>;
  readonly #alpnChoices: AlpnChoice[] = [];
  /** A pair of BIOs: what is written to one is read from the other, which OpenSSL has. */
  readonly #own: Address;
  readonly #other: Address;
  /** Where what OpenSSL writes is; known after it has written something. */
  #output: { readonly at: Address; readonly bytes: Uint8Array } | undefined;

  /** @throws {NativeError} where the functions are not available. */
  constructor(base: QuicTlsLibrary) {
    this.base = base;
    this.functions = openStreamTlsFunctions();
    const { functions } = this;
    const { results } = base;
    if (functions.BIO_new_bio_pair(results.at, BUFFER_BYTES, results.at + 8, BUFFER_BYTES) !== 1) {
      throw new NativeError('OpenSSL is out of memory');
    }
    this.#own = word64(results.words, 0);
    this.#other = word64(results.words, 2);
    this.forgottenSessions = new FinalizationRegistry(({ address }) => {
      if (address !== 0) functions.SSL_SESSION_free(address);
    });
    this.chooseProtocol = registerCallback(
      'int',
      [POINTER, POINTER, POINTER, POINTER, 'unsigned int', POINTER],
      (_tls, out = 0, outLength = 0, offered = 0, length = 0, choice = 0) => {
        try {
          return base.selectProtocol(
            { out, outLength, offered, length },
            this.#alpnChoices[choice],
          );
        } catch {
          return ALPN_REFUSED;
        }
      },
    );
  }

  /** Connects an `SSL`, which keeps it, with the shared BIO. */
  attach(tls: Address): void {
    const { functions } = this;
    functions.BIO_up_ref(this.#other);
    functions.SSL_set0_rbio(tls, this.#other);
    functions.BIO_up_ref(this.#other);
    functions.SSL_set0_wbio(tls, this.#other);
  }

  /** Before each call: what a connection has left by failing must not reach another one. */
  begin(): void {
    this.functions.BIO_ctrl(this.#own, RESET, 0, 0);
    this.functions.BIO_ctrl(this.#other, RESET, 0, 0);
    this.base.functions.ERR_clear_error();
  }

  /** Makes up to `CALL_BYTES` the input of the next call. */
  putInput(bytes: Uint8Array): void {
    if (this.functions.BIO_writeBytes(this.#own, bytes, bytes.length) === bytes.length) return;
    throw new NativeError('TLS has input that was not read');
  }

  /** What the last call has written, to be used or copied before the next one. */
  takeOutput(): Uint8Array | undefined {
    const { results } = this.base;
    const count = this.functions.BIO_nread(this.#own, results.at, BUFFER_BYTES);
    if (count <= 0) return undefined;
    const at = word64(results.words, 0);
    // The buffer is used from its beginning whenever it is empty, as it is before each call.
    this.#output ??= { at, bytes: nativeView(at, BUFFER_BYTES) };
    if (at !== this.#output.at) throw new NativeError('TLS has output that was not taken');
    return this.#output.bytes.subarray(0, count);
  }

  /** The argument that stands for a choice; there are few, which live as long as the process. */
  alpnArgument(choice: AlpnChoice): Address {
    const known = this.#alpnChoices.indexOf(choice);
    return known >= 0 ? known : this.#alpnChoices.push(choice) - 1;
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
