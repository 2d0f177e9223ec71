import { readdirSync } from 'node:fs';
import {
  assignEndpoint,
  blankEndpoint,
  isIPv4Endpoint,
  isSameAddress,
  toEndpoint,
  type IpEndpoint,
  type MutableIpEndpoint,
  type Cidr,
} from '@weir/base/ip';
import { ANY_DEVICE, NO_DEVICE, type DeviceChoice } from '../sockets/bindings.ts';
import type { KernelIo } from '../sockets/kernel-io.ts';
import {
  FORGET_INTERVAL_MS,
  FORGOTTEN_AT_ONCE,
  MOST_REMEMBERED,
  networkKey,
  type RouteLookup,
} from './kernel-routes.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import { RouteMirror } from './route-mirror.ts';
import { RT_TABLE_MAIN, type UsualRoute, usualRoute } from './route-messages.ts';
import {
  AF_INET,
  AF_INET6,
  EINVAL,
  SOL_SOCKET,
  SO_BINDTOIFINDEX,
  SO_PEERNAME,
} from '../sockets/linux.ts';
import { getEndpoint } from '../sockets/sockaddr.ts';
import { getOption, setOption } from '../sockets/socket-options.ts';

/** A device of this process that the guard must avoid. */
interface AvoidedDevice {
  readonly index: number;
  readonly addresses: readonly Cidr[];
  /** Networks that are, or will be, routed to the device, in addition to those of `addresses`. */
  readonly routes: readonly Cidr[];
  /** Called when the device's state, an address or a route of it may have changed. */
  readonly onChange: () => void;
}

/** An address and a prefix length, as numbers. */
interface Subnet {
  readonly address: IpEndpoint;
  readonly prefix: number;
}

interface Avoided {
  readonly device: AvoidedDevice;
  /** The subnets of the device's addresses for which the kernel creates a route. */
  readonly subnets: readonly Subnet[];
  readonly addresses: readonly Subnet[];
}

/** The port at which a device answers queries of local programs. */
const DNS_PORT = 53;

/**
 * Keeps traffic of this process out of its own devices.
 *
 * A device's routes may cover every destination; then connections of the proxy itself would return
 * to it. If the kernel would route through such a device, the socket or datagram is bound to the
 * interface of the best other route. Nothing is changed in the system: no rule, no mark, no table.
 *
 * A new destination costs one query of the kernel and one search in a table that is kept current by
 * notifications, whatever the number of interfaces. No call throws: if the kernel does not reply,
 * only the table is used.
 */
export class LoopGuard implements DeviceChoice {
  readonly #io: KernelIo;
  readonly #netlink: NetlinkSocket;
  readonly #mirror: RouteMirror;
  readonly #avoided = new Map<number, Avoided>();
  readonly #remembered = new Map<string, number>();
  /** The last destination: most datagrams go to the same one as before. */
  readonly #last = blankEndpoint();
  #lastDevice: number | undefined;
  /** Recent flushes of the cache, decremented once per interval. */
  #forgotten = 0;
  /** The timer that decrements `#forgotten`. */
  #interval: { cancel(): void } | undefined;
  /** Whether routes have changed since the last flush. */
  #isChanged = false;

  /** Effective while there are devices to avoid. @throws {SystemError} without netlink. */
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

  /** Whether all routes of the system are known; false if there are too many. */
  get isComplete(): boolean {
    return this.#mirror.isComplete;
  }

  /** Whether no device is avoided. */
  get isIdle(): boolean {
    return this.#avoided.size === 0;
  }

  /** Starts avoiding a device. */
  avoid(device: AvoidedDevice): void {
    const addresses = device.addresses.flatMap(toNetwork);
    const subnets = addresses.filter(({ prefix }) => prefix > 0);
    this.#avoided.set(device.index, { device, addresses, subnets });
    this.#forget();
    this.#io.devices = this;
  }

  /** Stops avoiding a device that was removed. */
  release(index: number): void {
    this.#avoided.delete(index);
    this.#forget();
    if (this.isIdle && this.#io.devices === this) this.#io.devices = undefined;
  }

  /**
   * Binds every connected socket of this process, including those of Node and the C library, to its
   * current interface if the routes of a device would redirect it, so that open connections
   * continue. Call it before such routes are created.
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

  /** Whether the main table, as far as is known, routes all these networks to a device. */
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
    // A scoped address determines its interface.
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

  /** Returns how the kernel routes packets of other programs of this host to an address. */
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
    // Without a route the kernel reports the error itself.
    if (usual === undefined) return ANY_DEVICE;
    if (usual !== 'unknown' && !this.#avoided.has(usual.device)) return ANY_DEVICE;
    const found = this.#other(destination);
    if (found.kind === 'local') return ANY_DEVICE;
    // A subnet of an own device is not reachable by other interfaces.
    if (this.#isInSubnet(destination) || found.kind !== 'device') return NO_DEVICE;
    return found.device;
  }

  /** Returns the current device of a connected socket, if a route to one of `networks` would change it. */
  #present(peer: IpEndpoint, networks: readonly Subnet[]): number {
    const covering = networks.filter((network) => isWithin(peer, network));
    if (covering.length === 0) return ANY_DEVICE;
    const usual = this.#usual(peer);
    const isAvoided =
      usual === 'unknown' || (usual !== undefined && this.#avoided.has(usual.device));
    if (usual === undefined || (usual !== 'unknown' && usual.isLocal)) return ANY_DEVICE;
    const found = this.#other(peer);
    // A more specific route remains in use.
    const isKept = found.kind === 'device' && covering.every(({ prefix }) => prefix < found.prefix);
    if (isKept) return ANY_DEVICE;
    if (!isAvoided) return usual.device === 0 ? ANY_DEVICE : usual.device;
    return found.kind === 'device' ? found.device : ANY_DEVICE;
  }

  #usual(destination: IpEndpoint): UsualRoute | 'unknown' | undefined {
    try {
      return usualRoute(this.#netlink, destination);
    } catch {
      // Out of memory, or the reply was lost twice.
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

  /**
   * Flushes the cache immediately, so that the next flow uses the new routes; in a flood of
   * changes, only periodically.
   */
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
