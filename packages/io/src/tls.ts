/** TLS on the kernel's sockets, by the OpenSSL that Node contains. */
export type { AlpnChoice } from './platform/quic-tls/quic-tls-library.ts';
export {
  serverCiphers,
  SESSION_MARK_BYTES,
  TICKET_SECONDS,
  TlsCertificateError,
  tlsReasonInWords,
} from './platform/tls/tls-context.ts';
export { StreamTlsContext } from './platform/tls/stream-tls-context.ts';
export {
  CALL_BYTES,
  CALL_PIECES,
  streamTls,
  StreamTlsLibrary,
  WRITE_BYTES,
} from './platform/tls/stream-tls-library.ts';
export { StreamTls } from './platform/tls/stream-tls.ts';
