import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import {
  createSecureContext,
  getCACertificates,
  rootCertificates,
  type SecureContext,
} from 'node:tls';
import { messageOf, WeirError, type WeirErrorOptions } from '@weir/base';

/** The error of an invalid certificate or key file of a server. */
export class ServerCertificateError extends WeirError {
  /** The invalid file; the key file for a mismatch. */
  readonly part: 'certificate' | 'key';

  constructor(part: 'certificate' | 'key', message: string, options?: WeirErrorOptions) {
    super('server_certificate', message, options);
    this.part = part;
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
// Headers of traditional encrypted keys contain hyphens, but never five in a row.
const KEY =
  /-----BEGIN (?:(?:RSA|EC|ENCRYPTED) )?PRIVATE KEY-----(?:[^-]|-(?!----))+-----END (?:(?:RSA|EC|ENCRYPTED) )?PRIVATE KEY-----/;

/**
 * Returns the certificates of a PEM file, leaf first, as one PEM text; anything between them is skipped.
 * @throws {ServerCertificateError} if there is no certificate, or an invalid one.
 */
export function parseCertificateChain(file: Uint8Array): string {
  const certificates = textOf(file).match(CERTIFICATE);
  if (!certificates) throw new ServerCertificateError('certificate', 'no certificate in the file');
  for (const certificate of certificates) parseCertificate(certificate);
  return `${certificates.join('\n')}\n`;
}

/**
 * Returns the first private key of a PEM file (PKCS #8, PKCS #1 or SEC1) as PEM text.
 * @throws {ServerCertificateError} if there is no key, or it does not match the leaf certificate.
 */
export function parseServerKey(file: Uint8Array, certificates: string): string {
  const [pem] = KEY.exec(textOf(file)) ?? [];
  if (pem === undefined) throw new ServerCertificateError('key', 'no private key in the file');
  const leaf = parseCertificate(certificates);
  if (!leaf.checkPrivateKey(parseKey(pem))) {
    throw new ServerCertificateError('key', 'no private key assigned', {
      hint: 'the key is not that of the first certificate of cert_file: take the pair that was made together, leaf first',
    });
  }
  return `${pem}\n`;
}

/** Parses the certificates of a text that `parseCertificateChain` returned, leaf first. */
export const chainOf = (certificates: string): readonly X509Certificate[] =>
  (certificates.match(CERTIFICATE) ?? []).map(parseCertificate);

/** The properties of a server's certificate that clients check. */
interface LeafFacts {
  /** The beginning of the validity in Unix milliseconds; `validTo` is its end. */
  readonly validFrom: number;
  readonly validTo: number;
  /** Whether the certificate has a subjectAltName: clients may use no other name (RFC 9525 §2). */
  readonly hasName: boolean;
}

/**
 * Returns the properties of the leaf certificate.
 * @param certificates PEM, leaf first.
 * @throws {ServerCertificateError} for an invalid certificate.
 */
export function leafFacts(certificates: string): LeafFacts {
  const leaf = parseCertificate(certificates);
  return {
    validFrom: Date.parse(leaf.validFrom),
    validTo: Date.parse(leaf.validTo),
    hasName: alternativeNames(leaf) !== '',
  };
}

/** Returns Node's text of a subjectAltName; empty if there is none, or it cannot be parsed. */
export function alternativeNames(certificate: X509Certificate): string {
  try {
    return certificate.subjectAltName ?? '';
  } catch {
    // From Node 26.12.1 on the getter throws for an empty or malformed extension, which has no names.
    return '';
  }
}

function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    const message = `invalid certificate: ${messageOf(error)}`;
    throw new ServerCertificateError('certificate', message, { cause: error });
  }
}

function parseKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    const reason = pem.includes('ENCRYPTED') ? 'it is encrypted' : messageOf(error);
    throw new ServerCertificateError('key', `invalid private key: ${reason}`, { cause: error });
  }
}

const textOf = (file: Uint8Array): string =>
  Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString('latin1');

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

/**
 * Returns the certificates of a PEM file as PEM texts; anything between them is skipped.
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
