import { X509Certificate } from 'node:crypto';
import {
  createSecureContext,
  getCACertificates,
  rootCertificates,
  type SecureContext,
} from 'node:tls';
import { messageOf, WeirError } from '../errors.ts';

/** An invalid file of trusted certificates. */
export class CaBundleError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('ca_bundle', message, options);
  }
}

/** A file without any certificate. */
export class NoCertificateError extends CaBundleError {
  constructor() {
    super('no certificate in CA PEM bundle');
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The certificates of a PEM file, each as PEM text; anything between them is skipped.
 *
 * @throws {NoCertificateError} when there is none.
 * @throws {CaBundleError} when one is invalid.
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
 * The system's trusted certificates and `extra` ones; Node's bundled certificates if the system has
 * none, as in a container without a certificate package.
 */
export function trustedCertificates(extra: readonly string[]): string[] {
  const system = getCACertificates('system');
  // Debian's store has every certificate up to four times, and each takes time to load.
  return [...new Set([...(system.length > 0 ? system : rootCertificates), ...extra])];
}

/**
 * The trust store of TLS clients. Takes about 15 ms and 1 MB, so create it once and keep it.
 *
 * Each of the `extra` certificates is a trust anchor (RFC 5280 §6.1.1), whether it is self-signed or not:
 * an issuing authority whose root stays away, or the certificate of the server itself.
 */
export const trustContext = (extra: readonly string[]): SecureContext =>
  createSecureContext({
    ca: trustedCertificates(extra),
    allowPartialTrustChain: extra.length > 0,
  });
