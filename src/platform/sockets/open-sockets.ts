import { readdirSync } from 'node:fs';
import { blankEndpoint, type IpEndpoint, type MutableIpEndpoint } from '../../ip/ip-endpoint.ts';
import { ANY_DEVICE } from './device-choice.ts';
import type { KernelIo } from './kernel-io.ts';
import { AF_INET, AF_INET6, EINVAL, SOL_SOCKET, SO_BINDTOIFINDEX, SO_PEERNAME } from './linux.ts';
import { getEndpoint } from './sockaddr.ts';
import { getOption, setOption } from './socket-options.ts';

/** The directory of this thread's descriptors (proc(5)). */
const DESCRIPTORS = '/proc/self/fd';
/** The most descriptors to try without that directory; about 20 ms. */
const MOST_TRIED = 65_536;
const IN_LENGTH = 16;
const IN6_LENGTH = 28;

type OpenSocketsIo = Pick<KernelIo, 'calls' | 'option' | 'scratch'>;

/**
 * Binds the connected and connecting sockets of this process to devices, including those of Node
 * and of the C library, whose descriptors are not registered elsewhere. Sockets that are already bound are
 * not changed.
 *
 * @param deviceFor returns the index of an interface for a peer, or ANY_DEVICE; must not throw.
 */
export function bindConnected(io: OpenSocketsIo, deviceFor: (peer: IpEndpoint) => number): void {
  const peer = blankEndpoint();
  const { debug } = io.calls;
  const known = debug && new Set(debug.open());
  for (const fd of openDescriptors()) {
    // The debug mode rejects descriptors that it has not registered.
    const isForeign = debug !== undefined && known?.has(fd) === false;
    if (isForeign) debug.adopt(fd);
    try {
      // A socket bound by an earlier pass costs one call.
      if (!isUnbound(io, fd) || !readPeer(io, fd, peer)) continue;
      const device = deviceFor(peer);
      if (device > ANY_DEVICE) setOption(io, fd, SOL_SOCKET, SO_BINDTOIFINDEX, device);
    } finally {
      if (isForeign) debug.disown(fd);
    }
  }
}

/** Returns the open descriptors; without /proc, all numbers up to a bound, most of which the kernel rejects. */
function openDescriptors(): Iterable<number> {
  try {
    return readdirSync(DESCRIPTORS).map(Number);
  } catch {
    return Array.from({ length: MOST_TRIED }, (_, fd) => fd);
  }
}

/** Whether a descriptor is a socket that is not bound to a device. */
const isUnbound = (io: OpenSocketsIo, fd: number): boolean =>
  getOption(io, fd, SOL_SOCKET, SO_BINDTOIFINDEX) === 0;

/** Reads the peer of a connected or connecting socket; `getpeername` fails for the latter. */
function readPeer({ calls, scratch }: OpenSocketsIo, fd: number, peer: MutableIpEndpoint): boolean {
  const { words, at } = scratch;
  const lengthAt = at + IN6_LENGTH;
  const read = (length: number): boolean => {
    words[IN6_LENGTH / 4] = length;
    return calls.getsockopt(fd, SOL_SOCKET, SO_PEERNAME, at, lengthAt) === 0;
  };
  // The kernel rejects a length beyond that of the address.
  if (!read(IN6_LENGTH) && (calls.errno() !== EINVAL || !read(IN_LENGTH))) return false;
  const family = (words[0] ?? 0) & 0xffff;
  if (family !== AF_INET && family !== AF_INET6) return false;
  return getEndpoint(words, 0, peer) && peer.port !== 0 && peer.scope === 0;
}
