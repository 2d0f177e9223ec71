import { blankEndpoint, MAPPED, type IpEndpoint } from '@weir/base/ip';
import { AF_INET, AF_INET6 } from '../sockets/linux.ts';
import { aligned, readAttributes, type NetlinkMessage } from './message.ts';
import type { KernelRoute } from './kernel-routes.ts';
import type { RoutingRule } from './routing-rules.ts';

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
const RTN_UNICAST = 1;
export const RTN_LOCAL = 2;
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
