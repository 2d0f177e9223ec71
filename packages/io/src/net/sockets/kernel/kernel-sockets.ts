import { messageOf } from '@weir/base';
import { type PacketDevice, toEndpoint } from '@weir/base/ip';
import { descriptorHolders } from '../../bounds/shares.ts';
import { isInterfaceAddress } from '../interface-addresses.ts';
import { connectKernel, connectNodeSocket, listenKernel } from './kernel-dial.ts';
import { AssociationSockets, KernelUdpLink } from './kernel-udp-link.ts';
import type { LinkWatchdog } from './watchdog.ts';
import type { ProgramRoute, Sockets, TunEvents } from '../sockets.ts';
import { systemClock } from '../../time/clock.ts';
import { MOST_ROUTES, RESTORE_INTERVAL_MS } from '../../../platform/netlink/kernel-routes.ts';
import { LoopGuard } from '../../../platform/netlink/loop-guard.ts';
import { NetlinkSocket } from '../../../platform/netlink/netlink-socket.ts';
import { usualRoute } from '../../../platform/netlink/route-messages.ts';
import { KernelDatagramSocket } from '../../../platform/sockets/datagrams/kernel-datagram-socket.ts';
import { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import {
  probeSockets,
  type ProbeEnvironment,
  probeEnvironment,
} from '../../../platform/sockets/probe.ts';
import { TunDevice, type TunPlan } from '../../../platform/tun/tun-device.ts';

/**
 * Creates a TUN device. As long as it exists, the sockets of this layer do not send through it; sockets
 * that are already connected continue on the interface that they use.
 * @throws {TunError} with the reason in words.
 * @throws {SystemError} without netlink.
 */
export function openKernelTun(io: KernelIo, plan: TunPlan, events?: TunEvents): PacketDevice {
  const device = TunDevice.open(io, plan);
  try {
    new GuardedTun(io, device, plan, events).start();
  } catch (error) {
    device.close();
    throw error;
  }
  return device;
}

/** Returns the route from a program on this host to an address; see `Sockets`. `none` if it cannot be determined. */
function programRoute(io: KernelIo, host: string): ProgramRoute {
  // A zone names another interface: a TUN device accepts no link-local addresses.
  if (host.includes('%')) return 'uplink';
  const destination = toEndpoint(host, 0);
  const guard = guards.get(io);
  return destination && guard ? guard.programRoute(destination) : 'none';
}

/** A device registered with the guard, whose state is restored when other programs change it. */
class GuardedTun {
  readonly #io: KernelIo;
  readonly #device: TunDevice;
  readonly #plan: TunPlan;
  readonly #events: TunEvents | undefined;
  #guard: LoopGuard | undefined;
  /** Pending from each check of the state until the next one may be made. */
  #timer: { cancel(): void } | undefined;
  #isChanged = false;
  /** The failures to restore state that were last reported, so that each is reported once. */
  #failures = '';

  constructor(io: KernelIo, device: TunDevice, plan: TunPlan, events: TunEvents | undefined) {
    this.#io = io;
    this.#device = device;
    this.#plan = plan;
    this.#events = events;
    void device.closed.then(() => this.#onClosed());
  }

  start(): void {
    const { index } = this.#device;
    const { addresses, routes } = this.#plan;
    const guard = guards.get(this.#io) ?? new LoopGuard(this.#io);
    guards.set(this.#io, guard);
    this.#guard = guard;
    if (!guard.isComplete) this.#events?.onManyRoutes(MOST_ROUTES);
    guard.keepConnected(this.#plan);
    guard.avoid({ index, addresses, routes, onChange: () => this.#onChange() });
    this.#device.configure();
  }

  /** Checks the state, also after changes by this process itself, when there is nothing to restore. */
  #onChange(): void {
    this.#isChanged = true;
    if (this.#timer === undefined) this.#restore();
  }

  #restore(): void {
    this.#isChanged = false;
    this.#timer = this.#io.timers.after(RESTORE_INTERVAL_MS, () => {
      this.#timer = undefined;
      if (this.#isChanged) this.#restore();
    });
    const { name } = this.#device;
    let failures: string;
    try {
      const { index } = this.#device;
      const guard = this.#guard;
      // Before the routes are restored: connections that were opened without them must continue.
      if (guard?.leadsTo(index, this.#plan.routes) === false) guard.keepConnected(this.#plan);
      const result = this.#device.restore();
      if (result.restored.length > 0) this.#events?.onRestored(name, result.restored);
      failures = result.failures.join('; ');
    } catch (error) {
      failures = messageOf(error);
    }
    if (failures !== '' && failures !== this.#failures) this.#events?.onUnrestored(name, failures);
    this.#failures = failures;
    // Retried, even without another change.
    if (failures !== '') this.#isChanged = true;
  }

  #onClosed(): void {
    this.#timer?.cancel();
    const guard = this.#guard;
    guard?.release(this.#device.index);
    if (!guard?.isIdle || guards.get(this.#io) !== guard) return;
    guards.delete(this.#io);
    guard.close();
  }
}

/** One guard for all devices of a socket layer, while there are any. */
const guards = new WeakMap<KernelIo, LoopGuard>();

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
