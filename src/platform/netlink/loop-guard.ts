import {
  assignEndpoint,
  blankEndpoint,
  isIPv4Endpoint,
  isSameAddress,
  toEndpoint,
  type IpEndpoint,
} from '../../ip/ip-endpoint.ts';
import type { Cidr } from '../../ip/cidr.ts';
import { ANY_DEVICE, NO_DEVICE, type DeviceChoice } from '../sockets/device-choice.ts';
import type { KernelIo } from '../sockets/kernel-io.ts';
import { bindConnected } from '../sockets/open-sockets.ts';
import { FORGET_INTERVAL_MS, FORGOTTEN_AT_ONCE, MOST_REMEMBERED } from './limits.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import { RouteMirror } from './route-mirror.ts';
import { usualRoute, type UsualRoute } from './route-query.ts';
import { networkKey, type RouteLookup } from './kernel-routes.ts';
import { RT_TABLE_MAIN } from './routing-rules.ts';

/** A device of this process, as the guard has to know it. */
export interface AvoidedDevice {
  readonly index: number;
  readonly addresses: readonly Cidr[];
  /** Networks that are, or will be, routed to it, beside those of `addresses`. */
  readonly routes: readonly Cidr[];
  /** Its state, or an address or a route of it, may have changed. */
  readonly onChange: () => void;
}

/** An address and the length of a prefix of it, in numbers. */
interface Subnet {
  readonly address: IpEndpoint;
  readonly prefix: number;
}

interface Avoided {
  readonly device: AvoidedDevice;
  /** The subnets of its addresses, as far as the kernel makes a route for them. */
  readonly subnets: readonly Subnet[];
  readonly addresses: readonly Subnet[];
}

/** Where a device answers queries of local programs. */
const DNS_PORT = 53;

/**
 * Keeps what this process sends out of its own devices.
 *
 * A device's routes may cover every destination, and then the connections that the proxy makes would
 * come back to it. Where the kernel would send by such a device, the best route by any other interface
 * is used instead, and the socket or datagram is bound to that interface. Nothing of this is left
 * in the system: no rule, no mark, no table.
 *
 * A new destination costs one question to the kernel and one search in a table that notifications keep
 * current, whatever the number of interfaces. No call throws: where the kernel does not answer, the
 * table alone decides.
 */
export class LoopGuard implements DeviceChoice {
  readonly #io: KernelIo;
  readonly #netlink: NetlinkSocket;
  readonly #mirror: RouteMirror;
  readonly #avoided = new Map<number, Avoided>();
  readonly #remembered = new Map<string, number>();
  /** Most datagrams go where the one before went. */
  readonly #last = blankEndpoint();
  #lastDevice: number | undefined;
  /** Times that destinations were forgotten, less one for each interval since. */
  #forgotten = 0;
  /** Set while there are such. */
  #interval: { cancel(): void } | undefined;
  /** Whether routes have changed since destinations were forgotten last. */
  #isChanged = false;

  /** Has an effect as long as there are devices to avoid. @throws {SystemError} without netlink. */
  constructor(io: KernelIo) {
    this.#io = io;
    this.#netlink = new NetlinkSocket(io.calls);
    try {
      this.#mirror = new RouteMirror(io, {
        onRoutes: () => this.#onRoutes(),
        onDevice: (index) => this.#avoided.get(index)?.device.onChange(),
        onLoss: () => {
          for (const { device } of this.#avoided.values()) device.onChange();
        },
      });
    } catch (error) {
      this.#netlink.close();
      throw error;
    }
  }

  /** Whether every route of the system is looked at; false where there are too many. */
  get isComplete(): boolean {
    return this.#mirror.isComplete;
  }

  /** Whether no device is avoided. */
  get isIdle(): boolean {
    return this.#avoided.size === 0;
  }

  /** Keeps packets of this process out of an interface. */
  avoid(device: AvoidedDevice): void {
    const addresses = device.addresses.flatMap(toNetwork);
    const subnets = addresses.filter(({ prefix }) => prefix > 0);
    this.#avoided.set(device.index, { device, addresses, subnets });
    this.#forget();
    this.#io.devices = this;
  }

  /** Ends it; the interface is gone. */
  release(index: number): void {
    this.#avoided.delete(index);
    this.#forget();
    if (this.isIdle && this.#io.devices === this) this.#io.devices = undefined;
  }

  /**
   * Binds every connected socket of this process, whichever part of it has opened it, to the interface
   * that it sends by, if the routes of a device would take that over: what is open goes on. To be called
   * before such routes are made.
   */
  keepConnected({ addresses, routes }: Pick<AvoidedDevice, 'addresses' | 'routes'>): void {
    const networks = [...addresses, ...routes].flatMap(toNetwork);
    const devices = new Map<string, number>();
    bindConnected(this.#io, (peer) => {
      const key = keyOf(peer);
      const known = devices.get(key);
      if (known !== undefined) return known;
      const device = this.#present(peer, networks);
      if (devices.size < MOST_REMEMBERED) devices.set(key, device);
      return device;
    });
  }

  /** Whether the main table leads to a device for all of these networks, as far as is known. */
  leadsTo(index: number, routes: readonly Cidr[]): boolean {
    return routes
      .flatMap(toNetwork)
      .every(({ address, prefix }) => this.#mirror.has(RT_TABLE_MAIN, address, prefix, index));
  }

  /** Releases everything. */
  close(): void {
    for (const index of this.#avoided.keys()) this.release(index);
    this.#interval?.cancel();
    this.#mirror[Symbol.dispose]();
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

  answersItself(destination: IpEndpoint): boolean {
    if (destination.port !== DNS_PORT) return false;
    for (const { addresses } of this.#avoided.values()) {
      for (const { address } of addresses) if (isSameAddress(destination, address)) return true;
    }
    return false;
  }

  /** How the kernel sends what programs of this host, but for this process, send to an address. */
  programRoute(destination: IpEndpoint): 'subnet' | 'device' | 'host' | 'uplink' | 'none' {
    const usual = this.#usual(destination);
    if (usual === undefined || usual === 'unknown') return 'none';
    const isAvoided = this.#avoided.has(usual.device);
    if ((isAvoided || usual.isLocal) && this.#isInSubnet(destination)) return 'subnet';
    if (usual.isLocal) return 'host';
    return isAvoided ? 'device' : 'uplink';
  }

  #recall(destination: IpEndpoint): number {
    const key = keyOf(destination);
    const known = this.#remembered.get(key);
    if (known !== undefined) return known;
    const device = this.#choose(destination);
    if (this.#remembered.size >= MOST_REMEMBERED) {
      for (const [oldest] of this.#remembered) {
        this.#remembered.delete(oldest);
        break;
      }
    }
    this.#remembered.set(key, device);
    return device;
  }

  #choose(destination: IpEndpoint): number {
    const usual = this.#usual(destination);
    // Without a route the kernel itself says so, with the reason.
    if (usual === undefined) return ANY_DEVICE;
    if (usual !== 'unknown' && !this.#avoided.has(usual.device)) return ANY_DEVICE;
    const found = this.#other(destination);
    if (found.kind === 'local') return ANY_DEVICE;
    // What is in the subnet of an own device is nowhere else.
    if (this.#isInSubnet(destination) || found.kind !== 'device') return NO_DEVICE;
    return found.device;
  }

  /** The device by which a connected socket sends now, if one of `networks` would change that. */
  #present(peer: IpEndpoint, networks: readonly Subnet[]): number {
    const covering = networks.filter((network) => isWithin(peer, network));
    if (covering.length === 0) return ANY_DEVICE;
    const usual = this.#usual(peer);
    const isAvoided =
      usual === 'unknown' || (usual !== undefined && this.#avoided.has(usual.device));
    if (usual === undefined || (usual !== 'unknown' && usual.isLocal)) return ANY_DEVICE;
    const found = this.#other(peer);
    // A more specific route stays the one that is taken.
    const isKept = found.kind === 'device' && covering.every(({ prefix }) => prefix < found.prefix);
    if (isKept) return ANY_DEVICE;
    if (!isAvoided) return usual.device === 0 ? ANY_DEVICE : usual.device;
    return found.kind === 'device' ? found.device : ANY_DEVICE;
  }

  #usual(destination: IpEndpoint): UsualRoute | 'unknown' | undefined {
    try {
      return usualRoute(this.#netlink, destination);
    } catch {
      // Out of memory, or an answer that was lost twice.
      return 'unknown';
    }
  }

  #other(destination: IpEndpoint): RouteLookup {
    return this.#mirror.find(destination, (device) => !this.#avoided.has(device));
  }

  #isInSubnet(destination: IpEndpoint): boolean {
    for (const { subnets } of this.#avoided.values()) {
      if (subnets.some((subnet) => isWithin(destination, subnet))) return true;
    }
    return false;
  }

  /** Forgets at once, so that the next flow goes the new way; in a flood of changes now and then. */
  #onRoutes(): void {
    if (this.#forgotten >= FORGOTTEN_AT_ONCE) {
      this.#isChanged = true;
      return;
    }
    this.#forgotten++;
    this.#forget();
    this.#interval ??= this.#io.timers.after(FORGET_INTERVAL_MS, this.#onInterval);
  }

  readonly #onInterval = (): void => {
    this.#interval = undefined;
    this.#forgotten--;
    if (this.#isChanged) this.#onRoutes();
    else if (this.#forgotten > 0) {
      this.#interval = this.#io.timers.after(FORGET_INTERVAL_MS, this.#onInterval);
    }
  };

  #forget(): void {
    this.#isChanged = false;
    this.#remembered.clear();
    this.#lastDevice = undefined;
  }
}

const keyOf = ({ a, b, c, d }: IpEndpoint): string => `${a},${b},${c},${d}`;

function toNetwork({ address, prefix }: Cidr): Subnet[] {
  const endpoint = toEndpoint(address, 0);
  return endpoint ? [{ address: endpoint, prefix }] : [];
}

function isWithin(address: IpEndpoint, { address: network, prefix }: Subnet): boolean {
  const isIPv4 = isIPv4Endpoint(network);
  return (
    isIPv4Endpoint(address) === isIPv4 &&
    networkKey(address, prefix, isIPv4) === networkKey(network, prefix, isIPv4)
  );
}
