import { KernelDatagramSocket } from '../../../platform/sockets/datagrams/kernel-datagram-socket.ts';
import { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import { systemClock } from '../../time/clock.ts';
import type { Sockets } from '../sockets.ts';
import { descriptorHolders } from '../descriptor-holders.ts';
import { AssociationSockets } from './association-sockets.ts';
import { connectKernel, connectNodeSocket } from './kernel-dial.ts';
import { listenKernel } from './kernel-listener.ts';
import { openKernelTun, programRoute } from './kernel-tun.ts';
import { KernelUdpLink } from './kernel-udp-link.ts';
import type { LinkWatchdog } from './watchdog.ts';
import { toEndpoint } from '@weir/base/ip';
import { NetlinkSocket } from '../../../platform/netlink/netlink-socket.ts';
import { usualRoute } from '../../../platform/netlink/route-query.ts';
import { isInterfaceAddress } from '../interface-addresses.ts';
import { messageOf } from '@weir/base';
import {
  probeSockets,
  probeEnvironment,
  type ProbeEnvironment,
} from '../../../platform/sockets/probe.ts';

/** Sockets of the kernel, without Node's streams. */
export const kernelSockets = (
  io: KernelIo,
  watchdog?: LinkWatchdog,
  associations = new AssociationSockets(io.room, systemClock),
): Sockets => ({
  kind: 'kernel',
  reason: undefined,
  get descriptorLimit() {
    return io.room.limit;
  },
  takeRoomForDial: () => io.room.takeForDial(),
  hasRoomForFlow(source) {
    // Dials that have begun may have used more descriptors than were free.
    while (!io.room.has(1)) if (!descriptorHolders.makeRoom(source)) return false;
    return true;
  },
  connect: ({ host, port }, options) => connectKernel(io, host, port, { ...options, watchdog }),
  connectSocket: (target, options) => connectNodeSocket(io, target, options),
  listen: async (where, options) => listenKernel(io, where, options, watchdog),
  bindUdp: async (options) => KernelUdpLink.bind(io, options, associations),
  bindDatagrams: async (options, handlers) => new KernelDatagramSocket(io, options, handlers),
  openTun: (plan, events) => openKernelTun(io, plan, events),
  isOwnAddress: ownAddressQuery(io),
  programRoute: (host) => programRoute(io, host),
});

/**
 * Whether an address is one of this host: one netlink query about that address, however many interfaces there are.
 * Without netlink all interfaces are listed.
 */
export function ownAddressQuery(io: KernelIo): (host: string) => boolean {
  let netlink: NetlinkSocket | undefined;
  return (host) => {
    const endpoint = toEndpoint(host, 0);
    if (!endpoint) return false;
    try {
      netlink ??= new NetlinkSocket(io.calls);
      return usualRoute(netlink, endpoint)?.isLocal ?? false;
    } catch {
      return isInterfaceAddress(host);
    }
  };
}

/** The kernel sockets of this thread, or the reason why Node's are used. */
type OpenedIo =
  | { readonly kind: 'kernel'; readonly io: KernelIo; readonly reason?: undefined }
  | { readonly kind: 'node'; readonly io?: undefined; readonly reason: string };

/**
 * Opens the kernel sockets of this thread, once for a process; never throws. The caller
 * closes them, or leaves that to the end of the process.
 */
export function openKernelIo(around: ProbeEnvironment = probeEnvironment()): OpenedIo {
  const probe = probeSockets(around);
  if (probe.kind === 'node') return probe;
  try {
    return { kind: 'kernel', io: new KernelIo(probe.calls, systemClock) };
  } catch (error) {
    return { kind: 'node', reason: messageOf(error) };
  }
}
