import { messageOf } from '@weir/base';
import {
  ALPN_REFUSED,
  type AlpnChoice,
  type QuicTlsLibrary,
} from '../quic-tls/quic-tls-library.ts';
import { exportsOfSelf, NativeError, nativeView, registerCallback } from '../native.ts';
import { word64 } from '../native-memory.ts';
import type { Address } from '../quic-tls/quic-tls-functions.ts';
import { quicTls } from '../quic-tls/quic-tls-probe.ts';

/** A constant of openssl/bio.h. */
const RESET = 1;
/** The constant `SSL_TLSEXT_ERR_OK` of openssl/tls1.h. */
const NAME_ACKNOWLEDGED = 0;

/** The most input bytes of one call. */
export const CALL_BYTES = 128 << 10;
/** The most bytes that one call may write: CALL_BYTES, with the framing of a layer above. */
export const WRITE_BYTES = 144 << 10;
/** The most pieces that one call may write; each ends a record. */
export const CALL_PIECES = 64;
/**
 * Bytes of a BIO's buffer: room for one call with the overhead of records, and for a handshake with a long certificate
 * chain.
 */
const BUFFER_BYTES = 256 << 10;

const POINTER = 'uintptr_t';

/**
 * OpenSSL's TLS over streams in this process: functions, and memory shared by all connections.
 *
 * Every call on a connection consumes its whole input, and its output is taken before the next call. One pair of BIOs
 * therefore serves all connections: its buffers stay in the processor's caches, and an idle connection holds none.
 */
export class StreamTlsLibrary {
  readonly base: QuicTlsLibrary;
  readonly functions: StreamTlsFunctions;
  /** The address of an OpenSSL callback that chooses a protocol by the `AlpnChoice` of its argument. */
  readonly chooseProtocol: Address;
  /** The address of an OpenSSL callback that acknowledges any server name (RFC 6066 §3). */
  readonly acknowledgeName: Address;
  /** Frees the sessions of collected contexts. */
  readonly forgottenSessions: FinalizationRegistry<{ address: Address }>;
  readonly #alpnChoices: AlpnChoice[] = [];
  /** This side's end of a pair of BIOs: data written to one is read from the other, which OpenSSL uses. */
  readonly #own: Address;
  readonly #other: Address;
  /** The output buffer of OpenSSL; known after its first output. */
  #output: { readonly at: Address; readonly bytes: Uint8Array } | undefined;

  /** Binds the functions. @throws {NativeError} if the functions are not available. */
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
    this.acknowledgeName = registerCallback(
      'int',
      [POINTER, POINTER, POINTER],
      () => NAME_ACKNOWLEDGED,
    );
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

  /** Connects an `SSL` with the shared BIO, to which it holds a reference. */
  attach(tls: Address): void {
    const { functions } = this;
    functions.BIO_up_ref(this.#other);
    functions.SSL_set0_rbio(tls, this.#other);
    functions.BIO_up_ref(this.#other);
    functions.SSL_set0_wbio(tls, this.#other);
  }

  /** Prepares a call: data left by a failed connection must not reach another one. */
  begin(): void {
    this.functions.BIO_ctrl(this.#own, RESET, 0, 0);
    this.functions.BIO_ctrl(this.#other, RESET, 0, 0);
    this.base.functions.ERR_clear_error();
  }

  /** Sets the input of the next call, up to `CALL_BYTES`. */
  putInput(bytes: Uint8Array): void {
    if (this.functions.BIO_writeBytes(this.#own, bytes, bytes.length) === bytes.length) return;
    throw new NativeError('TLS has input that was not read');
  }

  /** Returns the output of the last call, which must be used or copied before the next one. */
  takeOutput(): Uint8Array | undefined {
    const { results } = this.base;
    const count = this.functions.BIO_nread(this.#own, results.at, BUFFER_BYTES);
    if (count <= 0) return undefined;
    const at = word64(results.words, 0);
    // The buffer is empty before each call, and is then used from its beginning.
    this.#output ??= { at, bytes: nativeView(at, BUFFER_BYTES) };
    if (at !== this.#output.at) throw new NativeError('TLS has output that was not taken');
    return this.#output.bytes.subarray(0, count);
  }

  /** Returns the callback argument for a choice. Choices are kept for the lifetime of the process. */
  alpnArgument(choice: AlpnChoice): Address {
    const known = this.#alpnChoices.indexOf(choice);
    return known >= 0 ? known : this.#alpnChoices.push(choice) - 1;
  }
}

/** Whether this Node supports TLS over streams, and if not, the reason. */
type StreamTlsProbe =
  | { readonly kind: 'available'; readonly library: StreamTlsLibrary }
  | { readonly kind: 'unavailable'; readonly reason: string };

let known: StreamTlsProbe | undefined;

/** Returns the result of the probe, made once per process; never throws. */
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

/** OpenSSL functions for TLS over streams, in addition to `QuicTlsFunctions`. Most return 1 on success. */
type StreamTlsFunctions = ReturnType<typeof openStreamTlsFunctions>;

/**
 * Binds the functions.
 * @throws {NativeError} if Node was built with another OpenSSL, or koffi is missing.
 */
function openStreamTlsFunctions() {
  const bind = exportsOfSelf();
  const pointer = 'uintptr_t';
  return {
    SSL_CTX_set_cipher_list: bind('int', 'SSL_CTX_set_cipher_list', pointer, 'const char *'),
    // Sets a callback of a context by the number of its command.
    SSL_CTX_callback_ctrl: bind('long', 'SSL_CTX_callback_ctrl', pointer, 'int', pointer),
    SSL_CTX_set_timeout: bind('long', 'SSL_CTX_set_timeout', pointer, 'long'),
    SSL_CTX_set_options: bind('uint64_t', 'SSL_CTX_set_options', pointer, 'uint64_t'),
    // Copies the session id context.
    SSL_CTX_set_session_id_context: bind(
      'int',
      'SSL_CTX_set_session_id_context',
      pointer,
      'const void *',
      'unsigned int',
    ),
    SSL_set0_rbio: bind('void', 'SSL_set0_rbio', pointer, pointer),
    SSL_set0_wbio: bind('void', 'SSL_set0_wbio', pointer, pointer),
    SSL_readBytes: bind('int', 'SSL_read', pointer, 'void *', 'int'),
    SSL_writeBytes: bind('int', 'SSL_write', pointer, 'const void *', 'int'),
    SSL_shutdown: bind('int', 'SSL_shutdown', pointer),
    SSL_set_shutdown: bind('void', 'SSL_set_shutdown', pointer, 'int'),
    SSL_set_session: bind('int', 'SSL_set_session', pointer, pointer),
    SSL_get1_session: bind(pointer, 'SSL_get1_session', pointer),
    SSL_SESSION_is_resumable: bind('int', 'SSL_SESSION_is_resumable', pointer),
    SSL_SESSION_free: bind('void', 'SSL_SESSION_free', pointer),
    // Stores two BIOs at the addresses; data written to one is read from the other.
    BIO_new_bio_pair: bind('int', 'BIO_new_bio_pair', pointer, 'size_t', pointer, 'size_t'),
    BIO_up_ref: bind('int', 'BIO_up_ref', pointer),
    BIO_ctrl: bind('long', 'BIO_ctrl', pointer, 'int', 'long', pointer),
    BIO_writeBytes: bind('int', 'BIO_write', pointer, 'const void *', 'int'),
    // Reads without a copy: stores the address of the bytes at an address.
    BIO_nread: bind('int', 'BIO_nread', pointer, pointer, 'int'),
  };
}
