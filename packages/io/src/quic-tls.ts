/** The TLS handshake of QUIC, by the OpenSSL that Node contains. */
export { type QuicTlsChoices, QuicTlsContext } from './platform/quic-tls/quic-tls-context.ts';
export { QuicTlsLibrary } from './platform/quic-tls/quic-tls-library.ts';
export { quicTls, quicTlsUnavailable } from './platform/quic-tls/quic-tls-probe.ts';
export { CertificateSet, TrustStore } from './platform/quic-tls/quic-tls-trust.ts';
export { QuicTls } from './platform/quic-tls/quic-tls.ts';
