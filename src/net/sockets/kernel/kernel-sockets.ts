import { KernelDatagramSocket } from '../../../platform/sockets/datagrams/kernel-datagram-socket.ts';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import { systemClock } from '../../time/clock.ts';
import type { Sockets } from '../sockets.ts';
import { descriptorHolders } from '../descriptor-holders.ts';
import { AssociationSockets } from './association-sockets.ts';
import { connectKernel, connectNodeSocket } from './kernel-dial.ts';
import { listenKernel } from './kernel-listener.ts';
import { openKernelTun, programRoute } from './kernel-tun.ts';
import { ownAddressQuery } from './own-address-query.ts';
import { KernelUdpLink } from './kernel-udp-link.ts';
import type { LinkWatchdog } from './watchdog.ts';

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
