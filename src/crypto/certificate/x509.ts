import { sign, type KeyObject } from 'node:crypto';
import { ipVersion } from '../../ip/ip-version.ts';
import { parseIP } from '../../ip/ip-text.ts';
import { bitString, der, integer, objectIdentifier, pem, sequence, TAG, time } from './der.ts';

/** The contents of a certificate (RFC 5280 §4.1), to be signed by an ECDSA key. */
export interface CertificateFields {
  /** The serial number: big-endian, not negative, at most 20 bytes. */
  readonly serial: Uint8Array;
  /** The common name of the issuer; `subject` is that of the owner. */
  readonly issuer: string;
  readonly subject: string;
  /** The beginning of the validity in Unix milliseconds; `validTo` is its end. */
  readonly validFrom: number;
  readonly validTo: number;
  readonly publicKey: KeyObject;
  /** Encoded extensions, created by the functions of this module. */
  readonly extensions: readonly Uint8Array[];
}

/** Creates a certificate of version 3 as PEM, signed by ECDSA with SHA-256. */
export function signCertificate(fields: CertificateFields, issuerKey: KeyObject): string {
  const { serial, issuer, subject, validFrom, validTo, publicKey, extensions } = fields;
  const body = sequence(
    der(TAG.explicit, integer(Buffer.of(2))),
    integer(serial),
    ECDSA_WITH_SHA256,
    commonName(issuer),
    sequence(time(validFrom), time(validTo)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(TAG.explicit + 3, sequence(...extensions)),
  );
  const signature = sign('sha256', body, issuerKey);
  return pem('CERTIFICATE', sequence(body, ECDSA_WITH_SHA256, bitString(signature)));
}

const ECDSA_WITH_SHA256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'));

const commonName = (name: string): Buffer =>
  sequence(
    der(TAG.set, sequence(objectIdentifier('2.5.4.3'), der(TAG.utf8String, Buffer.from(name)))),
  );

/**
 * Encodes the subjectAltName of a server (RFC 5280 §4.2.1.6).
 * @param names IP addresses and ASCII host names
 */
export const subjectAltName = (names: readonly string[]): Buffer =>
  extension('2.5.29.17', false, sequence(...names.map(generalName)));

/** Encodes a GeneralName: dNSName [2] or iPAddress [7]. */
const generalName = (name: string): Buffer =>
  ipVersion(name) === 0
    ? der(TAG.context + 2, Buffer.from(name, 'latin1'))
    : der(TAG.context + 7, Buffer.from(parseIP(name) ?? []));

/** Encodes basicConstraints: whether the certificate is that of an authority (§4.2.1.9). */
export const basicConstraints = (isAuthority: boolean): Buffer =>
  extension('2.5.29.19', true, sequence(...(isAuthority ? [TRUE] : [])));

/** Encodes keyUsage with digitalSignature only (§4.2.1.3): the first bit of one byte. */
export const digitalSignatureOnly = (): Buffer =>
  extension('2.5.29.15', true, der(TAG.bitString, Buffer.of(7, 0x80)));

/** Encodes extKeyUsage with serverAuth only (§4.2.1.12). */
export const serverAuthOnly = (): Buffer =>
  extension('2.5.29.37', false, sequence(objectIdentifier('1.3.6.1.5.5.7.3.1')));

const TRUE = der(TAG.boolean, Buffer.of(0xff));

const extension = (id: string, isCritical: boolean, value: Uint8Array): Buffer =>
  sequence(objectIdentifier(id), ...(isCritical ? [TRUE] : []), der(TAG.octetString, value));
