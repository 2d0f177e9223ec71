import { type IpEndpoint, isIPv4Endpoint } from '@weir/base/ip';

/**
 * The most destinations whose device is cached, about 100 bytes each. At the limit the oldest is
 * evicted; its next use costs one query of the kernel.
 */
export const MOST_REMEMBERED = 4096;

/**
 * The most routes of the system that are kept, about 400 bytes each. Routes beyond this number are ignored:
 * their destinations use a shorter prefix, or are unreachable while a device of this process covers
 * them.
 */
export const MOST_ROUTES = 65_536;

/** The most rules of policy routing that are kept per family; further rules are ignored. */
export const MOST_RULES = 1024;

/**
 * Netlink datagrams read per turn of the event loop, each of at most 32 KB, or about 250 routes.
 * The rest follows in the next turn.
 */
export const READS_A_TURN = 16;

/** Bytes of notifications that the kernel queues for this process; further ones are lost (ENOBUFS). */
export const NOTIFICATIONS_KEPT = 1 << 20;

/**
 * Milliseconds between the starts of two dumps of all routes: a flood of changes or errors causes
 * at most one dump in this time.
 */
export const LIST_INTERVAL_MS = 250;

/**
 * Milliseconds between two flushes of cached destinations in a flood of route changes: each
 * destination in use is queried no more often.
 */
export const FORGET_INTERVAL_MS = 200;

/**
 * Flushes without the delay of FORGET_INTERVAL_MS: changes that a person or daemon makes together, or a link that goes
 * down and up with its routes, take effect for the next flow.
 */
export const FORGOTTEN_AT_ONCE = 8;

/** Milliseconds between two restorations of one device, if another program keeps changing it. */
export const RESTORE_INTERVAL_MS = 1000;

/** A route of the system. */
export interface KernelRoute {
  readonly family: 4 | 6;
  /** The number of the routing table that contains the route. */
  readonly table: number;
  /** The network; bits after the prefix are zero. */
  readonly network: IpEndpoint;
  /** Length of the prefix in bits. */
  readonly prefix: number;
  /** The route with the lowest metric to a network is used. */
  readonly metric: number;
  /**
   * `refused` rejects packets (blackhole, unreachable, prohibit); `throw` ends the search in this
   * table.
   */
  readonly kind: 'unicast' | 'local' | 'refused' | 'throw';
  /** Indices of the route's interfaces; several for a multipath route. */
  readonly devices: readonly number[];
  /** The next hop, as text to compare by. */
  readonly gateway: string;
}

/** The result of a look-up. */
export type RouteLookup =
  | { readonly kind: 'device'; readonly device: number; readonly prefix: number }
  | { readonly kind: 'local' | 'refused' | 'none' };

const NONE: RouteLookup = { kind: 'none' };
const LOCAL: RouteLookup = { kind: 'local' };
const REFUSED: RouteLookup = { kind: 'refused' };

interface Kept {
  readonly route: KernelRoute;
  /** The dump that the route was last part of. */
  generation: number;
}

/** The routes of one table and family, by the length of their prefix and their network. */
class PrefixTable {
  /** Prefix lengths in use, the longest first. */
  lengths: readonly number[] = [];
  readonly byLength = new Map<number, Map<string, KernelRoute[]>>();
}

/**
 * The routes of the system as a search structure: finds the longest prefix with one look-up per
 * length in use, whatever the number of interfaces and routes. Nothing here calls the kernel.
 */
export class KernelRoutes {
  readonly #tables = new Map<string, PrefixTable>();
  readonly #kept = new Map<string, Kept>();
  readonly #byDevice = new Map<number, Set<string>>();
  #generation = 0;
  #isComplete = true;
  #isReduced = false;

  /** Number of routes. */
  get size(): number {
    return this.#kept.size;
  }

  /** Whether no route was ignored because of MOST_ROUTES since the last dump began. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /**
   * Whether a multipath route has lost an interface since the last dump began: the route regains it without a
   * notification when the interface is up.
   */
  get isReduced(): boolean {
    return this.#isReduced;
  }

  /** Starts a dump of all routes: `endList` removes those that are not part of it. */
  beginList(): void {
    this.#generation++;
    this.#isComplete = true;
    this.#isReduced = false;
  }

  /** Ends a dump. @returns whether any route was removed. */
  endList(): boolean {
    const before = this.#kept.size;
    for (const [id, kept] of this.#kept) {
      if (kept.generation !== this.#generation) this.#remove(id, kept.route);
    }
    return this.#kept.size !== before;
  }

  /**
   * Adds a route, or marks it as part of the current dump.
   * @param replaces whether it replaces the routes to the same network with the same metric.
   * @returns whether anything has changed.
   */
  add(route: KernelRoute, replaces = false): boolean {
    const id = idOf(route);
    const known = this.#kept.get(id);
    if (known) {
      known.generation = this.#generation;
      return false;
    }
    if (replaces) {
      for (const other of this.#at(route)) {
        if (other.metric === route.metric) this.#remove(idOf(other), other);
      }
    }
    if (this.#kept.size >= MOST_ROUTES) {
      this.#isComplete = false;
      return false;
    }
    this.#kept.set(id, { route, generation: this.#generation });
    for (const device of route.devices) {
      const ids = this.#byDevice.get(device);
      if (ids) ids.add(id);
      else this.#byDevice.set(device, new Set([id]));
    }
    this.#insert(route);
    return true;
  }

  /** Removes a route. @returns whether the route existed. */
  delete(route: KernelRoute): boolean {
    const id = idOf(route);
    const known = this.#kept.get(id);
    if (!known) return false;
    this.#remove(id, known.route);
    return true;
  }

  /**
   * Removes the routes of an interface that is down or removed, which the kernel does not report for
   * IPv4. A multipath route keeps its other interfaces.
   * @returns whether any route was removed.
   */
  deleteDevice(device: number): boolean {
    const ids = this.#byDevice.get(device);
    if (!ids) return false;
    for (const id of ids) {
      const known = this.#kept.get(id);
      if (!known) continue;
      this.#remove(id, known.route);
      const devices = known.route.devices.filter((other) => other !== device);
      if (devices.length === 0) continue;
      this.#isReduced = true;
      this.add({ ...known.route, devices });
    }
    return true;
  }

  /** Whether a table has a route to this network through an interface. */
  has(table: number, network: IpEndpoint, prefix: number, device: number): boolean {
    const family = isIPv4Endpoint(network) ? 4 : 6;
    return this.#at({ family, table, network, prefix }).some(({ devices }) =>
      devices.includes(device),
    );
  }

  /**
   * Returns the best route of a table to a destination through an interface that may be used.
   * @param leastPrefix shorter prefixes are ignored.
   */
  find(
    table: number,
    destination: IpEndpoint,
    mayUse: (device: number) => boolean,
    leastPrefix = 0,
  ): RouteLookup {
    const isIPv4 = isIPv4Endpoint(destination);
    const routes = this.#tables.get(tableKey(isIPv4 ? 4 : 6, table));
    if (!routes) return NONE;
    for (const prefix of routes.lengths) {
      if (prefix < leastPrefix) break;
      const candidates = routes.byLength.get(prefix)?.get(networkKey(destination, prefix, isIPv4));
      if (!candidates) continue;
      for (const { kind, devices } of candidates) {
        if (kind === 'local') return LOCAL;
        if (kind === 'refused') return REFUSED;
        if (kind === 'throw') return NONE;
        const device = devices.find(mayUse);
        if (device !== undefined) return { kind: 'device', device, prefix };
      }
    }
    return NONE;
  }

  #at({
    family,
    table,
    network,
    prefix,
  }: Pick<KernelRoute, 'family' | 'table' | 'network' | 'prefix'>): readonly KernelRoute[] {
    const key = networkKey(network, prefix, family === 4);
    // A copy, because routes are removed during iteration.
    return [...(this.#tables.get(tableKey(family, table))?.byLength.get(prefix)?.get(key) ?? [])];
  }

  #insert(route: KernelRoute): void {
    const { family, table, network, prefix, metric } = route;
    const key = tableKey(family, table);
    let routes = this.#tables.get(key);
    if (!routes) this.#tables.set(key, (routes = new PrefixTable()));
    let ofLength = routes.byLength.get(prefix);
    if (!ofLength) {
      routes.byLength.set(prefix, (ofLength = new Map<string, KernelRoute[]>()));
      routes.lengths = [...routes.byLength.keys()].sort((one, other) => other - one);
    }
    const to = networkKey(network, prefix, family === 4);
    const known = ofLength.get(to);
    if (!known) {
      ofLength.set(to, [route]);
      return;
    }
    const before = known.findIndex((other) => other.metric > metric);
    known.splice(before < 0 ? known.length : before, 0, route);
  }

  #remove(id: string, route: KernelRoute): void {
    this.#kept.delete(id);
    for (const device of route.devices) {
      const ids = this.#byDevice.get(device);
      ids?.delete(id);
      if (ids?.size === 0) this.#byDevice.delete(device);
    }
    const { family, table, network, prefix } = route;
    const key = tableKey(family, table);
    const routes = this.#tables.get(key);
    const ofLength = routes?.byLength.get(prefix);
    const to = networkKey(network, prefix, family === 4);
    const known = ofLength?.get(to);
    if (!routes || !ofLength || !known) return;
    const left = known.filter((other) => other !== route);
    if (left.length > 0) {
      ofLength.set(to, left);
      return;
    }
    ofLength.delete(to);
    if (ofLength.size > 0) return;
    routes.byLength.delete(prefix);
    routes.lengths = routes.lengths.filter((length) => length !== prefix);
    if (routes.byLength.size === 0) this.#tables.delete(key);
  }
}

const tableKey = (family: 4 | 6, table: number): string => `${family} ${table}`;

/** Returns the prefix of an address, as a key. */
export function networkKey(address: IpEndpoint, prefix: number, isIPv4: boolean): string {
  if (isIPv4) return String(masked(address.d, prefix));
  const { a, b, c, d } = address;
  return `${masked(a, prefix)} ${masked(b, prefix - 32)} ${masked(c, prefix - 64)} ${masked(d, prefix - 96)}`;
}

/** Returns the first bits of a word. A shift by 32 would be a shift by 0. */
function masked(word: number, bits: number): number {
  if (bits <= 0) return 0;
  return bits >= 32 ? word : word & (-1 << (32 - bits));
}

const idOf = (route: KernelRoute): string => {
  const { family, table, network, prefix, metric, kind, devices, gateway } = route;
  const key = networkKey(network, prefix, family === 4);
  return `${family} ${table} ${prefix} ${key} ${metric} ${kind} ${devices.join()} ${gateway}`;
};
