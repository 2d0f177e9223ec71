import { X509Certificate } from 'node:crypto';
import {
  createSecureContext,
  getCACertificates,
  rootCertificates,
  type SecureContext,
} from 'node:tls';
import { messageOf, WeirError } from '@weir/base';

/** The error of an invalid file of trusted certificates. */
export class CaBundleError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('ca_bundle', message, options);
  }
}

/** The error of a file without certificates. */
export class NoCertificateError extends CaBundleError {
  constructor() {
    super('no certificate in CA PEM bundle');
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Returns the certificates of a PEM file as PEM texts; anything between them is skipped.
 *
 * @throws {NoCertificateError} if the file has no certificate.
 * @throws {CaBundleError} if a certificate is invalid.
 */
export function parseCaBundle(file: Uint8Array): readonly string[] {
  const text = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString('latin1');
  const certificates = text.match(CERTIFICATE);
  if (!certificates) throw new NoCertificateError();
  for (const certificate of certificates) checkCertificate(certificate);
  return certificates;
}

function checkCertificate(certificate: string): X509Certificate {
  try {
    return new X509Certificate(certificate);
  } catch (error) {
    throw new CaBundleError(`invalid certificate in CA PEM bundle: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Returns the system's trusted certificates and `extra` ones. If the system has none, as in a container without a
 * certificate package, Node's bundled certificates replace them.
 */
export function trustedCertificates(extra: readonly string[]): string[] {
  const system = getCACertificates('system');
  // Debian's store has every certificate up to four times, and each copy takes time to load.
  return [...new Set([...(system.length > 0 ? system : rootCertificates), ...extra])];
}

/**
 * Creates the trust store of TLS clients. Takes about 15 ms and 1 MB, so create it once and keep it.
 *
 * Each of the `extra` certificates is a trust anchor (RFC 5280 §6.1.1), whether it is self-signed or not: it may be an
 * intermediate authority whose root is not trusted, or the certificate of the server itself.
 */
export const trustContext = (extra: readonly string[]): SecureContext =>
  createSecureContext({
    ca: trustedCertificates(extra),
    allowPartialTrustChain: extra.length > 0,
  });
