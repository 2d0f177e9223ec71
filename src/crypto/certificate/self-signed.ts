import { generateKeyPairSync } from 'node:crypto';
import type { RandomSource } from '../random-source.ts';
import {
  basicConstraints,
  digitalSignatureOnly,
  serverAuthOnly,
  signCertificate,
  subjectAltName,
} from './x509.ts';

/** A server's certificate and private key as PEM. */
export interface KeyPair {
  readonly certificate: string;
  /** The private key in PKCS #8. */
  readonly key: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Milliseconds by which the validity starts early, for clients whose clock is slow. */
const EARLIER_MS = 60 * 60 * 1000;
/** Length of the random serial number, which must be positive and unique (RFC 5280 §4.1.2.2). */
const SERIAL_BYTES = 16;
/** Maximum length of a common name in characters (X.520, ub-common-name); clients use the subjectAltName. */
const LONGEST_COMMON_NAME = 64;

/**
 * Creates a self-signed certificate of a server, with a new ECDSA key on P-256.
 *
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
