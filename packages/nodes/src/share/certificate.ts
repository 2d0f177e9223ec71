import { X509Certificate } from 'node:crypto';
import { alternativeNames, chainOf } from '@weir/crypto/certificates';
import { ipVersion } from '@weir/base/ip';
import { normalizeDomain } from '@weir/io/addresses';
import type { PinnedCertificate } from '@weir/proxy/protocols/forms';

/** A server's certificate as clients judge it. */
export interface ServerCertificate {
  /** `public`: the chain leads to an authority that clients trust. */
  readonly trust: 'public' | 'self-signed' | 'unknown authority';
  readonly leaf: PinnedCertificate;
  /** Expiry in Unix milliseconds. */
  readonly validTo: number;
  /** Whether the certificate names a host. */
  readonly names: (host: string) => boolean;
  /** Names of the subjectAltName that a client could send, without wildcards. */
  readonly domains: readonly string[];
}

/** Maximum length of a chain, longer than any real one. */
const LONGEST_CHAIN = 10;

/**
 * Examines a certificate chain. @param chain PEM of valid certificates, leaf first
 * @param roots PEM texts of the certificates that clients trust
 */
export function examineCertificate(
  chain: string,
  roots: () => readonly string[],
): ServerCertificate {
  const certificates = chainOf(chain).slice(0, LONGEST_CHAIN);
  const [leaf] = certificates;
  if (!leaf) throw new RangeError('a chain has a certificate');
  return {
    trust: isSelfSigned(leaf)
      ? 'self-signed'
      : isTrusted(certificates, leaf, roots())
        ? 'public'
        : 'unknown authority',
    leaf: {
      pem: leaf.toString(),
      sha256: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    },
    validTo: Date.parse(leaf.validTo),
    names: (host) =>
      (ipVersion(host) === 0 ? leaf.checkHost(host, { subject: 'never' }) : leaf.checkIP(host)) !==
      undefined,
    domains: domainsOf(alternativeNames(leaf)),
  };
}

/**
 * Whether a leaf is self-signed. Not by `checkIssued`, which demands that the key may sign certificates: a server's own
 * need not.
 */
const isSelfSigned = (leaf: X509Certificate): boolean =>
  leaf.issuer === leaf.subject && leaf.verify(leaf.publicKey);

/** Whether the chain leads from a leaf to a certificate that a root has issued. */
function isTrusted(
  chain: readonly X509Certificate[],
  leaf: X509Certificate,
  roots: readonly string[],
): boolean {
  const trusted = roots.flatMap((pem) => parsedRoot(pem));
  let at: X509Certificate | undefined = leaf;
  for (let depth = 0; depth < LONGEST_CHAIN && at; depth++) {
    const current: X509Certificate = at;
    if (trusted.some((root) => isIssuedBy(current, root))) return true;
    at = chain.find((each) => each !== current && isIssuedBy(current, each));
  }
  return false;
}

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

/** Parses a root certificate; empty for one that OpenSSL cannot parse, which system stores contain. */
function parsedRoot(pem: string): readonly X509Certificate[] {
  try {
    return [new X509Certificate(pem)];
  } catch {
    return [];
  }
}

/** The DNS names in Node's text of a subjectAltName: `DNS:a.example, IP Address:192.0.2.1`; other names are quoted. */
const domainsOf = (text: string): readonly string[] =>
  text
    .split(', ')
    .filter((entry) => entry.startsWith('DNS:'))
    .map((entry) => entry.slice('DNS:'.length))
    .filter((name) => normalizeDomain(name) === name.toLowerCase());
