import { formatCidr, type Cidr, parseIP } from '@weir/base/ip';
import { AF_INET, AF_INET6, AF_UNSPEC } from '../sockets/linux.ts';
import {
  type Attribute,
  nestedAttribute,
  NetlinkError,
  type NetlinkSocket,
  NLM_F_CREATE,
  NLM_F_EXCL,
  readAttributes,
  wordAttribute,
} from './netlink-socket.ts';
import {
  RT_TABLE_MAIN,
  RTA_DST,
  RTA_OIF,
  RTN_UNICAST,
  RTM_NEWADDR,
  RTM_NEWLINK,
  RTM_NEWROUTE,
} from './route-messages.ts';

// Numbers of include/uapi/linux/{rtnetlink,if_link,if_addr}.h.
export const RTM_GETLINK = 18;
export const LINK_BODY = 16;
export const IFF_UP = 1;
export const IFLA_MTU = 4;
const IFLA_AF_SPEC = 26;
const IFLA_INET6_ADDR_GEN_MODE = 8;
const IN6_ADDR_GEN_MODE_NONE = 1;
export const IFA_ADDRESS = 1;
export const IFA_LOCAL = 2;
/** No duplicate address detection: the address is usable immediately. */
const IFA_F_NODAD = 0x02;
const RTPROT_STATIC = 4;
const RT_SCOPE_UNIVERSE = 0;
const RT_SCOPE_LINK = 253;

/** The configuration of an interface. */
export interface InterfacePlan {
  /** Size of the largest packet in bytes. */
  readonly mtu: number;
  /** Addresses of the interface with their prefix lengths; host bits may be set. */
  readonly addresses: readonly Cidr[];
  /** Networks that the main table routes through the interface. */
  readonly routes: readonly Cidr[];
}

/**
 * Brings an interface up with its MTU, addresses and routes. They are removed with the interface.
 * @throws {NetlinkError} for the first part that the kernel refuses.
 */
export function configureInterface(
  netlink: NetlinkSocket,
  index: number,
  { mtu, addresses, routes }: InterfacePlan,
): void {
  keepFromGeneratingAddresses(netlink, index);
  bringUp(netlink, index, mtu);
  for (const cidr of addresses) addAddress(netlink, index, cidr);
  for (const cidr of routes) addRoute(netlink, index, cidr);
}

/** The result of `restoreInterface`. */
export interface Restored {
  /** Descriptions of restored parts: `the address 10.0.0.1/24`. */
  readonly restored: readonly string[];
  /** Descriptions of parts that could not be restored, with the kernel's reason. */
  readonly failures: readonly string[];
}

/**
 * Restores what another program has removed from an interface. Adds each part; the kernel refuses
 * those that exist.
 * @throws {SystemError} if the kernel does not reply.
 */
export function restoreInterface(
  netlink: NetlinkSocket,
  index: number,
  { mtu, addresses, routes }: InterfacePlan,
): Restored {
  const restored: string[] = [];
  const failures: string[] = [];
  const attempt = (what: string, change: () => void): void => {
    try {
      change();
      restored.push(what);
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      // The part exists, or the interface has been removed, which its owner detects elsewhere.
      if (error.code !== 'EEXIST' && error.code !== 'ENODEV')
        failures.push(`${what}: ${error.reason}`);
    }
  };
  if (!isInterfaceUp(netlink, index, mtu)) attempt('up', () => bringUp(netlink, index, mtu));
  for (const cidr of addresses) {
    attempt(`the address ${formatCidr(cidr)}`, () => addAddress(netlink, index, cidr));
  }
  for (const cidr of routes) {
    attempt(`the route ${formatCidr(cidr)}`, () => addRoute(netlink, index, cidr));
  }
  return { restored, failures };
}

/** Whether an interface is up with this MTU; false if it is gone. @throws {SystemError} */
function isInterfaceUp(netlink: NetlinkSocket, index: number, mtu: number): boolean {
  try {
    const reply = netlink.query('look at the interface', RTM_GETLINK, linkBody(index, 0), []);
    if (!reply || reply.body.length < LINK_BODY) return false;
    const isUp = (reply.body.readUInt32LE(8) & IFF_UP) !== 0;
    return isUp && readAttributes(reply.body, LINK_BODY).get(IFLA_MTU)?.readUInt32LE(0) === mtu;
  } catch (error) {
    if (error instanceof NetlinkError) return false;
    throw error;
  }
}

function bringUp(netlink: NetlinkSocket, index: number, mtu: number): void {
  netlink.request('bring the interface up', RTM_NEWLINK, 0, linkBody(index, IFF_UP), [
    wordAttribute(IFLA_MTU, mtu),
  ]);
}

/**
 * Disables autoconfiguration of the device: no link-local IPv6 address, no router solicitations. A
 * kernel without IPv6 refuses, which has the same effect.
 */
function keepFromGeneratingAddresses(netlink: NetlinkSocket, index: number): void {
  const mode = { type: IFLA_INET6_ADDR_GEN_MODE, value: Uint8Array.of(IN6_ADDR_GEN_MODE_NONE) };
  const attributes = [nestedAttribute(IFLA_AF_SPEC, [nestedAttribute(AF_INET6, [mode])])];
  try {
    netlink.request('keep addresses off', RTM_NEWLINK, 0, linkBody(index, 0), attributes);
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error;
  }
}

/** `struct ifinfomsg`: family 0, type 2, index 4, flags 8, mask of changed flags 12. */
function linkBody(index: number, flags: number): Uint8Array {
  const body = Buffer.alloc(LINK_BODY);
  body[0] = AF_UNSPEC;
  body.writeInt32LE(index, 4);
  body.writeUInt32LE(flags, 8);
  body.writeUInt32LE(flags, 12);
  return body;
}

function addAddress(netlink: NetlinkSocket, index: number, cidr: Cidr): void {
  const { family, bytes } = parsed(cidr);
  // struct ifaddrmsg: family 0, prefix length 1, flags 2, scope 3, index 4.
  const body = Buffer.alloc(8);
  body[0] = family;
  body[1] = cidr.prefix;
  body[2] = family === AF_INET6 ? IFA_F_NODAD : 0;
  body.writeUInt32LE(index, 4);
  const attributes = [IFA_LOCAL, IFA_ADDRESS].map((type): Attribute => ({ type, value: bytes }));
  const request = `add the address ${formatCidr(cidr)}`;
  netlink.request(request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, body, attributes);
}

function addRoute(netlink: NetlinkSocket, index: number, cidr: Cidr): void {
  const { family, bytes } = parsed(cidr);
  // struct rtmsg: family 0, lengths of destination 1 and source 2, TOS 3, table 4, protocol 5,
  // scope 6, type 7, flags 8.
  const body = Buffer.alloc(12);
  body[0] = family;
  body[1] = cidr.prefix;
  body[4] = RT_TABLE_MAIN;
  body[5] = RTPROT_STATIC;
  body[6] = family === AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  body[7] = RTN_UNICAST;
  netlink.request(
    `add the route ${formatCidr(cidr)}`,
    RTM_NEWROUTE,
    NLM_F_CREATE | NLM_F_EXCL,
    body,
    [{ type: RTA_DST, value: bytes }, wordAttribute(RTA_OIF, index)],
  );
}

function parsed({ address }: Cidr): { readonly family: number; readonly bytes: Uint8Array } {
  const bytes = parseIP(address);
  if (!bytes) throw new RangeError(`not an IP address: ${address}`);
  return { family: bytes.length === 4 ? AF_INET : AF_INET6, bytes };
}
