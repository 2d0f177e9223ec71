import { exportsOfSelf } from '../native.ts';

/** The address of an `EVP_PKEY`, `X509`, `SSL` and so on; 0 is the null pointer. */
export type Address = number;

/** The OpenSSL functions that TLS for QUIC needs, under their own names. Most return 1 on success. */
export type QuicTlsFunctions = ReturnType<typeof openQuicTlsFunctions>;

/**
 * Binds the functions.
 * @throws {NativeError} if Node was built with another OpenSSL, or koffi is missing.
 */
export function openQuicTlsFunctions() {
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
    // Returns 0 on success.
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
    // Keeps the address of the parameters.
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
    X509_get_default_cert_file: bind('const char *', 'X509_get_default_cert_file') as () => string,
    X509_get_default_cert_dir: bind('const char *', 'X509_get_default_cert_dir') as () => string,
    X509_STORE_new: bind(pointer, 'X509_STORE_new'),
    X509_STORE_free: bind('void', 'X509_STORE_free', pointer),
    X509_STORE_add_cert: bind('int', 'X509_STORE_add_cert', pointer, pointer),
    X509_STORE_set_flags: bind('int', 'X509_STORE_set_flags', pointer, 'unsigned long'),
    X509_free: bind('void', 'X509_free', pointer),
    i2d_X509: bind('int', 'i2d_X509', pointer, pointer),
    EVP_PKEY_free: bind('void', 'EVP_PKEY_free', pointer),
    // Keeps the address of the bytes.
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
    // `memcpy` to a typed array, which may be on the heap.
    copyOut: bind('void', 'memcpy', 'void *', pointer, 'size_t'),
  };
}
