import { messageOf } from '../../../errors.ts';
import type { PacketDevice } from '../../../ip/packet-device.ts';
import { MOST_ROUTES, RESTORE_INTERVAL_MS } from '../../../platform/netlink/limits.ts';
import { LoopGuard } from '../../../platform/netlink/loop-guard.ts';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import { TunDevice, type TunDevicePlan } from '../../../platform/tun/tun-device.ts';
import { toEndpoint } from '../../../ip/ip-endpoint.ts';
import type { ProgramRoute, TunEvents } from '../sockets.ts';

/**
 * Creates a TUN device, which the sockets of this layer do not send by as long as it lives. What is
 * connected already goes on by the interface that it uses.
 *
 * @throws {TunError} with the reason in words.
 * @throws {SystemError} without netlink.
 */
export function openKernelTun(io: KernelIo, plan: TunDevicePlan, events?: TunEvents): PacketDevice {
  const device = TunDevice.open(io, plan);
  try {
    new GuardedTun(io, device, plan, events).start();
  } catch (error) {
    device.close();
    throw error;
  }
  return device;
}

/** See `Sockets`. What cannot be found out is `none`. */
export function programRoute(io: KernelIo, host: string): ProgramRoute {
  // The interface that a zone names is another one: a device takes no link-local addresses.
  if (host.includes('%')) return 'uplink';
  const destination = toEndpoint(host, 0);
  const guard = guards.get(io);
  return destination && guard ? guard.programRoute(destination) : 'none';
}

/** A device that the guard knows, and that keeps its state whatever other programs do to it. */
class GuardedTun {
  readonly #io: KernelIo;
  readonly #device: TunDevice;
  readonly #plan: TunDevicePlan;
  readonly #events: TunEvents | undefined;
  #guard: LoopGuard | undefined;
  /** Set while the state is to be looked at, or was a moment ago. */
  #timer: { cancel(): void } | undefined;
  #isChanged = false;
  /** What could not be restored, so that it is reported once. */
  #failures = '';

  constructor(io: KernelIo, device: TunDevice, plan: TunDevicePlan, events: TunEvents | undefined) {
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

  /** The changes of this process are among them: they are found to be in place. */
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
      // Before the routes: what was opened without them goes on, too.
      if (guard?.leadsTo(index, this.#plan.routes) === false) guard.keepConnected(this.#plan);
      const result = this.#device.restore();
      if (result.restored.length > 0) this.#events?.onRestored(name, result.restored);
      failures = result.failures.join('; ');
    } catch (error) {
      failures = messageOf(error);
    }
    if (failures !== '' && failures !== this.#failures) this.#events?.onUnrestored(name, failures);
    this.#failures = failures;
    // Looked at again, whether or not there is another change.
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

/** One for all devices of a socket layer, while there are any. */
const guards = new WeakMap<KernelIo, LoopGuard>();
