import { ipVersion } from '../ip/ip-version.ts';
import { inboundProtocol } from '../protocols/registry.ts';
import type { TableNode } from '../schema/node.ts';
import type { InboundSpec } from '../spec.ts';
import { examineCertificate } from './certificate.ts';
import {
  ShareError,
  type SharedCarrier,
  type SharedServer,
  type SharedTls,
} from './shared-server.ts';
import { usersOf, type Below } from './users.ts';

/** How clients reach the inbounds, and what is known about them there. */
export interface ShareOptions {
  /** As clients dial it: a name in ASCII, or an address; IPv6 without brackets. */
  readonly host: string;
  /** The port of what is in front of the inbound. */
  readonly port: number | undefined;
  /** What is in front of the inbound ends TLS. */
  readonly frontTls: boolean;
  /** In place of a name of the certificate. */
  readonly serverName: string | undefined;
  /** Accepts certificates that clients would refuse. */
  readonly insecure: boolean;
  /** PEM texts of the authorities that clients know. */
  readonly roots: () => readonly string[];
  /** Unix milliseconds. */
  readonly now: number;
}

/** One user's way to an inbound. */
export interface InboundServer {
  /** As in `SharedUser`. */
  readonly user: string | undefined;
  readonly aliases: readonly string[];
  readonly server: SharedServer;
}

/** The servers that an inbound is to its users, and what stands in the way of their clients. */
export interface SharedInbound {
  readonly servers: readonly InboundServer[];
  /** Why clients that know nothing else of the certificate refuse it. */
  readonly refused: RefusedCertificate | undefined;
}

export interface RefusedCertificate {
  /** Such as `the certificate is self-signed`. */
  readonly reason: string;
  /** Whether a client that compares its hash accepts it: no authority vouches for it. */
  readonly canBePinned: boolean;
  /** Whether a client that is given it as an authority does too: it has not expired, and names the host. */
  readonly canBeTrusted: boolean;
}

/**
 * The servers that clients of an inbound connect to.
 *
 * @param written the `settings` of the file
 * @param labels of users that have no key for one, as comments of the file may have them
 * @throws {ShareError} for an inbound that clients cannot reach so.
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
  const below: Below = { tls, stream: { tls, carrier: carrierOf(inbound, tls, options) } };
  const users = usersOf(inbound, written, below, labels);
  if (users.length === 0) throw new ShareError('it has no users');
  const servers = users.map(({ name: user, aliases, access }) => {
    const name = user === undefined ? `${host} ${tag}` : `${host} ${tag} ${user}`;
    return { user, aliases, server: { name, host, port, access } };
  });
  return { servers, refused };
}

/** @throws {ShareError} where clients could not connect to the port. */
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

/** Whether only programs on this machine reach a host. */
export const isLocal = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (ipVersion(host) === 4 && host.startsWith('127.'));

interface ExaminedTls {
  readonly tls: SharedTls | undefined;
  readonly refused?: RefusedCertificate | undefined;
}

/** @throws {ShareError} for TLS in front of a protocol that has no TLS in links. */
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

/** The carrier with the `Host` that the server checks, or that an IPv6 address needs brackets in. */
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
