import { IFA_ADDRESS, IFA_LOCAL, IFF_UP, IFLA_MTU, LINK_BODY, RTM_GETLINK } from './interface.ts';
import { addressText, formatIP, type Cidr } from '@weir/base/ip';
import { AF_INET, AF_INET6, AF_UNSPEC } from '../sockets/linux.ts';
import {
  NetlinkError,
  type NetlinkMessage,
  type NetlinkSocket,
  readAttributes,
} from './netlink-socket.ts';
import {
  addressOf,
  familyOf,
  FIB_RULE_INVERT,
  FR_ACT_TO_TBL,
  FRA_DST,
  FRA_FWMARK,
  FRA_FWMASK,
  FRA_IIFNAME,
  FRA_PRIORITY,
  FRA_SRC,
  FRA_SUPPRESS_PREFIXLEN,
  FRA_TABLE,
  readRouteEntry,
  RT_TABLE_LOCAL,
  RTM_GETROUTE,
  RTM_GETRULE,
  RTMSG_LENGTH,
  word,
} from './route-messages.ts';

/**
 * The interfaces, addresses, routes and rules of a machine, read once, for display; Weir itself uses `RouteMirror`
 * while it runs.
 */

// Numbers of include/uapi/linux/{rtnetlink,if_link,if_addr,fib_rules}.h.
const RTM_GETADDR = 22;
const IFLA_IFNAME = 3;
const IFLA_MASTER = 10;
const IFLA_LINKINFO = 18;
const IFLA_INFO_KIND = 1;
const FRA_OIFNAME = 17;
const FRA_UID_RANGE = 20;
const ADDRESS_BODY = 8;

/** The most objects that are read of each kind; a host with all routes of the Internet has a million. */
const MOST_LINKS = 4096;
const MOST_ADDRESSES = 16_384;
const MOST_RULES_READ = 4096;
const MOST_ROUTES_READ = 1 << 18;
/** The most routes that are kept. */
const MOST_ROUTES_KEPT = 4096;

export interface MachineLink {
  readonly index: number;
  readonly name: string;
  /** The kind of the interface: `bridge`, `tun`, `wireguard`; empty for hardware and the loopback. */
  readonly kind: string;
  readonly mtu: number;
  readonly isUp: boolean;
  /** The index of the interface's master, such as the bridge that it is a port of; 0 for none. */
  readonly master: number;
  readonly addresses: readonly Cidr[];
}

export interface MachineRoute {
  readonly family: 4 | 6;
  readonly table: number;
  readonly network: Cidr;
  readonly metric: number;
  readonly kind: 'unicast' | 'local' | 'refused' | 'throw';
  /** Indices of the route's interfaces. */
  readonly devices: readonly number[];
  /** The next hop; empty for a network that the machine is connected to. */
  readonly gateway: string;
  /** The origin of the route: `RTPROT_`, such as 9 for a router advertisement. */
  readonly protocol: number;
}

/** A rule of policy routing (ip-rule(8)). */
export interface MachineRule {
  readonly family: 4 | 6;
  readonly priority: number;
  /** The table that the rule looks up; `undefined` for a rule with another action. */
  readonly table: number | undefined;
  /** The prefix length up to which routes are ignored; -1 for none. */
  readonly suppressed: number;
  readonly mark: number;
  readonly mask: number;
  readonly from: Cidr | undefined;
  readonly to: Cidr | undefined;
  readonly inInterface: string | undefined;
  readonly outInterface: string | undefined;
  readonly hasUsers: boolean;
  readonly isInverted: boolean;
}

export interface MachineNetwork {
  readonly links: readonly MachineLink[];
  /** The routes that `keep` has chosen. */
  readonly routes: readonly MachineRoute[];
  readonly rules: readonly MachineRule[];
  /** Names of the lists that were read only in part. */
  readonly cut: readonly string[];
}

/**
 * Reads the network configuration of this machine; no privilege is needed.
 * @param keep chooses routes, of which 4,096 are kept; those of the table `local` are left out.
 * @throws {SystemError} without netlink, or if a reply is lost.
 */
export function readMachineNetwork(
  netlink: NetlinkSocket,
  keep: (route: MachineRoute) => boolean,
): MachineNetwork {
  const cut: string[] = [];
  const list = (
    what: string,
    type: number,
    family: number,
    length: number,
    most: number,
    take: (message: NetlinkMessage) => void,
  ): void => {
    const body = Buffer.alloc(length);
    body[0] = family;
    try {
      if (!netlink.list(`list the ${what}`, type, body, take, most)) cut.push(what);
    } catch (error) {
      // A kernel without IPv6, or without policy routing, has no such list.
      if (!(error instanceof NetlinkError)) throw error;
    }
  };
  const links: MachineLink[] = [];
  list('interfaces', RTM_GETLINK, AF_UNSPEC, LINK_BODY, MOST_LINKS, (message) => {
    const link = readLink(message);
    if (link) links.push(link);
  });
  const addresses = new Map<number, Cidr[]>();
  list('addresses', RTM_GETADDR, AF_UNSPEC, ADDRESS_BODY, MOST_ADDRESSES, (message) => {
    const found = readInterfaceAddress(message);
    if (!found) return;
    const own = addresses.get(found.index);
    if (own) own.push(found.address);
    else addresses.set(found.index, [found.address]);
  });
  const rules: MachineRule[] = [];
  const routes: MachineRoute[] = [];
  for (const family of [AF_INET, AF_INET6]) {
    list('rules', RTM_GETRULE, family, RTMSG_LENGTH, MOST_RULES_READ, (message) => {
      const rule = readMachineRule(message);
      if (rule) rules.push(rule);
    });
    list('routes', RTM_GETROUTE, family, RTMSG_LENGTH, MOST_ROUTES_READ, (message) => {
      const route = readMachineRoute(message);
      if (!route || route.table === RT_TABLE_LOCAL || !keep(route)) return;
      if (routes.length < MOST_ROUTES_KEPT) routes.push(route);
      else if (!cut.includes('routes')) cut.push('routes');
    });
  }
  return {
    links: links.map((link) => ({ ...link, addresses: addresses.get(link.index) ?? [] })),
    routes,
    rules,
    cut,
  };
}

/** Reads an interface (RTM_NEWLINK), without its addresses. */
export function readLink({ body }: NetlinkMessage): MachineLink | undefined {
  if (body.length < LINK_BODY) return undefined;
  const attributes = readAttributes(body, LINK_BODY);
  const info = attributes.get(IFLA_LINKINFO);
  return {
    index: body.readInt32LE(4),
    name: textOf(attributes.get(IFLA_IFNAME)) ?? '',
    kind: (info && textOf(readAttributes(info, 0).get(IFLA_INFO_KIND))) ?? '',
    mtu: word(attributes, IFLA_MTU) ?? 0,
    isUp: (body.readUInt32LE(8) & IFF_UP) !== 0,
    master: word(attributes, IFLA_MASTER) ?? 0,
    addresses: [],
  };
}

/** Reads an address of an interface (RTM_NEWADDR). */
export function readInterfaceAddress({
  body,
}: NetlinkMessage): { readonly index: number; readonly address: Cidr } | undefined {
  if (body.length < ADDRESS_BODY) return undefined;
  const attributes = readAttributes(body, ADDRESS_BODY);
  // IFA_ADDRESS is the peer's on a point-to-point link.
  const value = attributes.get(IFA_LOCAL) ?? attributes.get(IFA_ADDRESS);
  const address = value && networkOf(value, familyOf(body[0]), body[1]);
  return address && { index: body.readInt32LE(4), address };
}

/** Reads a route (RTM_NEWROUTE). */
export function readMachineRoute(message: NetlinkMessage): MachineRoute | undefined {
  const route = readRouteEntry(message);
  if (!route) return undefined;
  const { family, table, network, prefix, metric, kind, devices, gateway } = route;
  const address = addressText(network);
  const hop = gateway.length === 4 || gateway.length === 16 ? gateway : '';
  return {
    family,
    table,
    network: { address, prefix },
    metric,
    kind,
    devices,
    gateway: hop === '' ? '' : formatIP(Buffer.from(hop, 'latin1')),
    protocol: message.body[5] ?? 0,
  };
}

/** Reads a rule (RTM_NEWRULE). */
export function readMachineRule({ body }: NetlinkMessage): MachineRule | undefined {
  const family = familyOf(body[0]);
  if (body.length < RTMSG_LENGTH || family === undefined) return undefined;
  const attributes = readAttributes(body, RTMSG_LENGTH);
  const mark = word(attributes, FRA_FWMARK) ?? 0;
  return {
    family,
    priority: word(attributes, FRA_PRIORITY) ?? 0,
    table: body[7] === FR_ACT_TO_TBL ? (word(attributes, FRA_TABLE) ?? body[4] ?? 0) : undefined,
    suppressed: (word(attributes, FRA_SUPPRESS_PREFIXLEN) ?? -1) | 0,
    mark,
    mask: word(attributes, FRA_FWMASK) ?? (mark === 0 ? 0 : 0xffff_ffff),
    from: networkOf(attributes.get(FRA_SRC), family, body[2]),
    to: networkOf(attributes.get(FRA_DST), family, body[1]),
    inInterface: textOf(attributes.get(FRA_IIFNAME)),
    outInterface: textOf(attributes.get(FRA_OIFNAME)),
    hasUsers: attributes.has(FRA_UID_RANGE),
    isInverted: (body.readUInt32LE(8) & FIB_RULE_INVERT) !== 0,
  };
}

function networkOf(
  bytes: Buffer | undefined,
  family: 4 | 6 | undefined,
  prefix = 0,
): Cidr | undefined {
  const network = bytes && family && addressOf(bytes, family);
  if (!network) return undefined;
  const address = addressText(network);
  return { address, prefix: Math.min(prefix, family === 4 ? 32 : 128) };
}

/** Reads text with a terminating zero. */
const textOf = (bytes: Buffer | undefined): string | undefined =>
  bytes?.toString('utf8').split('\0', 1)[0];
