import { generateKeyPairSync } from 'node:crypto';
import type { RandomSource } from '../random-source.ts';
import {
  basicConstraints,
  digitalSignatureOnly,
  serverAuthOnly,
  signCertificate,
  subjectAltName,
} from './x509.ts';

/** A server's certificate and its key as PEM. */
export interface KeyPair {
  readonly certificate: string;
  /** PKCS #8. */
  readonly key: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** For clients whose clock is late. */
const EARLIER_MS = 60 * 60 * 1000;
/** A positive number that is never repeated (RFC 5280 §4.1.2.2). */
const SERIAL_BYTES = 16;
/** The longest common name (X.520, ub-common-name); clients read the subjectAltName. */
const LONGEST_COMMON_NAME = 64;

/**
 * A self-signed certificate of a server, with a new ECDSA key on P-256.
 *
 * @param names at least one: addresses, and names in ASCII, also with `*` for their first label
 * @param now unix milliseconds
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
