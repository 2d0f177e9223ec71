import {
  type Ecn,
  type IpEndpoint,
  isIPv4Endpoint,
  MAPPED,
  type MutableIpEndpoint,
  type Transmit,
  type UnreachablePart,
} from '@weir/base/ip';
import { type NativeMemory, putWord64, swapBytes } from '../../native-memory.ts';
import type { SystemCalls } from '../bindings.ts';
import {
  IP_PKTINFO,
  IP_RECVERR,
  IP_TOS,
  IPPROTO_IP,
  IPPROTO_IPV6,
  IPV6_PKTINFO,
  IPV6_RECVERR,
  IPV6_TCLASS,
  SO_EE_ORIGIN_ICMP,
  SO_EE_ORIGIN_ICMP6,
  SO_RXQ_OVFL,
  SOL_SOCKET,
  SOL_UDP,
  UDP_GRO,
  UDP_SEGMENT,
} from '../linux.ts';

/** Bytes for the control messages of one datagram, in either direction. */
export const CONTROL_LENGTH = 128;

/** `struct cmsghdr`: size_t length, int level, int type; then the data, aligned to 8 bytes. */
const HEADER = 16;
const HEADER_WORDS = HEADER / 4;
/** `struct in_pktinfo`: interface, the address to send from, the address in the header. */
const IN_PKTINFO_LENGTH = 12;
/** `struct in6_pktinfo`: the address, interface. */
const IN6_PKTINFO_LENGTH = 20;

/** Returns the size in bytes of a control message with `length` bytes of data. */
const spaceOf = (length: number): number => (HEADER + length + 7) & ~7;

/**
 * Writes the control messages of a transmit.
 * @param start the index of their first word, aligned to eight bytes.
 * @param segmentSize bytes of each datagram in the message; 0 for a single one.
 * @param fromIPv6 whether the socket is an IPv6 one.
 * @param device index of the interface to send through; 0 to follow the routes.
 * @returns their length in bytes; may be 0.
 */
export function putControl(
  words: Uint32Array,
  start: number,
  { destination, source, ecn }: Transmit,
  segmentSize: number,
  fromIPv6: boolean,
  device = 0,
): number {
  let at = start;
  if (segmentSize > 0) {
    words[putHeader(words, at, SOL_UDP, UDP_SEGMENT, 2)] = segmentSize;
    at += spaceOf(2) / 4;
  }
  const isBound = source !== undefined || device !== 0;
  if (isBound && fromIPv6) {
    const data = putHeader(words, at, IPPROTO_IPV6, IPV6_PKTINFO, IN6_PKTINFO_LENGTH);
    words[data] = swapBytes(source?.a ?? 0);
    words[data + 1] = swapBytes(source?.b ?? 0);
    // For an IPv4 peer the address must be mapped, even if it is unspecified.
    words[data + 2] = swapBytes(source?.c ?? (isIPv4Endpoint(destination) ? MAPPED : 0));
    words[data + 3] = swapBytes(source?.d ?? 0);
    words[data + 4] = device || (source?.scope ?? 0);
    at += spaceOf(IN6_PKTINFO_LENGTH) / 4;
  } else if (isBound) {
    const data = putHeader(words, at, IPPROTO_IP, IP_PKTINFO, IN_PKTINFO_LENGTH);
    words[data] = device;
    words[data + 1] = swapBytes(source?.d ?? 0);
    at += spaceOf(IN_PKTINFO_LENGTH) / 4;
  }
  if (ecn !== 0) {
    const data = isIPv4Endpoint(destination)
      ? putHeader(words, at, IPPROTO_IP, IP_TOS, 4)
      : putHeader(words, at, IPPROTO_IPV6, IPV6_TCLASS, 4);
    words[data] = ecn;
    at += spaceOf(4) / 4;
  }
  return (at - start) * 4;
}

/** Writes the header of a message with zeroed data; returns the index of the data's first word. */
function putHeader(
  words: Uint32Array,
  at: number,
  level: number,
  type: number,
  length: number,
): number {
  words.fill(0, at, at + spaceOf(length) / 4);
  words[at] = HEADER + length;
  words[at + 2] = level;
  words[at + 3] = type;
  return at + HEADER_WORDS;
}

/** Control data of a received datagram; the record is reused. */
export interface ReceiveControl {
  /** Bytes of each datagram in the buffer; 0 for a single one. */
  stride: number;
  ecn: Ecn;
  /** Whether `own` holds the destination address of the datagram. */
  hasOwn: boolean;
  readonly own: MutableIpEndpoint;
  /**
   * Datagrams dropped from the socket's full queue since it was opened; `undefined` if not
   * reported.
   */
  overflow: number | undefined;
}

/**
 * Reads control messages into `into`. Messages that are truncated or unknown are skipped.
 * @param start the index of their first word.
 * @param length their length in bytes.
 */
export function getControl(
  words: Uint32Array,
  start: number,
  length: number,
  into: ReceiveControl,
): void {
  into.stride = 0;
  into.ecn = 0;
  into.hasOwn = false;
  into.overflow = undefined;
  // Words after the end of the memory read as `undefined`, for which every comparison is false.
  let left = Math.min(length, CONTROL_LENGTH);
  for (let at = start; left >= HEADER;) {
    const size = words[at] as number; // within, as below
    // The length is a size_t, whose upper half is checked as well.
    if (!(size >= HEADER && size <= left) || words[at + 1] !== 0) return;
    getOne(words, at, size - HEADER, into);
    const space = spaceOf(size - HEADER);
    at += space / 4;
    left -= space;
  }
}

function getOne(words: Uint32Array, at: number, room: number, into: ReceiveControl): void {
  const [level, type, data] = [words[at + 2], words[at + 3], at + HEADER_WORDS];
  const first = words[data] as number; // within wherever `room` is checked
  if (level === SOL_UDP && type === UDP_GRO && room >= 4) {
    // The segment size as an int; impossible sizes are ignored.
    if (first <= 0xffff) into.stride = first;
  } else if (level === IPPROTO_IP && type === IP_TOS && room >= 1) into.ecn = (first & 3) as Ecn;
  else if (level === IPPROTO_IPV6 && type === IPV6_TCLASS && room >= 4) {
    into.ecn = (first & 3) as Ecn;
  } else if (level === IPPROTO_IP && type === IP_PKTINFO && room >= IN_PKTINFO_LENGTH) {
    putOwn(into, 0, 0, MAPPED, swapBytes(words[data + 2] as number), 0);
  } else if (level === IPPROTO_IPV6 && type === IPV6_PKTINFO && room >= IN6_PKTINFO_LENGTH) {
    const a = swapBytes(first);
    // Only fe80::/10 addresses are scoped to an interface (RFC 4291 §2.5.6).
    const scope = a >>> 22 === 0xfe80 >>> 6 ? (words[data + 4] as number) : 0;
    const [b, c, d] = [words[data + 1], words[data + 2], words[data + 3]] as [
      number,
      number,
      number,
    ];
    putOwn(into, a, swapBytes(b), swapBytes(c), swapBytes(d), scope);
  } else if (level === SOL_SOCKET && type === SO_RXQ_OVFL && room >= 4) into.overflow = first;
}

function putOwn(
  into: ReceiveControl,
  a: number,
  b: number,
  c: number,
  d: number,
  scope: number,
): void {
  const { own } = into;
  own.a = a;
  own.b = b;
  own.c = c;
  own.d = d;
  own.scope = scope;
  into.hasOwn = true;
}

/** `struct sock_extended_err`: the error number, then bytes of the origin, the type and the code. */
const EXTENDED_ERROR_LENGTH = 16;

/**
 * Returns the error number that ICMP has reported, from a message of the error queue; 0 for any other message.
 * @param start the index of the first word of its control messages.
 * @param length their length in bytes.
 */
export function getReportedError(words: Uint32Array, start: number, length: number): number {
  let left = Math.min(length, CONTROL_LENGTH);
  for (let at = start; left >= HEADER;) {
    const size = words[at] as number; // within, as in `getControl`
    if (!(size >= HEADER && size <= left) || words[at + 1] !== 0) return 0;
    const [level, type, data] = [words[at + 2], words[at + 3], at + HEADER_WORDS];
    const isError =
      (level === IPPROTO_IP && type === IP_RECVERR) ||
      (level === IPPROTO_IPV6 && type === IPV6_RECVERR);
    if (isError && size - HEADER >= EXTENDED_ERROR_LENGTH) {
      const origin = (words[data + 1] as number) & 0xff;
      const isReported = origin === SO_EE_ORIGIN_ICMP || origin === SO_EE_ORIGIN_ICMP6;
      return isReported ? (words[data] as number) : 0;
    }
    const space = spaceOf(size - HEADER);
    at += space / 4;
    left -= space;
  }
  return 0;
}

/** The most messages of one call. */
export const BATCH = 64;

/** `struct mmsghdr` in words: name 0, namelen 2, iov 4, iovlen 6, control 8, controllen 10, flags 12, len 14. */
export const MESSAGE_WORDS = 16;
/** `struct iovec` in words. */
const VECTOR_WORDS = 4;
/** Words for a `sockaddr_in6`, aligned. */
export const NAME_WORDS = 8;
export const CONTROL_WORDS = CONTROL_LENGTH / 4;

/** A socket, as seen by batches. */
export interface BatchSocket {
  readonly fd: number;
  readonly family: number;
  /** Whether an IPv6 socket reaches IPv4 peers. */
  readonly dualStack: boolean;
  /** The local port, for records of received datagrams. */
  readonly port: number;
  /** Whether UDP_SEGMENT is used; cleared permanently by the first error that it causes. */
  segmentation: boolean;
  /** Number of datagrams that the kernel or the batch refused. */
  dropped: number;
  /** The queue overflow counter of the kernel (SO_RXQ_OVFL). */
  overflowed: number;
  /** Called for an unreachable destination; see `DatagramHandlers`. */
  readonly onUnreachable?: ((destination: IpEndpoint, what: UnreachablePart) => void) | undefined;
  /** Whether a call may return the error of an earlier datagram. */
  readonly reportsErrors: boolean;
}

/** Memory for the headers of BATCH messages: names, control messages and vectors. */
export class MessageHeaders {
  readonly names: NativeMemory;
  readonly controls: NativeMemory;
  readonly messages: NativeMemory;
  readonly #vectors: NativeMemory;

  constructor(calls: SystemCalls, vectors: number) {
    this.names = calls.memory(BATCH * NAME_WORDS * 4);
    this.controls = calls.memory(BATCH * CONTROL_LENGTH);
    this.#vectors = calls.memory(vectors * VECTOR_WORDS * 4);
    this.messages = calls.memory(BATCH * MESSAGE_WORDS * 4);
    for (let i = 0; i < BATCH; i++) {
      const message = i * MESSAGE_WORDS;
      const { words } = this.messages;
      putWord64(words, message, this.names.at + i * NAME_WORDS * 4);
      putWord64(words, message + 8, this.controls.at + i * CONTROL_LENGTH);
    }
  }

  /** Sets an `iovec` of payload. */
  setVector(index: number, at: number, length: number): void {
    const { words } = this.#vectors;
    putWord64(words, index * VECTOR_WORDS, at);
    words[index * VECTOR_WORDS + 2] = length;
  }

  /** Sets the vectors that hold the payload of a message. */
  setVectors(index: number, first: number, count: number): void {
    const { words } = this.messages;
    putWord64(words, index * MESSAGE_WORDS + 4, this.#vectors.at + first * VECTOR_WORDS * 4);
    words[index * MESSAGE_WORDS + 6] = count;
  }

  /** Resets the lengths of names and control messages, which received messages have overwritten. */
  clear(): void {
    const { words } = this.messages;
    for (let i = 0; i < BATCH; i++) {
      const message = i * MESSAGE_WORDS;
      words[message + 2] = NAME_WORDS * 4;
      words[message + 10] = CONTROL_LENGTH;
      words[message + 12] = 0;
    }
  }
}
