import { exportsOfSelf } from '../native.ts';

/** The address of an `EVP_PKEY`, `X509`, `SSL` and so on; 0 is the null pointer. */
export type Address = number;

/**
 * The OpenSSL functions that TLS for QUIC needs, under their own names. Most return 1 on success.
 */
export interface QuicTlsFunctions {
  readonly TLS_method: () => Address;
  readonly SSL_CTX_new: (method: Address) => Address;
  readonly SSL_CTX_free: (context: Address) => void;
  readonly SSL_CTX_ctrl: (
    context: Address,
    command: number,
    number: number,
    pointer: Address,
  ) => number;
  readonly SSL_CTX_set_ciphersuites: (context: Address, names: string) => number;
  readonly SSL_CTX_set_verify: (context: Address, mode: number, callback: Address) => void;
  readonly SSL_CTX_set_num_tickets: (context: Address, count: number) => number;
  readonly SSL_CTX_use_certificate: (context: Address, certificate: Address) => number;
  readonly SSL_CTX_use_PrivateKey: (context: Address, key: Address) => number;
  readonly SSL_CTX_set1_cert_store: (context: Address, store: Address) => void;
  /** Returns 0 on success. */
  readonly SSL_CTX_set_alpn_protos: (
    context: Address,
    protocols: Uint8Array,
    length: number,
  ) => number;
  readonly SSL_CTX_set_alpn_select_cb: (
    context: Address,
    callback: Address,
    argument: Address,
  ) => void;
  readonly SSL_new: (context: Address) => Address;
  readonly SSL_free: (tls: Address) => void;
  readonly SSL_set_connect_state: (tls: Address) => void;
  readonly SSL_set_accept_state: (tls: Address) => void;
  readonly SSL_ctrl: (tls: Address, command: number, number: number, pointer: Address) => number;
  readonly SSL_set1_host: (tls: Address, name: string) => number;
  readonly SSL_get0_param: (tls: Address) => Address;
  readonly X509_VERIFY_PARAM_set1_ip_asc: (parameters: Address, address: string) => number;
  readonly SSL_set_quic_tls_cbs: (tls: Address, callbacks: Address, argument: Address) => number;
  /** Keeps the address of the parameters. */
  readonly SSL_set_quic_tls_transport_params: (
    tls: Address,
    parameters: Address,
    length: number,
  ) => number;
  readonly SSL_do_handshake: (tls: Address) => number;
  readonly SSL_read: (tls: Address, buffer: Address, length: number) => number;
  readonly SSL_get_error: (tls: Address, result: number) => number;
  readonly SSL_get_current_cipher: (tls: Address) => Address;
  readonly SSL_get_pending_cipher: (tls: Address) => Address;
  readonly SSL_CIPHER_get_protocol_id: (cipher: Address) => number;
  readonly SSL_get0_alpn_selected: (tls: Address, protocol: Address, length: Address) => void;
  readonly SSL_get_verify_result: (tls: Address) => number;
  readonly SSL_get_peer_cert_chain: (tls: Address) => Address;
  readonly OPENSSL_sk_num: (stack: Address) => number;
  readonly OPENSSL_sk_value: (stack: Address, index: number) => Address;
  readonly X509_verify_cert_error_string: (code: number) => string | null;
  readonly X509_get_default_cert_file: () => string;
  readonly X509_get_default_cert_dir: () => string;
  readonly X509_STORE_new: () => Address;
  readonly X509_STORE_free: (store: Address) => void;
  readonly X509_STORE_add_cert: (store: Address, certificate: Address) => number;
  readonly X509_STORE_set_flags: (store: Address, flags: number) => number;
  readonly X509_free: (certificate: Address) => void;
  readonly i2d_X509: (certificate: Address, out: Address) => number;
  readonly EVP_PKEY_free: (key: Address) => void;
  /** Keeps the address of the bytes. */
  readonly BIO_new_mem_buf: (bytes: Address, length: number) => Address;
  readonly BIO_free: (bio: Address) => number;
  readonly PEM_read_bio_X509: (
    bio: Address,
    out: Address,
    password: Address,
    argument: Address,
  ) => Address;
  readonly PEM_read_bio_PrivateKey: (
    bio: Address,
    out: Address,
    password: Address,
    argument: Address,
  ) => Address;
  readonly ERR_get_error: () => number;
  readonly ERR_clear_error: () => void;
  readonly ERR_reason_error_string: (code: number) => string | null;
  readonly memcpy: (to: Address, from: Address, length: number) => void;
  /** `memcpy` to a typed array, which may be on the heap. */
  readonly copyOut: (to: Uint8Array, from: Address, length: number) => void;
}

/**
 * Binds the functions.
 * @throws {NativeError} if Node was built with another OpenSSL, or koffi is missing.
 */
export function openQuicTlsFunctions(): QuicTlsFunctions {
  const bind = exportsOfSelf();
  const pointer = 'uintptr_t';
  return {
    TLS_method: bind(pointer, 'TLS_method'),
    SSL_CTX_new: bind(pointer, 'SSL_CTX_new', pointer),
    SSL_CTX_free: bind('void', 'SSL_CTX_free', pointer),
    SSL_CTX_ctrl: bind('long', 'SSL_CTX_ctrl', pointer, 'int', 'long', pointer),
    SSL_CTX_set_ciphersuites: bind('int', 'SSL_CTX_set_ciphersuites', pointer, 'const char *'),
    SSL_CTX_set_verify: bind('void', 'SSL_CTX_set_verify', pointer, 'int', pointer),
    SSL_CTX_set_num_tickets: bind('int', 'SSL_CTX_set_num_tickets', pointer, 'size_t'),
    SSL_CTX_use_certificate: bind('int', 'SSL_CTX_use_certificate', pointer, pointer),
    SSL_CTX_use_PrivateKey: bind('int', 'SSL_CTX_use_PrivateKey', pointer, pointer),
    SSL_CTX_set1_cert_store: bind('void', 'SSL_CTX_set1_cert_store', pointer, pointer),
    SSL_CTX_set_alpn_protos: bind(
      'int',
      'SSL_CTX_set_alpn_protos',
      pointer,
      'const void *',
      'unsigned int',
    ),
    SSL_CTX_set_alpn_select_cb: bind(
      'void',
      'SSL_CTX_set_alpn_select_cb',
      pointer,
      pointer,
      pointer,
    ),
    SSL_new: bind(pointer, 'SSL_new', pointer),
    SSL_free: bind('void', 'SSL_free', pointer),
    SSL_set_connect_state: bind('void', 'SSL_set_connect_state', pointer),
    SSL_set_accept_state: bind('void', 'SSL_set_accept_state', pointer),
    SSL_ctrl: bind('long', 'SSL_ctrl', pointer, 'int', 'long', pointer),
    SSL_set1_host: bind('int', 'SSL_set1_host', pointer, 'const char *'),
    SSL_get0_param: bind(pointer, 'SSL_get0_param', pointer),
    X509_VERIFY_PARAM_set1_ip_asc: bind(
      'int',
      'X509_VERIFY_PARAM_set1_ip_asc',
      pointer,
      'const char *',
    ),
    SSL_set_quic_tls_cbs: bind('int', 'SSL_set_quic_tls_cbs', pointer, pointer, pointer),
    SSL_set_quic_tls_transport_params: bind(
      'int',
      'SSL_set_quic_tls_transport_params',
      pointer,
      pointer,
      'size_t',
    ),
    SSL_do_handshake: bind('int', 'SSL_do_handshake', pointer),
    SSL_read: bind('int', 'SSL_read', pointer, pointer, 'int'),
    SSL_get_error: bind('int', 'SSL_get_error', pointer, 'int'),
    SSL_get_current_cipher: bind(pointer, 'SSL_get_current_cipher', pointer),
    SSL_get_pending_cipher: bind(pointer, 'SSL_get_pending_cipher', pointer),
    SSL_CIPHER_get_protocol_id: bind('uint16_t', 'SSL_CIPHER_get_protocol_id', pointer),
    SSL_get0_alpn_selected: bind('void', 'SSL_get0_alpn_selected', pointer, pointer, pointer),
    SSL_get_verify_result: bind('long', 'SSL_get_verify_result', pointer),
    SSL_get_peer_cert_chain: bind(pointer, 'SSL_get_peer_cert_chain', pointer),
    OPENSSL_sk_num: bind('int', 'OPENSSL_sk_num', pointer),
    OPENSSL_sk_value: bind(pointer, 'OPENSSL_sk_value', pointer, 'int'),
    X509_verify_cert_error_string: bind('const char *', 'X509_verify_cert_error_string', 'long'),
    X509_get_default_cert_file: bind('const char *', 'X509_get_default_cert_file'),
    X509_get_default_cert_dir: bind('const char *', 'X509_get_default_cert_dir'),
    X509_STORE_new: bind(pointer, 'X509_STORE_new'),
    X509_STORE_free: bind('void', 'X509_STORE_free', pointer),
    X509_STORE_add_cert: bind('int', 'X509_STORE_add_cert', pointer, pointer),
    X509_STORE_set_flags: bind('int', 'X509_STORE_set_flags', pointer, 'unsigned long'),
    X509_free: bind('void', 'X509_free', pointer),
    i2d_X509: bind('int', 'i2d_X509', pointer, pointer),
    EVP_PKEY_free: bind('void', 'EVP_PKEY_free', pointer),
    BIO_new_mem_buf: bind(pointer, 'BIO_new_mem_buf', pointer, 'int'),
    BIO_free: bind('int', 'BIO_free', pointer),
    PEM_read_bio_X509: bind(pointer, 'PEM_read_bio_X509', pointer, pointer, pointer, pointer),
    PEM_read_bio_PrivateKey: bind(
      pointer,
      'PEM_read_bio_PrivateKey',
      pointer,
      pointer,
      pointer,
      pointer,
    ),
    ERR_get_error: bind('unsigned long', 'ERR_get_error'),
    ERR_clear_error: bind('void', 'ERR_clear_error'),
    ERR_reason_error_string: bind('const char *', 'ERR_reason_error_string', 'unsigned long'),
    memcpy: bind('void', 'memcpy', pointer, pointer, 'size_t'),
    copyOut: bind('void', 'memcpy', 'void *', pointer, 'size_t'),
  };
}
