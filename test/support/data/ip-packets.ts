import assert from 'node:assert/strict';
import { isIPv4Endpoint, toEndpoint, type IpEndpoint } from '@weir/base/ip';
import {
  pseudoHeaderSum,
  sumOf,
  complement,
} from '../../../packages/netstack/src/wire/checksum.ts';
import { readIpPacket, type IpFault } from '../../../packages/netstack/src/wire/ip.ts';
import {
  IpPacket,
  IpProtocol,
  writeTransportChecksum,
} from '../../../packages/netstack/src/wire/ip-packet.ts';
import { writeIPv4Header } from '../../../packages/netstack/src/wire/ipv4.ts';
import { writeIPv6Header } from '../../../packages/netstack/src/wire/ipv6.ts';
import {
  TcpSegment,
  tcpHeaderSize,
  writeTcpHeader,
} from '../../../packages/netstack/src/wire/tcp.ts';
import { writeUdpHeader } from '../../../packages/netstack/src/wire/udp.ts';

/** An endpoint of documentation addresses. */
export function endpoint(host: string, port = 0): IpEndpoint {
  const found = toEndpoint(host, port);
  assert.ok(found, host);
  return found;
}

export const CLIENT4 = endpoint('192.0.2.1', 40_000);
export const SERVER4 = endpoint('198.51.100.2', 443);
export const CLIENT6 = endpoint('2001:db8::1', 40_000);
export const SERVER6 = endpoint('2001:db8:1::2', 443);

export interface PacketParts {
  readonly source?: IpEndpoint;
  readonly destination?: IpEndpoint;
  readonly hopLimit?: number;
  readonly trafficClass?: number;
  readonly identification?: number;
  readonly dontFragment?: boolean;
  /** Of IPv6: extension headers as they stand, and the protocol that the IP header names. */
  readonly extensions?: Uint8Array;
  readonly nextHeader?: number;
}

/** An IP packet with a payload as it stands. The addresses say which version. */
export function ipPacket(
  protocol: number,
  payload: Uint8Array,
  parts: PacketParts = {},
): Uint8Array {
  const { source = CLIENT4, destination = SERVER4, hopLimit = 64, trafficClass = 0 } = parts;
  if (isIPv4Endpoint(source)) {
    const bytes = new Uint8Array(20 + payload.length);
    bytes.set(payload, 20);
    const { identification = 0, dontFragment = false } = parts;
    writeIPv4Header(
      bytes,
      0,
      source,
      destination,
      protocol,
      bytes.length,
      hopLimit,
      trafficClass,
      identification,
      dontFragment,
    );
    return bytes;
  }
  const { extensions = new Uint8Array(0), nextHeader = protocol } = parts;
  const size = extensions.length + payload.length;
  const bytes = new Uint8Array(40 + size);
  writeIPv6Header(bytes, 0, source, destination, nextHeader, size, hopLimit, trafficClass);
  bytes.set(extensions, 40);
  bytes.set(payload, 40 + extensions.length);
  return bytes;
}

/** An IP packet of a transport protocol, its checksum at `field` of its header. */
export function transportPacket(
  protocol: number,
  header: Uint8Array,
  field: number,
  parts: PacketParts = {},
): Uint8Array {
  const bytes = ipPacket(protocol, header, parts);
  const at = bytes.length - header.length;
  const isV4 = at === 20;
  const [addresses, size] = isV4 ? [12, 4] : [8, 16];
  const hasPseudoHeader = protocol !== IpProtocol.ICMP;
  const pseudoSum = hasPseudoHeader
    ? pseudoHeaderSum(bytes, addresses, size, protocol, header.length)
    : 0;
  writeTransportChecksum(bytes, at, bytes.length, at + field, pseudoSum);
  return bytes;
}

export function segment(fields: Partial<TcpSegment> = {}): TcpSegment {
  return Object.assign(new TcpSegment(), { sourcePort: 40_000, destinationPort: 443 }, fields);
}

export function tcpPacket(
  header: TcpSegment,
  payload: Uint8Array = new Uint8Array(0),
  parts: PacketParts = {},
): Uint8Array {
  const bytes = new Uint8Array(tcpHeaderSize(header) + payload.length);
  bytes.set(payload, writeTcpHeader(header, bytes, 0));
  return transportPacket(IpProtocol.TCP, bytes, 16, parts);
}

export function udpPacket(payload: Uint8Array, parts: PacketParts = {}): Uint8Array {
  const bytes = new Uint8Array(8 + payload.length);
  const { source = CLIENT4, destination = SERVER4 } = parts;
  writeUdpHeader(bytes, 0, source.port, destination.port, payload.length);
  bytes.set(payload, 8);
  return transportPacket(IpProtocol.UDP, bytes, 6, parts);
}

export const IPV6: PacketParts = { source: CLIENT6, destination: SERVER6 };

/** The record of a packet that must be valid. */
export function parsed(bytes: Uint8Array, start = 0, end = bytes.length): IpPacket {
  const packet = new IpPacket();
  assert.equal(readIpPacket(bytes, start, end, packet), undefined);
  return packet;
}

export const ipFault = (bytes: Uint8Array, end = bytes.length): IpFault | undefined =>
  readIpPacket(bytes, 0, end, new IpPacket());

/** Makes the checksum of an IPv4 header right again. */
export function repairIPv4Checksum(bytes: Uint8Array): Uint8Array {
  bytes[10] = bytes[11] = 0;
  const checksum = complement(sumOf(bytes, 0, ((bytes[0] ?? 0) & 15) * 4));
  bytes[10] = checksum >> 8;
  bytes[11] = checksum;
  return bytes;
}

/** Bytes that differ from their neighbours. */
export const pattern = (size: number, seed = 0): Uint8Array =>
  new Uint8Array(size).map((_, at) => at * 7 + (at >> 8) * 13 + seed);

/** Bytes that headers do not have by themselves, before, after and below what is written. */
const OTHER_BYTE = 0xa5;

/** A copy of `bytes` in memory that goes on before and after them. */
export function amid(bytes: Uint8Array, before: number, after: Uint8Array | number): Uint8Array {
  const tail = typeof after === 'number' ? new Uint8Array(after).fill(OTHER_BYTE) : after;
  const memory = new Uint8Array(before + bytes.length + tail.length).fill(OTHER_BYTE);
  memory.set(bytes, before);
  memory.set(tail, before + bytes.length);
  return memory;
}

/** What `write` writes at an offset of used memory; it must leave all other bytes alone. */
export function writtenOver(
  size: number,
  write: (bytes: Uint8Array, at: number) => unknown,
): string {
  const before = 13;
  const memory = amid(new Uint8Array(size).fill(OTHER_BYTE), before, 7);
  write(memory, before);
  const around = [...memory.subarray(0, before), ...memory.subarray(before + size)];
  assert.ok(
    around.every((byte) => byte === OTHER_BYTE),
    'bytes around it are unchanged',
  );
  return Buffer.from(memory.subarray(before, before + size)).toString('hex');
}
