import { exportsOfSelf } from '../native.ts';
import type { Address } from '../quic-tls/quic-tls-functions.ts';

/**
 * OpenSSL functions for TLS over streams, in addition to `QuicTlsFunctions`. Most return 1 on
 * success.
 */
export interface StreamTlsFunctions {
  readonly SSL_CTX_set_cipher_list: (context: Address, names: string) => number;
  readonly SSL_CTX_set_options: (context: Address, bits: number) => number;
  /** Sets a callback of a context by the number of its command. */
  readonly SSL_CTX_callback_ctrl: (context: Address, command: number, callback: Address) => number;
  readonly SSL_CTX_set_timeout: (context: Address, seconds: number) => number;
  /** Copies the session id context. */
  readonly SSL_CTX_set_session_id_context: (
    context: Address,
    from: Uint8Array,
    length: number,
  ) => number;
  readonly SSL_set0_rbio: (tls: Address, bio: Address) => void;
  readonly SSL_set0_wbio: (tls: Address, bio: Address) => void;
  readonly SSL_readBytes: (tls: Address, into: Uint8Array, length: number) => number;
  readonly SSL_writeBytes: (tls: Address, from: Uint8Array, length: number) => number;
  readonly SSL_shutdown: (tls: Address) => number;
  readonly SSL_set_shutdown: (tls: Address, mode: number) => void;
  readonly SSL_set_session: (tls: Address, session: Address) => number;
  readonly SSL_get1_session: (tls: Address) => Address;
  readonly SSL_SESSION_is_resumable: (session: Address) => number;
  readonly SSL_SESSION_free: (session: Address) => void;
  /** Stores two BIOs at the addresses; data written to one is read from the other. */
  readonly BIO_new_bio_pair: (
    first: Address,
    firstSize: number,
    second: Address,
    secondSize: number,
  ) => number;
  readonly BIO_up_ref: (bio: Address) => number;
  readonly BIO_ctrl: (bio: Address, command: number, number: number, pointer: Address) => number;
  readonly BIO_writeBytes: (bio: Address, from: Uint8Array, length: number) => number;
  /** Reads without a copy: stores the address of the bytes at an address. */
  readonly BIO_nread: (bio: Address, from: Address, length: number) => number;
}

/**
 * Binds the functions.
 * @throws {NativeError} if Node was built with another OpenSSL, or koffi is missing.
 */
export function openStreamTlsFunctions(): StreamTlsFunctions {
  const bind = exportsOfSelf();
  const pointer = 'uintptr_t';
  return {
    SSL_CTX_set_cipher_list: bind('int', 'SSL_CTX_set_cipher_list', pointer, 'const char *'),
    SSL_CTX_callback_ctrl: bind('long', 'SSL_CTX_callback_ctrl', pointer, 'int', pointer),
    SSL_CTX_set_timeout: bind('long', 'SSL_CTX_set_timeout', pointer, 'long'),
    SSL_CTX_set_options: bind('uint64_t', 'SSL_CTX_set_options', pointer, 'uint64_t'),
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
    BIO_new_bio_pair: bind('int', 'BIO_new_bio_pair', pointer, 'size_t', pointer, 'size_t'),
    BIO_up_ref: bind('int', 'BIO_up_ref', pointer),
    BIO_ctrl: bind('long', 'BIO_ctrl', pointer, 'int', 'long', pointer),
    BIO_writeBytes: bind('int', 'BIO_write', pointer, 'const void *', 'int'),
    BIO_nread: bind('int', 'BIO_nread', pointer, pointer, 'int'),
  };
}
