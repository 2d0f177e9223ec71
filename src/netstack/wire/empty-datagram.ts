import { isIPv4Endpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { IpProtocol } from './ip-packet.ts';
import { IPV4_HEADER_SIZE, writeIPv4Header } from './ipv4.ts';
import { IPV6_HEADER_SIZE, writeIPv6Header } from './ipv6.ts';
import { UDP_HEADER_SIZE, writeUdpHeader } from './udp.ts';

const HOP_LIMIT = 64;

/**
 * Returns an IP packet with an empty UDP datagram, for an ICMP error about a datagram that was not kept. The receiver
 * of the error reads only the addresses and ports (RFC 1122 §4.1.3.3).
 */
export function emptyDatagram(from: IpEndpoint, to: IpEndpoint): Uint8Array {
  const isIPv4 = isIPv4Endpoint(to);
  const start = isIPv4 ? IPV4_HEADER_SIZE : IPV6_HEADER_SIZE;
  const size = start + UDP_HEADER_SIZE;
  const bytes = new Uint8Array(size);
  if (isIPv4) writeIPv4Header(bytes, 0, from, to, IpProtocol.UDP, size, HOP_LIMIT, 0, 0, false);
  else writeIPv6Header(bytes, 0, from, to, IpProtocol.UDP, UDP_HEADER_SIZE, HOP_LIMIT, 0);
  writeUdpHeader(bytes, start, from.port, to.port, 0);
  return bytes;
}
