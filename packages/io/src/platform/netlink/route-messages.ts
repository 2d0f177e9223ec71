import {
  addressBytes,
  blankEndpoint,
  type IpEndpoint,
  isIPv4Endpoint,
  MAPPED,
} from '@weir/base/ip';
import {
  type KernelRoute,
  type KernelRoutes,
  MOST_RULES,
  networkKey,
  type RouteLookup,
} from './kernel-routes.ts';
import {
  aligned,
  NetlinkError,
  type NetlinkMessage,
  type NetlinkSocket,
  readAttributes,
  wordAttribute,
} from './netlink-socket.ts';
import { AF_INET, AF_INET6 } from '../sockets/linux.ts';

export const RT_TABLE_DEFAULT = 253;
export const RT_TABLE_MAIN = 254;
export const RT_TABLE_LOCAL = 255;

/** A rule of policy routing (ip-rule(8)), reduced to the conditions that concern packets of this process. */
export interface RoutingRule {
  readonly family: 4 | 6;
  readonly priority: number;
  readonly action:
    | { readonly kind: 'table'; readonly table: number; readonly leastPrefix: number }
    | { readonly kind: 'goto'; readonly priority: number }
    | { readonly kind: 'refuse' }
    | { readonly kind: 'nothing' };
  /** The destinations that the rule matches; `undefined` for all. */
  readonly to: { readonly network: IpEndpoint; readonly prefix: number } | undefined;
  /** Whether the rule matches packets without a mark. */
  readonly fitsUnmarked: boolean;
  /** Whether the rule matches all packets except those that it describes. */
  readonly isInverted: boolean;
}

/** The implicit rules of a kernel without policy routing. */
const BUILT_IN: readonly RoutingRule[] = [RT_TABLE_LOCAL, RT_TABLE_MAIN, RT_TABLE_DEFAULT].flatMap(
  (table, priority) =>
    ([4, 6] as const).map((family): RoutingRule => ({
      family,
      priority,
      action: { kind: 'table', table, leastPrefix: 0 },
      to: undefined,
      fitsUnmarked: true,
      isInverted: false,
    })),
);

/** Determines the tables, and their order, in which a route is looked up. */
export class RoutingRules {
  #rules: readonly RoutingRule[] = BUILT_IN;
  #listed: RoutingRule[] | undefined;

  /** Starts a dump of all rules, which replaces the previous rules in `endList`. */
  beginList(): void {
    this.#listed = [];
  }

  add(rule: RoutingRule): void {
    if (this.#listed && this.#listed.length < 2 * MOST_RULES) this.#listed.push(rule);
  }

  endList(): void {
    const listed = this.#listed ?? [];
    this.#listed = undefined;
    const families = new Set(listed.map(({ family }) => family));
    this.#rules = [...listed, ...BUILT_IN.filter(({ family }) => !families.has(family))].sort(
      (one, other) => one.priority - other.priority,
    );
  }

  /**
   * Returns the route to a destination through an interface that may be used, for packets of this process.
   */
  find(
    table: KernelRoutes,
    destination: IpEndpoint,
    mayUse: (device: number) => boolean,
  ): RouteLookup {
    const family = isIPv4Endpoint(destination) ? 4 : 6;
    let from = 0;
    for (const rule of this.#rules) {
      if (rule.family !== family || rule.priority < from || !isFor(rule, destination)) continue;
      const { action } = rule;
      switch (action.kind) {
        case 'table': {
          const found = table.find(action.table, destination, mayUse, action.leastPrefix);
          if (found.kind !== 'none') return found;
          break;
        }
        case 'goto':
          from = action.priority;
          break;
        case 'refuse':
          return { kind: 'refused' };
        case 'nothing':
          break;
        default:
          action satisfies never;
      }
    }
    return { kind: 'none' };
  }
}

function isFor(
  { to, family, fitsUnmarked, isInverted }: RoutingRule,
  address: IpEndpoint,
): boolean {
  const isDestination =
    to === undefined ||
    networkKey(address, to.prefix, family === 4) ===
      networkKey(to.network, to.prefix, family === 4);
  return (isDestination && fitsUnmarked) !== isInverted;
}

// Numbers of include/uapi/linux/{rtnetlink,if_link,if_addr,fib_rules}.h.
export const RTM_NEWLINK = 16;
export const RTM_DELLINK = 17;
export const RTM_NEWADDR = 20;
export const RTM_DELADDR = 21;
export const RTM_NEWROUTE = 24;
export const RTM_DELROUTE = 25;
export const RTM_GETROUTE = 26;
export const RTM_NEWRULE = 32;
export const RTM_DELRULE = 33;
export const RTM_GETRULE = 34;
export const RTA_DST = 1;
export const RTA_OIF = 4;
const RTA_GATEWAY = 5;
const RTA_PRIORITY = 6;
const RTA_MULTIPATH = 9;
const RTA_TABLE = 15;
const RTM_F_CLONED = 0x200;
/** `struct rtmsg`. */
export const RTMSG_LENGTH = 12;
const NEXT_HOP_LENGTH = 8;
export const RTN_UNICAST = 1;
const RTN_LOCAL = 2;
const RTN_BROADCAST = 3;
const RTN_ANYCAST = 4;
const RTN_BLACKHOLE = 6;
const RTN_UNREACHABLE = 7;
const RTN_PROHIBIT = 8;
const RTN_THROW = 9;
export const FRA_DST = 1;
export const FRA_SRC = 2;
export const FRA_IIFNAME = 3;
const FRA_GOTO = 4;
export const FRA_PRIORITY = 6;
export const FRA_FWMARK = 10;
export const FRA_SUPPRESS_PREFIXLEN = 14;
export const FRA_TABLE = 15;
export const FRA_FWMASK = 16;
const FRA_PROTOCOL = 21;
/** Padding. */
const FRA_PAD = 18;
export const FIB_RULE_INVERT = 0x2;
export const FR_ACT_TO_TBL = 1;
const FR_ACT_GOTO = 2;
const FR_ACT_BLACKHOLE = 6;
const FR_ACT_PROHIBIT = 8;

const KINDS: ReadonlyMap<number, KernelRoute['kind']> = new Map([
  [RTN_UNICAST, 'unicast'],
  [RTN_LOCAL, 'local'],
  [RTN_BROADCAST, 'local'],
  [RTN_ANYCAST, 'local'],
  [RTN_BLACKHOLE, 'refused'],
  [RTN_UNREACHABLE, 'refused'],
  [RTN_PROHIBIT, 'refused'],
  [RTN_THROW, 'throw'],
]);

/**
 * Reads a route (RTM_NEWROUTE, RTM_DELROUTE); `undefined` for one that sockets of this process
 * never use.
 */
export function readRouteEntry({ body }: NetlinkMessage): KernelRoute | undefined {
  if (body.length < RTMSG_LENGTH) return undefined;
  const family = familyOf(body[0]);
  const kind = KINDS.get(body[7] ?? 0);
  // A route for a type of service, or a cached copy for one destination.
  const isApart = body[3] !== 0 || (body.readUInt32LE(8) & RTM_F_CLONED) !== 0;
  if (family === undefined || kind === undefined || isApart || body[2] !== 0) return undefined;
  const attributes = readAttributes(body, RTMSG_LENGTH);
  const network = addressOf(attributes.get(RTA_DST), family);
  if (!network) return undefined;
  const hops = attributes.get(RTA_MULTIPATH);
  const device = word(attributes, RTA_OIF);
  return {
    family,
    table: word(attributes, RTA_TABLE) ?? body[4] ?? 0,
    network,
    prefix: Math.min(body[1] ?? 0, family === 4 ? 32 : 128),
    metric: word(attributes, RTA_PRIORITY) ?? 0,
    kind,
    devices: hops ? devicesOf(hops) : device === undefined ? [] : [device],
    gateway: (attributes.get(RTA_GATEWAY) ?? hops)?.toString('latin1') ?? '',
  };
}

/**
 * Reads a rule (RTM_NEWRULE); `undefined` for one that depends on more than the destination and the
 * mark.
 */
export function readRule({ body }: NetlinkMessage): RoutingRule | undefined {
  if (body.length < RTMSG_LENGTH) return undefined;
  const family = familyOf(body[0]);
  const attributes = readAttributes(body, RTMSG_LENGTH);
  if (family === undefined || body[3] !== 0 || !looksAtNoMore(attributes)) return undefined;
  const network = attributes.has(FRA_DST) ? addressOf(attributes.get(FRA_DST), family) : undefined;
  const mark = word(attributes, FRA_FWMARK) ?? 0;
  const mask = word(attributes, FRA_FWMASK) ?? (mark === 0 ? 0 : -1);
  return {
    family,
    priority: word(attributes, FRA_PRIORITY) ?? 0,
    action: actionOf(body[7] ?? 0, attributes, body[4] ?? 0),
    to: network && { network, prefix: body[1] ?? 0 },
    fitsUnmarked: (mark & mask) === 0,
    isInverted: (body.readUInt32LE(8) & FIB_RULE_INVERT) !== 0,
  };
}

const LOOKED_AT: ReadonlySet<number> = new Set([
  FRA_DST,
  FRA_GOTO,
  FRA_PRIORITY,
  FRA_FWMARK,
  FRA_SUPPRESS_PREFIXLEN,
  FRA_TABLE,
  FRA_FWMASK,
  FRA_PROTOCOL,
  FRA_PAD,
]);
/** Attributes that are unused if their value is -1. */
const UNUSED_WITHOUT_VALUE: ReadonlySet<number> = new Set([13]); // FRA_SUPPRESS_IFGROUP

/**
 * Whether a rule depends only on properties that are known for every socket of this process; `iif lo` matches
 * all locally generated packets.
 */
function looksAtNoMore(attributes: ReadonlyMap<number, Buffer>): boolean {
  for (const [type, value] of attributes) {
    if (LOOKED_AT.has(type)) continue;
    if (type === FRA_IIFNAME && value.toString('latin1').startsWith('lo\0')) continue;
    if (UNUSED_WITHOUT_VALUE.has(type) && value.length === 4 && value.readInt32LE(0) === -1) {
      continue;
    }
    return false;
  }
  return !attributes.has(FRA_SRC);
}

function actionOf(
  number: number,
  attributes: ReadonlyMap<number, Buffer>,
  shortTable: number,
): RoutingRule['action'] {
  if (number === FR_ACT_TO_TBL) {
    // Prefixes up to this length are ignored; -1 for none.
    const suppressed = (word(attributes, FRA_SUPPRESS_PREFIXLEN) ?? -1) | 0;
    const table = word(attributes, FRA_TABLE) ?? shortTable;
    return { kind: 'table', table, leastPrefix: suppressed + 1 };
  }
  if (number === FR_ACT_GOTO) return { kind: 'goto', priority: word(attributes, FRA_GOTO) ?? 0 };
  const refuses = number >= FR_ACT_BLACKHOLE && number <= FR_ACT_PROHIBIT;
  return { kind: refuses ? 'refuse' : 'nothing' };
}

export function familyOf(number: number | undefined): 4 | 6 | undefined {
  if (number === AF_INET) return 4;
  return number === AF_INET6 ? 6 : undefined;
}

export function word(attributes: ReadonlyMap<number, Buffer>, type: number): number | undefined {
  const value = attributes.get(type);
  return value === undefined || value.length < 4 ? undefined : value.readUInt32LE(0);
}

/** Returns the address in an attribute; the unspecified address if absent, as in a default route. */
export function addressOf(bytes: Buffer | undefined, family: 4 | 6): IpEndpoint | undefined {
  const endpoint = blankEndpoint();
  if (family === 4) endpoint.c = MAPPED;
  if (bytes === undefined) return endpoint;
  if (bytes.length < (family === 4 ? 4 : 16)) return undefined;
  if (family === 4) endpoint.d = bytes.readInt32BE(0);
  else {
    endpoint.a = bytes.readInt32BE(0);
    endpoint.b = bytes.readInt32BE(4);
    endpoint.c = bytes.readInt32BE(8);
    endpoint.d = bytes.readInt32BE(12);
  }
  return endpoint;
}

/** Returns the interfaces of `struct rtnexthop`s: length 0, flags 2, hops 3, index 4. */
function devicesOf(hops: Buffer): number[] {
  const devices: number[] = [];
  let at = 0;
  while (at + NEXT_HOP_LENGTH <= hops.length) {
    const length = hops.readUInt16LE(at);
    if (length < NEXT_HOP_LENGTH) break;
    devices.push(hops.readInt32LE(at + 4));
    at += aligned(length);
  }
  return devices;
}

/** The kernel's route to a destination. */
export interface UsualRoute {
  /** The index of the interface; 0 if the route has none. */
  readonly device: number;
  /** Whether the destination is an address of this host. */
  readonly isLocal: boolean;
}

/**
 * Returns the route that the kernel uses for a destination; `undefined` if there is none.
 * @throws {SystemError} if the kernel does not reply.
 */
export function usualRoute(
  netlink: NetlinkSocket,
  destination: IpEndpoint,
): UsualRoute | undefined {
  const bytes = addressBytes(destination);
  const body = Buffer.alloc(RTMSG_LENGTH);
  body[0] = bytes.length === 4 ? AF_INET : AF_INET6;
  body[1] = bytes.length * 8;
  const attributes = [{ type: RTA_DST, value: bytes }];
  if (destination.scope !== 0) attributes.push(wordAttribute(RTA_OIF, destination.scope));
  try {
    const reply = netlink.query('find a route', RTM_GETROUTE, body, attributes);
    if (!reply || reply.body.length < RTMSG_LENGTH) return undefined;
    const device = readAttributes(reply.body, RTMSG_LENGTH).get(RTA_OIF)?.readUInt32LE(0) ?? 0;
    return { device, isLocal: reply.body[7] === RTN_LOCAL };
  } catch (error) {
    // No route, or a route that rejects packets.
    if (error instanceof NetlinkError) return undefined;
    throw error;
  }
}
