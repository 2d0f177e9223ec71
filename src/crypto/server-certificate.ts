import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { messageOf, WeirError, type WeirErrorOptions } from '../errors.ts';

/** An invalid certificate or key file of a server. */
export class ServerCertificateError extends WeirError {
  /** Which of the two files is wrong; the key for a mismatch. */
  readonly part: 'certificate' | 'key';

  constructor(part: 'certificate' | 'key', message: string, options?: WeirErrorOptions) {
    super('server_certificate', message, options);
    this.part = part;
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
// Traditional encrypted keys have headers with hyphens, but never five in a row.
const KEY =
  /-----BEGIN (?:(?:RSA|EC|ENCRYPTED) )?PRIVATE KEY-----(?:[^-]|-(?!----))+-----END (?:(?:RSA|EC|ENCRYPTED) )?PRIVATE KEY-----/;

/**
 * The certificates of a PEM file, leaf first, as one PEM text; anything between them is skipped.
 * @throws {ServerCertificateError} when there is no certificate, or an invalid one.
 */
export function parseCertificateChain(file: Uint8Array): string {
  const certificates = textOf(file).match(CERTIFICATE);
  if (!certificates) throw new ServerCertificateError('certificate', 'no certificate in the file');
  for (const certificate of certificates) parseCertificate(certificate);
  return `${certificates.join('\n')}\n`;
}

/**
 * The first private key of a PEM file (PKCS#8, PKCS#1 or SEC1) as PEM text.
 * @throws {ServerCertificateError} when there is no key, or it does not match the leaf.
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

/** The certificates of a text that `parseCertificateChain` returned, leaf first. */
export const chainOf = (certificates: string): readonly X509Certificate[] =>
  (certificates.match(CERTIFICATE) ?? []).map(parseCertificate);

/** The properties of a server's certificate that clients check. */
export interface LeafFacts {
  /** Unix milliseconds. */
  readonly validFrom: number;
  readonly validTo: number;
  /** Whether it has a subjectAltName: RFC 9525 §2 lets clients use no other name. */
  readonly hasName: boolean;
}

/** @param certificates PEM, leaf first. @throws {ServerCertificateError} */
export function leafFacts(certificates: string): LeafFacts {
  const leaf = parseCertificate(certificates);
  return {
    validFrom: Date.parse(leaf.validFrom),
    validTo: Date.parse(leaf.validTo),
    hasName: alternativeNames(leaf) !== '',
  };
}

/** Node's text of a subjectAltName; empty when there is none, or none that can be read. */
export function alternativeNames(certificate: X509Certificate): string {
  try {
    return certificate.subjectAltName ?? '';
  } catch {
    // From Node 26.12.1 on it throws for one that is empty or malformed, which names nothing.
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
