import { ipVersion } from '@weir/base/ip';
import { formsOf, inboundProtocol } from '@weir/proxy/protocols';
import type { TableNode } from '@weir/proxy/schema';
import type { InboundSpec } from '@weir/proxy/spec';
import {
  ShareError,
  type SharedCarrier,
  type SharedServer,
  type SharedTls,
  type PinnedCertificate,
} from '@weir/proxy/protocols/forms';
import { X509Certificate } from 'node:crypto';
import { alternativeNames, chainOf, trustedCertificates } from '@weir/crypto/certificates';
import { normalizeDomain } from '@weir/io/addresses';

/** How clients reach the inbounds, and which authorities they trust. */
export interface ShareOptions {
  /** The host as clients dial it: a name in ASCII, or an address; IPv6 without brackets. */
  readonly host: string;
  /** Port of the proxy in front of the inbound. */
  readonly port: number | undefined;
  /** Whether a proxy in front of the inbound terminates TLS. */
  readonly frontTls: boolean;
  /** Replaces the name from the certificate. */
  readonly serverName: string | undefined;
  /** Whether clients are to accept certificates that they would reject. */
  readonly insecure: boolean;
  /** PEM texts of the authorities that clients trust. */
  readonly roots: () => readonly string[];
  /** Current time in Unix milliseconds. */
  readonly now: number;
}

/** Clients that dial `host` by the inbounds' own ports, and trust what this machine trusts now, unless told otherwise. */
export function shareOptions(host: string, others: Partial<ShareOptions> = {}): ShareOptions {
  let roots: readonly string[] | undefined;
  return {
    host,
    port: undefined,
    frontTls: false,
    serverName: undefined,
    insecure: false,
    roots: () => (roots ??= trustedCertificates([])),
    now: Date.now(),
    ...others,
  };
}

/** A server as one user's client reaches it. */
export interface InboundServer {
  /** Name of the user, as in `SharedUser`. */
  readonly user: string | undefined;
  readonly aliases: readonly string[];
  readonly server: SharedServer;
}

/** An inbound's servers, one for each user, and the problems that its clients meet. */
export interface SharedInbound {
  readonly servers: readonly InboundServer[];
  /** Why clients reject the certificate unless it is pinned or trusted. */
  readonly refused: RefusedCertificate | undefined;
}

export interface RefusedCertificate {
  /** The reason, such as `the certificate is self-signed`. */
  readonly reason: string;
  /** Whether clients accept the certificate by its hash: no authority vouches for it. */
  readonly canBePinned: boolean;
  /** Whether clients also accept the certificate as a trusted authority: it has not expired, and names the host. */
  readonly canBeTrusted: boolean;
}

/**
 * The servers that clients of an inbound connect to.
 *
 * @param written the `settings` of the file
 * @param labels labels from comments of the file, for users whose tables have no key for one
 * @throws {ShareError} for an inbound that clients cannot reach this way
 */
export function inboundServers(
  inbound: InboundSpec,
  written: TableNode | undefined,
  options: ShareOptions,
  labels: readonly (string | undefined)[] = [],
): SharedInbound {
  const { host } = options;
  const { tag } = inbound;
  const port = portFor(inbound, options);
  const { tls, refused } = tlsOf(inbound, options);
  const { protocol, settings } = inbound;
  const stream = { tls, carrier: carrierOf(inbound, tls, options) };
  const users = formsOf(protocol)?.sharedUsers?.(settings, {
    protocol,
    stream,
    tls,
    written,
    labels,
  });
  if (!users) throw new ShareError(`protocol ${protocol} has no clients to share it with`);
  if (users.length === 0) throw new ShareError('it has no users');
  const servers = users.map(({ name: user, aliases, access }) => {
    const name = user === undefined ? `${host} ${tag}` : `${host} ${tag} ${user}`;
    return { user, aliases, server: { name, host, port, access } };
  });
  return { servers, refused };
}

/** The port that clients connect to. @throws {ShareError} where they could not connect to the port */
function portFor({ listen }: InboundSpec, { host, port }: ShareOptions): number {
  if (port !== undefined) return port;
  const front =
    'if a reverse proxy is in front of it, --port is the port of that, and --tls says that it ends TLS';
  switch (listen.kind) {
    case 'none':
      throw new ShareError('it is a device of this machine, which has no clients');
    case 'unix':
      throw new ShareError(`it listens on the unix socket ${listen.path}: ${front}`);
    case 'ip':
    case 'name':
      if (isLocal(listen.host) && !isLocal(host)) {
        throw new ShareError(
          `it listens on ${listen.host} alone, which only programs on this machine can reach: ${front}`,
        );
      }
      if (listen.port === 0) {
        throw new ShareError('its port is 0, so the kernel chooses one: name it with --port');
      }
      return listen.port;
    default:
      return listen satisfies never;
  }
}

/** Whether a host is reachable only from this machine. */
export const isLocal = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (ipVersion(host) === 4 && host.startsWith('127.'));

interface ExaminedTls {
  readonly tls: SharedTls | undefined;
  readonly refused?: RefusedCertificate | undefined;
}

/** TLS settings of clients. @throws {ShareError} for TLS in front of a protocol whose links have no TLS */
function tlsOf({ protocol, settings, stream }: InboundSpec, options: ShareOptions): ExaminedTls {
  const side = inboundProtocol(protocol);
  if (options.frontTls) {
    if (!side.stream)
      throw new ShareError(`--tls is not for ${protocol}, which has no TLS in links`);
    const { host, serverName = host, insecure } = options;
    return { tls: { serverName, insecure, certificate: undefined } };
  }
  const chain = stream?.tls?.certificates ?? side.certificates?.(settings);
  return chain === undefined ? { tls: undefined } : examinedTls(chain, options);
}

function examinedTls(
  chain: string,
  { host, serverName: wanted, insecure, roots, now }: ShareOptions,
): ExaminedTls {
  const certificate = examineCertificate(chain, roots);
  const { trust, leaf, domains, validTo } = certificate;
  const serverName = wanted ?? (certificate.names(host) ? host : (domains[0] ?? host));
  const broken = [
    ...(validTo <= now ? ['has expired'] : []),
    ...(certificate.names(serverName) ? [] : [`does not name ${serverName}`]),
  ];
  const problems = [...(trust === 'public' ? [] : [UNTRUSTED[trust]]), ...broken];
  const isRefused = problems.length > 0;
  const canBePinned = trust !== 'public';
  return {
    tls: {
      serverName,
      insecure: insecure && isRefused,
      certificate: canBePinned ? leaf : undefined,
    },
    refused: isRefused
      ? {
          reason: `the certificate ${problems.join(' and ')}`,
          canBePinned,
          canBeTrusted: canBePinned && broken.length === 0,
        }
      : undefined,
  };
}

const UNTRUSTED = {
  'self-signed': 'is self-signed',
  'unknown authority': 'leads to no authority that this machine trusts',
} as const;

/** The carrier, with the `Host` that the server checks, or in which an IPv6 address needs brackets. */
function carrierOf(
  { stream }: InboundSpec,
  tls: SharedTls | undefined,
  { host }: ShareOptions,
): SharedCarrier {
  const carrier = stream?.carrier ?? { kind: 'raw' };
  const reached = tls?.serverName ?? host;
  const written = ipVersion(reached) === 6 ? `[${reached}]` : undefined;
  switch (carrier.kind) {
    case 'raw':
      return carrier;
    case 'ws':
      return { kind: 'ws', path: carrier.path, host: carrier.host ?? written };
    case 'grpc':
      return { kind: 'grpc', serviceName: carrier.serviceName, authority: written };
    default:
      return carrier satisfies never;
  }
}

/** A server's certificate as clients judge it. */
interface ServerCertificate {
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
 * Examines a certificate chain.
 *
 * @param chain PEM of valid certificates, leaf first
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

/** Describes what clients do with a certificate that they would reject. */
export function adviceOn(
  { reason, canBePinned, canBeTrusted }: RefusedCertificate,
  { form, insecure }: { readonly form: string; readonly insecure: boolean },
  protocol: string,
): string {
  // Xray has no such option, and compares the hash.
  if (insecure && !(form === 'xray' && canBePinned)) {
    return `${reason}, so clients accept any: anyone on the path can read the traffic`;
  }
  const without = form === 'link' ? formsOf(protocol)?.link?.unpinned : '';
  const isPinned = form === 'link' || form === 'xray' || form === 'clash';
  if (isPinned && canBePinned && without !== undefined) {
    return `${reason}, so clients are given its hash to compare, until it is renewed${without}`;
  }
  if (!isPinned && canBeTrusted) {
    return `${reason}, so clients are given this one to trust, until it is renewed`;
  }
  const others = canBePinned ? ', use --form xray or clash, which have its hash' : '';
  return `${reason}: clients refuse it. Get one of a public authority${others}, or accept any with --insecure`;
}
