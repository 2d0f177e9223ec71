import {
  assignEndpoint,
  blankEndpoint,
  isSameAddress,
  type IpEndpoint,
} from '../../ip/ip-endpoint.ts';
import { ANY_DEVICE, NO_DEVICE, type DeviceChoice } from '../sockets/device-choice.ts';
import type { KernelIo } from '../sockets/kernel-io.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import { findRoute, upInterfaces, type FoundRoute } from './route-query.ts';
import { RouteWatch } from './route-watch.ts';

/** Destinations whose device is remembered; at the limit all are forgotten, and found anew. */
const REMEMBERED = 4096;

/**
 * Keeps what this process sends out of its own devices.
 *
 * A device's routes may cover every destination, and then the connections that the proxy makes would
 * come back to it. Where the kernel would send by such a device, the best route by any other interface
 * is looked for instead, and the socket or datagram is bound to that interface. Nothing of this is left
 * in the system: no rule, no mark, no table.
 */
export class LoopGuard implements DeviceChoice {
  readonly #io: KernelIo;
  readonly #netlink: NetlinkSocket;
  readonly #watch: RouteWatch;
  readonly #avoided = new Set<number>();
  readonly #remembered = new Map<string, number>();
  #interfaces: readonly number[] | undefined;
  /** Most datagrams go where the one before went. */
  readonly #last = blankEndpoint();
  #lastDevice: number | undefined;

  /** Has an effect as long as there are devices to avoid. @throws {SystemError} without netlink. */
  constructor(io: KernelIo) {
    this.#io = io;
    this.#netlink = new NetlinkSocket(io.calls);
    try {
      this.#watch = new RouteWatch(io, () => this.#forget());
    } catch (error) {
      this.#netlink.close();
      throw error;
    }
  }

  /** Whether any device is avoided. */
  get isIdle(): boolean {
    return this.#avoided.size === 0;
  }

  /** Keeps packets of this process out of an interface. */
  avoid(device: number): this {
    this.#avoided.add(device);
    this.#forget();
    this.#io.devices = this;
    return this;
  }

  /** Ends it; the interface is gone. */
  release(device: number): void {
    this.#avoided.delete(device);
    this.#forget();
    if (this.isIdle && this.#io.devices === this) this.#io.devices = undefined;
  }

  /** Releases everything. */
  close(): void {
    for (const device of this.#avoided) this.release(device);
    this.#watch[Symbol.dispose]();
    this.#netlink.close();
  }

  deviceFor(destination: IpEndpoint): number {
    // The address of an interface says by itself where to.
    if (destination.scope !== 0) return ANY_DEVICE;
    if (this.#lastDevice !== undefined && isSameAddress(destination, this.#last)) {
      return this.#lastDevice;
    }
    assignEndpoint(this.#last, destination);
    return (this.#lastDevice = this.#recall(destination));
  }

  #recall(destination: IpEndpoint): number {
    const { a, b, c, d } = destination;
    const key = `${a},${b},${c},${d}`;
    const known = this.#remembered.get(key);
    if (known !== undefined) return known;
    const device = this.#choose(destination);
    if (this.#remembered.size >= REMEMBERED) this.#remembered.clear();
    this.#remembered.set(key, device);
    return device;
  }

  #choose(destination: IpEndpoint): number {
    const usual = findRoute(this.#netlink, destination);
    // Without a route the kernel itself says so, with the reason.
    if (!usual || !this.#avoided.has(usual.device)) return ANY_DEVICE;
    let best: FoundRoute | undefined;
    for (const device of (this.#interfaces ??= upInterfaces(this.#netlink))) {
      if (this.#avoided.has(device)) continue;
      const route = findRoute(this.#netlink, destination, device);
      if (route && (!best || isBetter(route, best))) best = { ...route, device };
    }
    return best ? best.device : NO_DEVICE;
  }

  #forget(): void {
    this.#remembered.clear();
    this.#interfaces = undefined;
    this.#lastDevice = undefined;
  }
}

const isBetter = (one: FoundRoute, other: FoundRoute): boolean =>
  one.prefix === other.prefix ? one.metric < other.metric : one.prefix > other.prefix;
