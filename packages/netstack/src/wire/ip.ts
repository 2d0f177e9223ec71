import type { IpPacket } from './ip-packet.ts';
import { readIPv4, type IPv4Fault } from './ipv4.ts';
import { readIPv6, type IPv6Fault } from './ipv6.ts';

/** The reason why a packet is dropped: it is malformed or unsupported. */
export type IpFault = 'empty' | 'unknown version' | IPv4Fault | IPv6Fault;

/**
 * Reads and validates the IP packet from `start` to `end`. The transport header is not read.
 *
 * @returns `undefined` when `packet` is filled, or the reason why the packet has to be dropped.
 */
export function readIpPacket(
  bytes: Uint8Array,
  start: number,
  end: number,
  packet: IpPacket,
): IpFault | undefined {
  if (start >= end) return 'empty';
  switch ((bytes[start] as number) >> 4) {
    case 4:
      return readIPv4(bytes, start, end, packet);
    case 6:
      return readIPv6(bytes, start, end, packet);
    default:
      return 'unknown version';
  }
}
