import type { PacketDevice } from '../../ip/packet-device.ts';
import { LoopGuard } from '../../platform/netlink/loop-guard.ts';
import type { KernelIo } from '../../platform/sockets/kernel-io.ts';
import { TunDevice, type TunPlan } from '../../platform/tun/tun-device.ts';

/**
 * Creates a TUN device, which the sockets of this layer do not send by as long as it lives.
 *
 * @throws {TunError} with the reason in words.
 * @throws {SystemError} without netlink.
 */
export function openKernelTun(io: KernelIo, plan: TunPlan): PacketDevice {
  const device = TunDevice.open(io, plan);
  try {
    guard(io, device);
  } catch (error) {
    device.close();
    throw error;
  }
  return device;
}

function guard(io: KernelIo, device: TunDevice): void {
  const guard = (guards.get(io) ?? new LoopGuard(io)).avoid(device.index);
  guards.set(io, guard);
  void device.closed.then(() => {
    guard.release(device.index);
    if (!guard.isIdle) return;
    guards.delete(io);
    guard.close();
  });
}

/** One for all devices of a socket layer, while there are any. */
const guards = new WeakMap<KernelIo, LoopGuard>();
