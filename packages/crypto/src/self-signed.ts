import { DAY_MS } from '@weir/base/text/amounts';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { ipVersion, parseIP } from '@weir/base/ip';
import type { RandomSource } from '@weir/base/random';

/** An encoder for the subset of DER (X.690 §10) that certificates need. */

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** Context-specific tag of a primitive element. */
  context: 0x80,
  /** Context-specific tag of a constructed element, around another element. */
  explicit: 0xa0,
} as const;

/** Encodes one element: tag, length, content. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.of(tag), lengthOf(body.length), body]);
}

/** Encodes a length: below 128 in the short form, otherwise in the long form. */
function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 0x100)) bytes.unshift(rest % 0x100);
  return Buffer.of(0x80 | bytes.length, ...bytes);
}

const sequence = (...content: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...content);

/** Encodes an INTEGER. @param bytes the value, big-endian and not negative */
export function integer(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const short = start < 0 ? Buffer.of(0) : bytes.subarray(start);
  const needsZero = ((short[0] ?? 0) & 0x80) !== 0;
  return der(TAG.integer, needsZero ? Buffer.concat([Buffer.of(0), short]) : short);
}

/** Encodes a BIT STRING of whole bytes. */
export const bitString = (bytes: Uint8Array): Buffer => der(TAG.bitString, Buffer.of(0), bytes);

/**
 * Encodes an OBJECT IDENTIFIER.
 * @param dotted such as `2.5.29.17`; the first two numbers share one byte (X.690 §8.19.4)
 */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return der(TAG.objectIdentifier, Buffer.of(first * 40 + second, ...others.flatMap(base128)));
}

/** Encodes a number in base 128: all bytes but the last have the highest bit set. */
function base128(number: number): readonly number[] {
  const bytes = [number & 0x7f];
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

/**
 * Encodes a Time.
 * @param time Unix milliseconds; UTCTime up to 2049, as RFC 5280 §4.1.2.5 requires
 */
export function time(time: number): Buffer {
  const text = new Date(time).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return Number(text.slice(0, 4)) < 2050
    ? der(TAG.utcTime, Buffer.from(text.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(text));
}

/** Encodes PEM (RFC 7468): base64 in lines of 64 characters. */
export function pem(label: string, body: Uint8Array): string {
  const base64 = Buffer.from(body).toString('base64');
  const lines: string[] = [];
  for (let at = 0; at < base64.length; at += 64) lines.push(base64.slice(at, at + 64));
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

/** A server's certificate and private key as PEM. */
interface KeyPair {
  readonly certificate: string;
  /** The private key in PKCS #8. */
  readonly key: string;
}

/** Milliseconds by which the validity starts early, for clients whose clock is slow. */
const EARLIER_MS = 60 * 60 * 1000;
/** Length of the random serial number, which must be positive and unique (RFC 5280 §4.1.2.2). */
const SERIAL_BYTES = 16;
/** Maximum length of a common name in characters (X.520, ub-common-name); clients use the subjectAltName. */
const LONGEST_COMMON_NAME = 64;

/**
 * Creates a self-signed certificate of a server, with a new ECDSA key on P-256.
 * @param names at least one: IP addresses, and ASCII host names, which may have `*` as their first label
 * @param now Unix milliseconds
 */
export function selfSigned(
  names: readonly string[],
  days: number,
  { random, now }: { readonly random: RandomSource; readonly now: number },
): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = (names[0] ?? '').slice(0, LONGEST_COMMON_NAME);
  const serial = random.bytes(SERIAL_BYTES);
  const certificate = signCertificate(
    {
      serial,
      issuer: name,
      subject: name,
      validFrom: now - EARLIER_MS,
      validTo: now + days * DAY_MS,
      publicKey,
      extensions: [
        subjectAltName(names),
        basicConstraints(false),
        digitalSignatureOnly(),
        serverAuthOnly(),
      ],
    },
    privateKey,
  );
  return { certificate, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

/** The contents of a certificate (RFC 5280 §4.1), to be signed by an ECDSA key. */
interface CertificateFields {
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
const digitalSignatureOnly = (): Buffer =>
  extension('2.5.29.15', true, der(TAG.bitString, Buffer.of(7, 0x80)));

/** Encodes extKeyUsage with serverAuth only (§4.2.1.12). */
const serverAuthOnly = (): Buffer =>
  extension('2.5.29.37', false, sequence(objectIdentifier('1.3.6.1.5.5.7.3.1')));

const TRUE = der(TAG.boolean, Buffer.of(0xff));

const extension = (id: string, isCritical: boolean, value: Uint8Array): Buffer =>
  sequence(objectIdentifier(id), ...(isCritical ? [TRUE] : []), der(TAG.octetString, value));
