import { readFileSync } from 'node:fs';
import type { IpEndpoint } from '@weir/base/ip';
import type { NativeMemory } from '../native-memory.ts';
import { ANY_DEVICE, type DeviceChoice, NO_DEVICE, type SystemCalls } from './bindings.ts';
import {
  ENETUNREACH,
  ENODEV,
  FIONREAD,
  IPPROTO_TCP,
  SIOCOUTQ,
  SOL_SOCKET,
  SO_BINDTOIFINDEX,
  SO_ERROR,
  SO_KEEPALIVE,
  SO_LINGER,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SO_SNDBUF,
  SO_SNDBUFFORCE,
  TCP_INFO,
  TCP_KEEPCNT,
  TCP_KEEPIDLE,
  TCP_KEEPINTVL,
  TCP_NODELAY,
  TCP_USER_TIMEOUT,
} from './linux.ts';

/** The calls, and memory for values of options. */
export interface OptionSpace {
  readonly calls: SystemCalls;
  /** `OPTION_BYTES` long. */
  readonly option: NativeMemory;
}

/** Bytes of `struct tcp_info` that are read, and where the round trips in microseconds are (linux/tcp.h). */
const INFO_BYTES = 152;
const RTT_AT = 68;
const MIN_RTT_AT = 148;
/** The minimum round trip of a connection that has measured none. */
const UNKNOWN_RTT = 0xffff_ffff;
/** Bytes of the longest value that is read, and its length. */
export const OPTION_BYTES = INFO_BYTES + 4;

/** Seconds of silence before the first keep-alive probe. */
const KEEP_ALIVE_SECONDS = 60;
/** Unanswered probes after which the connection ends, as in libuv. */
const KEEP_ALIVE_PROBES = 10;
const KEEP_ALIVE_INTERVAL = 1;

/**
 * Milliseconds without an acknowledgement after which a connection for datagrams ends. Long enough for a brief loss of
 * a radio link: peers see another port once datagrams use a new connection.
 */
const DATAGRAM_SILENCE_MS = 7_000;
/** Seconds of silence after which a connection that carries no data itself is probed by keep-alive. */
const ASSOCIATION_PROBE_SECONDS = 3;

/** Sets an option of type `int`. Returns 0, or -1 with `errno`. */
export function setOption(
  { calls, option }: OptionSpace,
  fd: number,
  level: number,
  name: number,
  value: number,
): number {
  option.words[0] = value;
  return calls.setsockopt(fd, level, name, option.at, 4);
}

/** Returns the value of an option of type `int`; `undefined` on an error. */
export const getOption = (
  space: OptionSpace,
  fd: number,
  level: number,
  name: number,
): number | undefined =>
  readOption(space, fd, level, name, 4) < 0 ? undefined : space.option.bytes.readInt32LE(0);

/**
 * Reads an option into the memory for values.
 * @param size the most bytes that are read, a multiple of 4
 * @returns the bytes that the kernel has for it, at most `size`; -1 on an error
 */
export function readOption(
  { calls, option }: OptionSpace,
  fd: number,
  level: number,
  name: number,
  size: number,
): number {
  // The length, a `socklen_t`, follows the value.
  option.words[size / 4] = size;
  if (calls.getsockopt(fd, level, name, option.at, option.at + size) !== 0) return -1;
  return option.words[size / 4] ?? 0;
}

/**
 * Returns the shortest round trip of a TCP connection in microseconds, that of the handshake included, and the smoothed
 * one of what was sent; `undefined` while there is none.
 */
export function roundTrips(
  space: OptionSpace,
  fd: number,
): { readonly shortest: number; readonly smoothed: number } | undefined {
  // Kernels before 4.6 have a shorter structure.
  if (readOption(space, fd, IPPROTO_TCP, TCP_INFO, INFO_BYTES) < INFO_BYTES) return undefined;
  const { bytes } = space.option;
  const shortest = bytes.readUInt32LE(MIN_RTT_AT);
  if (shortest === UNKNOWN_RTT) return undefined;
  return { shortest, smoothed: bytes.readUInt32LE(RTT_AT) };
}

/**
 * Requests a buffer of `bytes` for a direction: beyond the system's limit if the process has CAP_NET_ADMIN, otherwise
 * up to the limit. On an error the default is kept.
 */
export function setBufferSize(
  space: OptionSpace,
  fd: number,
  direction: 'receive' | 'send',
  bytes: number,
): void {
  const [force, ask] =
    direction === 'receive' ? [SO_RCVBUFFORCE, SO_RCVBUF] : [SO_SNDBUFFORCE, SO_SNDBUF];
  if (setOption(space, fd, SOL_SOCKET, force, bytes) === 0) return;
  setOption(space, fd, SOL_SOCKET, ask, bytes);
}

/** Returns and clears the pending error of a socket; 0 for none. */
export const takeError = (io: OptionSpace, fd: number): number =>
  getOption(io, fd, SOL_SOCKET, SO_ERROR) ?? 0;

/** Makes close reset a TCP connection, even with unsent data (socket(7)). */
export function setZeroLinger({ calls, option }: OptionSpace, fd: number): void {
  // struct linger { int on; int seconds; }
  option.words[0] = 1;
  option.words[1] = 0;
  calls.setsockopt(fd, SOL_SOCKET, SO_LINGER, option.at, 8);
}

/** Returns the number of bytes in the receive queue. */
export const unreadBytes = (space: OptionSpace, fd: number): number =>
  queuedBytes(space, fd, FIONREAD);

/**
 * Returns the number of bytes of a TCP connection that its peer has not acknowledged; the end of the stream counts as
 * one.
 */
export const unacknowledgedBytes = (space: OptionSpace, fd: number): number =>
  queuedBytes(space, fd, SIOCOUTQ);

const queuedBytes = ({ calls, option }: OptionSpace, fd: number, queue: number): number =>
  calls.ioctl(fd, queue, option.at) === 0 ? option.bytes.readInt32LE(0) : 0;

/**
 * Sets the options of every TCP connection: no delay for small segments, and keep-alive. Accepted connections inherit
 * them from the listener.
 *
 * No TCP_USER_TIMEOUT: it would also end a connection whose live peer keeps its window closed for that time (tcp(7)),
 * such as a client that pauses a download; flows have no such limit.
 */
export function setTcpOptions(io: OptionSpace, fd: number): void {
  setOption(io, fd, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(io, fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(io, fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_ALIVE_SECONDS);
  setOption(io, fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_ALIVE_INTERVAL);
  setOption(io, fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_ALIVE_PROBES);
}

/**
 * Makes the kernel end a connection soon after its path has failed, for instance with its local address. Datagrams
 * would otherwise be written to it for a quarter of an hour (tcp_retries2) and be lost, while those on a new connection
 * arrive. A peer that does not read for that time loses its connection as well.
 * @param isSilent whether no data is sent on the connection that could be acknowledged.
 */
export function setDatagramOptions(io: OptionSpace, fd: number, isSilent: boolean): void {
  setOption(io, fd, IPPROTO_TCP, TCP_USER_TIMEOUT, DATAGRAM_SILENCE_MS);
  if (isSilent) setOption(io, fd, IPPROTO_TCP, TCP_KEEPIDLE, ASSOCIATION_PROBE_SECONDS);
}

/**
 * Binds a socket to the device through which it must send, unless the kernel may choose.
 * @param destination `undefined` if only the kernel can interpret it, such as one with a zone.
 * @returns 0 or an error number: ENETUNREACH if there is no such device, or this process itself serves that address.
 */
export function bindToDevice(
  io: OptionSpace & { readonly devices: DeviceChoice | undefined },
  fd: number,
  destination: IpEndpoint | undefined,
): number {
  if (!io.devices || !destination) return 0;
  if (io.devices.answersItself(destination)) return ENETUNREACH;
  const device = io.devices.deviceFor(destination);
  if (device === NO_DEVICE) return ENETUNREACH;
  if (device === ANY_DEVICE || setOption(io, fd, SOL_SOCKET, SO_BINDTOIFINDEX, device) === 0) {
    return 0;
  }
  const error = io.calls.errno();
  // The device has just been removed.
  return error === ENODEV ? ENETUNREACH : error;
}

/** Returns a number that the system is set to; `undefined` where its file cannot be read, as in some containers. */
export function kernelSetting(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'latin1'));
  } catch {
    return undefined;
  }
}
