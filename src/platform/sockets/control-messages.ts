import {
  isMappedIPv4,
  formatIPv4,
  formatIPv6,
  putIPv4,
  putIPv6,
  putMappedIPv4,
  textFamily,
} from './ip-text.ts';
import {
  IPPROTO_IP,
  IPPROTO_IPV6,
  IPV6_PKTINFO,
  IPV6_TCLASS,
  IP_PKTINFO,
  IP_TOS,
  SOL_SOCKET,
  SOL_UDP,
  SO_RXQ_OVFL,
  UDP_GRO,
  UDP_SEGMENT,
} from './linux.ts';

/** Room for the control messages of one datagram, either way. */
export const CONTROL_LENGTH = 128;

/** `struct cmsghdr`: size_t length, int level, int type; then the data, aligned to 8 bytes. */
const HEADER = 16;
const IN_PKTINFO_LENGTH = 12;
const IN6_PKTINFO_LENGTH = 20;
const align = (length: number): number => (length + 7) & ~7;

/** The two bits of ECN in the traffic class (RFC 3168 §5): 0 not capable, 1, 2 capable, 3 congestion. */
export type Ecn = 0 | 1 | 2 | 3;

/** What is said beside a datagram that is sent. */
export interface SendControl {
  /** Bytes of each datagram in the buffer; 0 for one datagram. */
  readonly segmentSize: number;
  /** The own address that it leaves from; `undefined` leaves the choice to the kernel. */
  readonly source: string | undefined;
  readonly ecn: Ecn;
  /** Whether the destination is an IPv4 address. */
  readonly toIPv4: boolean;
  /** Whether the socket is an IPv6 one. */
  readonly fromIPv6: boolean;
}

/** Writes control messages; their length in bytes, which may be 0. */
export function putControl(
  out: Buffer,
  start: number,
  { segmentSize, source, ecn, toIPv4, fromIPv6 }: SendControl,
): number {
  let at = start;
  const begin = (level: number, type: number, length: number): number => {
    out.fill(0, at, at + align(HEADER + length));
    out.writeUInt32LE(HEADER + length, at);
    out.writeInt32LE(level, at + 8);
    out.writeInt32LE(type, at + 12);
    const data = at + HEADER;
    at += align(HEADER + length);
    return data;
  };
  if (segmentSize > 0) out.writeUInt16LE(segmentSize, begin(SOL_UDP, UDP_SEGMENT, 2));
  if (source !== undefined) {
    const family = textFamily(source);
    if (fromIPv6) {
      const data = begin(IPPROTO_IPV6, IPV6_PKTINFO, IN6_PKTINFO_LENGTH);
      if (family === 4) putMappedIPv4(source, out, data);
      else putIPv6(source.replace(/%.*/, ''), out, data);
    } else {
      // struct in_pktinfo: interface, the address to send from, the address in the header.
      putIPv4(source, out, begin(IPPROTO_IP, IP_PKTINFO, IN_PKTINFO_LENGTH) + 4);
    }
  }
  if (ecn !== 0) {
    const [level, type] = toIPv4 ? [IPPROTO_IP, IP_TOS] : [IPPROTO_IPV6, IPV6_TCLASS];
    out.writeInt32LE(ecn, begin(level, type, 4));
  }
  return at - start;
}

/** What the kernel says beside a datagram that was received. */
export interface ReceiveControl {
  /** Bytes of each datagram in the buffer; 0 for one datagram. */
  stride: number;
  ecn: Ecn;
  /** The own address that it was sent to, in text. */
  own: string | undefined;
  /** Datagrams that the socket's full queue has dropped since it was opened; `undefined`: not said. */
  overflow: number | undefined;
}

/** Reads control messages into `into`. Messages that are cut off or unknown are passed over. */
export function getControl(
  bytes: Buffer,
  start: number,
  length: number,
  into: ReceiveControl,
): void {
  into.stride = 0;
  into.ecn = 0;
  into.own = undefined;
  into.overflow = undefined;
  const end = start + Math.min(length, CONTROL_LENGTH);
  for (let at = start; at + HEADER <= end;) {
    const size = bytes.readUInt32LE(at);
    if (size < HEADER || at + size > end) return;
    const data = at + HEADER;
    getOne(bytes, bytes.readInt32LE(at + 8), bytes.readInt32LE(at + 12), data, at + size, into);
    at += align(size);
  }
}

function getOne(
  bytes: Buffer,
  level: number,
  type: number,
  data: number,
  end: number,
  into: ReceiveControl,
): void {
  const room = end - data;
  if (level === SOL_UDP && type === UDP_GRO && room >= 4) into.stride = bytes.readInt32LE(data);
  else if (level === IPPROTO_IP && type === IP_TOS && room >= 1) {
    into.ecn = ((bytes[data] ?? 0) & 3) as Ecn;
  } else if (level === IPPROTO_IPV6 && type === IPV6_TCLASS && room >= 4) {
    into.ecn = (bytes.readInt32LE(data) & 3) as Ecn;
  } else if (level === IPPROTO_IP && type === IP_PKTINFO && room >= IN_PKTINFO_LENGTH) {
    into.own = formatIPv4(bytes, data + 8);
  } else if (level === IPPROTO_IPV6 && type === IPV6_PKTINFO && room >= IN6_PKTINFO_LENGTH) {
    into.own = isMappedIPv4(bytes, data) ? formatIPv4(bytes, data + 12) : formatIPv6(bytes, data);
  } else if (level === SOL_SOCKET && type === SO_RXQ_OVFL && room >= 4) {
    into.overflow = bytes.readUInt32LE(data);
  }
}
