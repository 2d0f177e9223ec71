import { NativeError } from '../native.ts';
import type { Address } from '../quic-tls/quic-tls-functions.ts';
import type { QuicTlsLibrary } from '../quic-tls/quic-tls-library.ts';

/** A server's certificate or key that OpenSSL rejects. */
export class TlsCertificateError extends NativeError {
  readonly part: 'certificate' | 'key';

  constructor(part: 'certificate' | 'key', message: string) {
    super(message);
    this.part = part;
  }
}

export interface TlsCredentials {
  /** Certificate chain in PEM, leaf first. */
  readonly certificates: string;
  /** Private key of the leaf, in PEM. */
  readonly key: string;
}

/** A constant of openssl/ssl.h. */
const CHAIN_CERTIFICATE = 89;

/**
 * Sets a server's certificate and key in an `SSL_CTX`.
 * @throws {TlsCertificateError} when OpenSSL rejects one of them although it is valid PEM (a key
 *   that is too short, for example).
 */
export function useCredentials(
  library: QuicTlsLibrary,
  context: Address,
  { certificates, key }: TlsCredentials,
): void {
  useCertificates(library, context, certificates);
  useKey(library, context, key);
}

function useCertificates(library: QuicTlsLibrary, context: Address, pem: string): void {
  const { functions } = library;
  let isLeaf = true;
  const all = library.readCertificates(pem);
  try {
    for (const certificate of all) {
      const result = isLeaf
        ? functions.SSL_CTX_use_certificate(context, certificate)
        : functions.SSL_CTX_ctrl(context, CHAIN_CERTIFICATE, 1, certificate);
      if (result !== 1) throw refused(library, 'certificate');
      isLeaf = false;
    }
  } finally {
    for (const certificate of all) functions.X509_free(certificate);
  }
  if (isLeaf) throw refused(library, 'certificate');
}

function useKey(library: QuicTlsLibrary, context: Address, pem: string): void {
  const { functions } = library;
  const key = library.readKey(pem);
  if (key === 0) throw refused(library, 'key');
  try {
    // Also checks that the key matches the certificate.
    if (functions.SSL_CTX_use_PrivateKey(context, key) !== 1) throw refused(library, 'key');
  } finally {
    functions.EVP_PKEY_free(key);
  }
}

function refused(library: QuicTlsLibrary, part: 'certificate' | 'key'): TlsCertificateError {
  const reason = library.takeError() ?? 'OpenSSL refuses it';
  const what = part === 'key' ? 'private key' : part;
  return new TlsCertificateError(part, `invalid ${what}: ${reason}`);
}
