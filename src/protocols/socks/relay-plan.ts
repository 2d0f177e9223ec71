import { canonicalHost, ipVersion, type Endpoint } from '../../net/addresses/address.ts';

export interface RelayQuestion {
  /** The value of the `udp_bind` setting. */
  readonly udpBind: string | undefined;
  /** The client's end of the control connection; `undefined` on a unix socket. */
  readonly remote: Endpoint | undefined;
  /** This side's end of the control connection; `undefined` on a unix socket. */
  readonly local: Endpoint | undefined;
  /** The source of the client's datagrams according to its request. */
  readonly stated: Endpoint;
}

/** The addresses of an association. */
export interface RelayPlan {
  /** The address to bind, which is also the one in the reply. */
  readonly bind: string;
  readonly family: 4 | 6;
  /** The only address from which datagrams are accepted. */
  readonly clientHost: string;
  /** The only port from which datagrams are accepted; `undefined` for that of the first datagram. */
  readonly clientPort: number | undefined;
}

/**
 * Determines the address that an association binds and the client that it serves; `undefined` when a relay there could
 * not receive the client's datagrams.
 *
 * Over TCP the address in the request is ignored: a client behind a NAT cannot determine the source of its datagrams,
 * and v2ray sends the destination of its first datagram, which is even plausible on the client's own machine. The
 * client is the host of the control connection. A unix socket has no such address: the request must then state the
 * exact address and port.
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

/** Removes the zone: link-local addresses of sockets name the interface (`fe80::1%eth0`), those in requests do not. */
export const withoutZone = (host: string): string => host.replace(/%.*/s, '');
