import { readdirSync } from 'node:fs';
import { blankEndpoint, type IpEndpoint, type MutableIpEndpoint } from '../../ip/ip-endpoint.ts';
import { ANY_DEVICE } from './device-choice.ts';
import type { KernelIo } from './kernel-io.ts';
import { AF_INET, AF_INET6, EINVAL, SOL_SOCKET, SO_BINDTOIFINDEX, SO_PEERNAME } from './linux.ts';
import { getEndpoint } from './sockaddr.ts';
import { getOption, setOption } from './socket-options.ts';

/** The directory of this thread's descriptors (proc(5)). */
const DESCRIPTORS = '/proc/self/fd';
/** Descriptors that are tried without that directory; about 20 ms. */
const MOST_TRIED = 65_536;
const IN_LENGTH = 16;
const IN6_LENGTH = 28;

type OpenSocketsIo = Pick<KernelIo, 'calls' | 'option' | 'scratch'>;

/**
 * Binds the sockets of this process that are connected, or connecting, to devices: those of Node and of
 * the C library as well, of which no other part of the program knows the descriptors. A socket that is
 * bound already stays as it is.
 *
 * @param deviceFor the index of an interface for a peer, or ANY_DEVICE. It must not throw.
 */
export function bindConnected(io: OpenSocketsIo, deviceFor: (peer: IpEndpoint) => number): void {
  const peer = blankEndpoint();
  const { debug } = io.calls;
  const known = debug && new Set(debug.open());
  for (const fd of openDescriptors()) {
    // The debug mode has to know whose descriptor is used.
    const isForeign = debug !== undefined && known?.has(fd) === false;
    if (isForeign) debug.adopt(fd);
    try {
      // One call for each that an earlier pass has bound.
      if (!isUnbound(io, fd) || !readPeer(io, fd, peer)) continue;
      const device = deviceFor(peer);
      if (device > ANY_DEVICE) setOption(io, fd, SOL_SOCKET, SO_BINDTOIFINDEX, device);
    } finally {
      if (isForeign) debug.disown(fd);
    }
  }
}

/** Where there is no /proc, all numbers up to a bound: most of them are refused by the kernel. */
function openDescriptors(): Iterable<number> {
  try {
    return readdirSync(DESCRIPTORS).map(Number);
  } catch {
    return Array.from({ length: MOST_TRIED }, (_, fd) => fd);
  }
}

/** Whether it is a socket that sends by any device. */
const isUnbound = (io: OpenSocketsIo, fd: number): boolean =>
  getOption(io, fd, SOL_SOCKET, SO_BINDTOIFINDEX) === 0;

/** The peer of a socket that has one, or is about to: `getpeername` has none for the latter. */
function readPeer({ calls, scratch }: OpenSocketsIo, fd: number, peer: MutableIpEndpoint): boolean {
  const { words, at } = scratch;
  const lengthAt = at + IN6_LENGTH;
  const read = (length: number): boolean => {
    words[IN6_LENGTH / 4] = length;
    return calls.getsockopt(fd, SOL_SOCKET, SO_PEERNAME, at, lengthAt) === 0;
  };
  // The kernel refuses to write more than the address has.
  if (!read(IN6_LENGTH) && (calls.errno() !== EINVAL || !read(IN_LENGTH))) return false;
  const family = (words[0] ?? 0) & 0xffff;
  if (family !== AF_INET && family !== AF_INET6) return false;
  return getEndpoint(words, 0, peer) && peer.port !== 0 && peer.scope === 0;
}
