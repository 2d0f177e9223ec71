import { canonicalHost, ipVersion, type Endpoint } from '../../net/address.ts';

export interface RelayQuestion {
  /** The `udp_bind` setting. */
  readonly udpBind: string | undefined;
  /** The client's end of the control connection; `undefined` on a unix socket. */
  readonly remote: Endpoint | undefined;
  /** Our end of the control connection; `undefined` on a unix socket. */
  readonly local: Endpoint | undefined;
  /** Where the client says that its datagrams come from. */
  readonly stated: Endpoint;
}

/** How an association is served. */
export interface RelayPlan {
  /** The address to bind, which is also the one that the client is told. */
  readonly bind: string;
  readonly family: 4 | 6;
  /** The only address whose datagrams are taken. */
  readonly clientHost: string;
  /** The only port of it; `undefined` for that of the first datagram. */
  readonly clientPort: number | undefined;
}

/**
 * Decides where an association listens and to whom; `undefined` when a relay there could not
 * receive the client's datagrams.
 *
 * Over TCP what the client states is not believed: behind a network address translator it does not
 * know where its datagrams come from, and v2ray states the destination of its first one, which on
 * the client's own machine even looks right. The host of the control connection is the client. A
 * unix socket says nothing about its client, so there it must state address and port exactly.
 */
export function planRelay({
  udpBind,
  remote,
  local,
  stated,
}: RelayQuestion): RelayPlan | undefined {
  const clientHost = canonicalHost(remote ? remote.host : stated.host);
  const version = ipVersion(clientHost);
  if (version === 0 || isUnspecified(clientHost)) return undefined;
  if (!remote && stated.port === 0) return undefined;
  const bind = udpBind ?? (remote ? local?.host : undefined);
  if (bind === undefined) return undefined;
  const address = canonicalHost(bind);
  const family = ipVersion(address);
  if (family === 0 || !(family === version || address === '::')) return undefined;
  return { bind: address, family, clientHost, clientPort: remote ? undefined : stated.port };
}

const isUnspecified = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Link-local addresses of sockets carry the interface (`fe80::1%eth0`), those of requests do not. */
export const withoutZone = (host: string): string => host.replace(/%.*/s, '');
