import { messageOf } from '@weir/base';
import { type PacketDevice, toEndpoint } from '@weir/base/ip';
import { MOST_ROUTES, RESTORE_INTERVAL_MS } from '../../../platform/netlink/limits.ts';
import { LoopGuard } from '../../../platform/netlink/loop-guard.ts';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import { TunDevice, type TunPlan } from '../../../platform/tun/tun-device.ts';
import type { ProgramRoute, TunEvents } from '../sockets.ts';

/**
 * Creates a TUN device. As long as it exists, the sockets of this layer do not send through it; sockets
 * that are already connected continue on the interface that they use.
 *
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
export function programRoute(io: KernelIo, host: string): ProgramRoute {
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
