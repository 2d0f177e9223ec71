import { formatIP, parseIP, parseIPv6, unmapIPv4, ipVersion } from '@weir/base/ip';

export { formatIP, ipVersion, parseIP, parseIPv6, unmapIPv4 };

/** A host and a port; `host` is a domain name or an IP address in text without brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export type Network = 'tcp' | 'udp';

/** The destination of a client's request. */
export interface Destination extends Endpoint {
  readonly network: Network;
}

/** Returns an endpoint as `host:port`, with brackets around IPv6. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Returns the canonical text of an IP address, as the kernel reports it: IPv6 in the form of RFC 5952, an
 * IPv4-mapped address as the IPv4 one. A name or an address with a zone is returned unchanged.
 */
export function canonicalHost(host: string): string {
  const bytes = parseIP(host);
  return bytes ? unmapIPv4(formatIP(bytes)) : host;
}

/**
 * Whether a datagram from `source` may be passed on as a response of `peer`, in a framing that has
 * no field for the source. The address of a peer given by name is unknown, so only its port is compared.
 */
export const mayRespondFor = (peer: Endpoint, source: Endpoint): boolean =>
  peer === source ||
  (peer.port === source.port &&
    (peer.host === source.host || (ipVersion(peer.host) === 0 && ipVersion(source.host) !== 0)));
