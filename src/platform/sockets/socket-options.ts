import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import { ANY_DEVICE, NO_DEVICE } from './device-choice.ts';
import type { KernelIo } from './kernel-io.ts';
import {
  FIONREAD,
  IPPROTO_TCP,
  SOL_SOCKET,
  SO_BINDTOIFINDEX,
  SO_ERROR,
  SO_KEEPALIVE,
  SO_LINGER,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SO_SNDBUF,
  SO_SNDBUFFORCE,
  TCP_KEEPCNT,
  TCP_KEEPIDLE,
  TCP_KEEPINTVL,
  TCP_NODELAY,
} from './linux.ts';

type OptionSpace = Pick<KernelIo, 'calls' | 'option'>;

/** Silence after which the kernel asks whether the peer is still there, in seconds. */
const KEEP_ALIVE_SECONDS = 60;
/** Probes without an answer that end the connection, and the seconds between them; as libuv's. */
const KEEP_ALIVE_PROBES = 10;
const KEEP_ALIVE_INTERVAL = 1;

/** Sets an option of type `int`. 0, or -1 with `errno`. */
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

/** The value of an option of type `int`; `undefined` when the kernel does not say. */
export function getOption(
  { calls, option }: OptionSpace,
  fd: number,
  level: number,
  name: number,
): number | undefined {
  option.words[2] = 4;
  const result = calls.getsockopt(fd, level, name, option.at, option.at + 8);
  return result === 0 ? option.bytes.readInt32LE(0) : undefined;
}

/**
 * Asks for room for `bytes` in a direction: beyond the limit of the system where the process may
 * do that (CAP_NET_ADMIN), else up to it. A kernel that refuses keeps its default.
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

/** The error that a socket holds, which is cleared; 0 for none. */
export const takeError = (io: OptionSpace, fd: number): number =>
  getOption(io, fd, SOL_SOCKET, SO_ERROR) ?? 0;

/** Makes the closing of a TCP connection a reset, whatever is still to be sent (socket(7)). */
export function setZeroLinger({ calls, option }: OptionSpace, fd: number): void {
  // struct linger { int on; int seconds; }
  option.words[0] = 1;
  option.words[1] = 0;
  calls.setsockopt(fd, SOL_SOCKET, SO_LINGER, option.at, 8);
}

/** Bytes that wait in the receive queue. */
export function unreadBytes({ calls, option }: OptionSpace, fd: number): number {
  return calls.ioctl(fd, FIONREAD, option.at) === 0 ? option.bytes.readInt32LE(0) : 0;
}

/**
 * What every TCP connection has: no delay for small segments, and keep-alive. Set on a listener,
 * accepted connections inherit it.
 *
 * No TCP_USER_TIMEOUT: it also ends a connection whose peer is alive and keeps its window closed for
 * so long (tcp(7)), which a client that pauses a download does, and no flow has such a limit.
 */
export function setTcpOptions(io: OptionSpace, fd: number): void {
  setOption(io, fd, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(io, fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(io, fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_ALIVE_SECONDS);
  setOption(io, fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_ALIVE_INTERVAL);
  setOption(io, fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_ALIVE_PROBES);
}

/**
 * Binds a socket to the device that it has to send by, if the kernel is not to choose.
 *
 * @param destination `undefined` for one that is known to the kernel alone, such as one with a zone.
 * @returns false when there is no device for it, or this process itself would answer there.
 */
export function bindToDevice(
  io: OptionSpace & Pick<KernelIo, 'devices'>,
  fd: number,
  destination: IpEndpoint | undefined,
): boolean {
  if (!io.devices || !destination) return true;
  if (io.devices.answersItself(destination)) return false;
  const device = io.devices.deviceFor(destination);
  if (device === NO_DEVICE) return false;
  return device === ANY_DEVICE || setOption(io, fd, SOL_SOCKET, SO_BINDTOIFINDEX, device) === 0;
}
