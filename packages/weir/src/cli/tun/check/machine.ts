import { addressInNetwork, type Cidr, ipVersion } from '@weir/base/ip';
import {
  type MachineLink,
  type MachineRoute,
  type MachineRule,
  RT_TABLE_DEFAULT,
  RT_TABLE_MAIN,
  type MachineNetwork,
} from '@weir/io/netlink';
import { coversDefaultRoute } from '@weir/proxy/protocols/tun/system-resolver';
import type { SystemResolver } from '@weir/proxy/dns/system';
import type { DnsSpec } from '@weir/proxy/spec';
import type { FirewallFacts } from './firewall.ts';

/** A socket on port 53 of this machine. */
export interface NameListener {
  readonly address: string;
  readonly network: 'tcp' | 'udp';
  /** The program that owns the socket, if it could be read. */
  readonly program: string | undefined;
}

/** The configuration of the machine's resolver. */
export interface ResolverFacts {
  /** The servers that programs query in the end. */
  readonly servers: readonly SystemResolver[];
  /** The servers that /etc/resolv.conf names. */
  readonly named: readonly string[];
  /** The target of the link /etc/resolv.conf; empty for a file, `undefined` when there is neither. */
  readonly link: string | undefined;
  /** The program that names itself in the file as its writer. */
  readonly writer: 'NetworkManager' | 'resolvconf' | undefined;
  /** The sources of host names (nsswitch.conf(5)), in order. */
  readonly sources: readonly string[];
  /** The servers of individual links in systemd-resolved: `eth0: 192.168.1.1`. */
  readonly perLink: readonly string[];
  readonly hasNetworkManager: boolean;
  /** The patterns of `unmanaged-devices` in the configuration of NetworkManager. */
  readonly unmanaged: readonly string[];
}

/** A fact that could not be read, with the reason. */
export interface Unread {
  readonly what: string;
  readonly reason: string;
}

/** Facts about the machine. */
export interface MachineFacts {
  readonly network: MachineNetwork;
  /** Values below /proc/sys by name, `net.ipv4.ip_forward`; missing ones are left out. */
  readonly settings: ReadonlyMap<string, string>;
  /** State of /dev/net/tun for the user of this command. */
  readonly deviceFile: 'usable' | 'missing' | 'forbidden';
  /** Capabilities of this process; `undefined` where they could not be read. */
  readonly rights: { readonly netAdmin: boolean; readonly bindService: boolean } | undefined;
  readonly listeners: readonly NameListener[];
  readonly resolver: ResolverFacts;
  /** `undefined` when the firewall could not be read. */
  readonly firewall: FirewallFacts | undefined;
  readonly unread: readonly Unread[];
}

/** A TUN inbound, with the relevant parts of the configuration. */
export interface CheckedInbound {
  readonly tag: string;
  /** Name of the device; `undefined` when the kernel chooses it. */
  readonly name: string | undefined;
  readonly mtu: number;
  readonly addresses: readonly Cidr[];
  readonly routes: readonly Cidr[];
  readonly dns: DnsSpec;
  /** Whether the machine is to be the router of other hosts. */
  readonly isGateway: boolean;
}

export type Severity = 'breaks' | 'leaks' | 'note';

/** A finding about an inbound. */
export interface TunFinding {
  /** Stable id for programs: `rp-filter-strict`. */
  readonly id: string;
  /** `breaks`: something does not work; `leaks`: traffic bypasses the device; `note`: for information. */
  readonly severity: Severity;
  /** The facts that were read, with their places. */
  readonly evidence: readonly string[];
  /** The consequence, in one sentence. */
  readonly consequence: string;
  /** Steps to take: commands, or lines of a file. */
  readonly advice: readonly AdviceStep[];
}

/** A part of an advice. */
export interface AdviceStep {
  /** `sh`: commands for root; `toml`: lines of the inbound's settings; `text`: a sentence. */
  readonly kind: 'sh' | 'toml' | 'text';
  readonly text: string;
}

export type Family = 4 | 6;
export const FAMILIES: readonly Family[] = [4, 6];

/** The path of a program's packets to an address. */
export type EgressPath = 'subnet' | 'device' | 'uplink' | 'host' | 'none';

export const familyOfCidr = ({ address }: Cidr): Family => (ipVersion(address) === 4 ? 4 : 6);

export const overlap = (one: Cidr, other: Cidr): boolean =>
  addressInNetwork(one.address, other) || addressInNetwork(other.address, one);

/** Kinds of interfaces that are tunnels of other programs. */
const TUNNELS: ReadonlySet<string> = new Set(['tun', 'wireguard', 'ppp', 'ipip', 'gre', 'xfrm']);

/** Names of bridges that container engines and hypervisors create. */
const BRIDGE_NAME = /^(?:docker|br-|virbr|lxcbr|lxdbr|incusbr|podman|cni|cali|flannel)/;

/** The machine without the device of this inbound, which may exist already. */
export class Machine {
  readonly facts: MachineFacts;
  readonly inbound: CheckedInbound;
  /** The device of this inbound in a running Weir. */
  readonly own: MachineLink | undefined;
  readonly links: readonly MachineLink[];
  readonly routes: readonly MachineRoute[];

  constructor(facts: MachineFacts, inbound: CheckedInbound) {
    this.facts = facts;
    this.inbound = inbound;
    const { links, routes } = facts.network;
    this.own = links.find((link) => isDeviceOf(link, inbound));
    this.links = links.filter((link) => link !== this.own);
    const own = this.own?.index;
    this.routes = routes.filter(({ devices }) => own === undefined || !devices.includes(own));
  }

  /** The name of the device, for use in texts. */
  get device(): string {
    return this.inbound.name ?? this.own?.name ?? 'tun0';
  }

  covers(family: Family): boolean {
    return coversDefaultRoute(
      this.inbound.routes.filter((route) => familyOfCidr(route) === family),
    );
  }

  get coversAny(): boolean {
    return FAMILIES.some((family) => this.covers(family));
  }

  linkOf(index: number | undefined): MachineLink | undefined {
    return this.links.find((link) => link.index === index);
  }

  setting(name: string): string | undefined {
    return this.facts.settings.get(name);
  }

  /** Routes of the table `main`. */
  mainRoutes(family: Family): readonly MachineRoute[] {
    return this.routes.filter((route) => route.family === family && route.table === RT_TABLE_MAIN);
  }

  defaultRoutes(family: Family): readonly MachineRoute[] {
    return this.mainRoutes(family).filter(
      ({ network, kind }) => network.prefix === 0 && kind === 'unicast',
    );
  }

  /** The interfaces of the default routes. */
  uplinks(family: Family): readonly MachineLink[] {
    const indices = new Set(this.defaultRoutes(family).flatMap(({ devices }) => devices));
    return this.links.filter(({ index }) => indices.has(index));
  }

  get bridges(): readonly MachineLink[] {
    const uplinks = new Set(FAMILIES.flatMap((family) => this.uplinks(family)));
    return this.links.filter(
      (link) =>
        (link.kind === 'bridge' || BRIDGE_NAME.test(link.name)) &&
        link.addresses.length > 0 &&
        !uplinks.has(link),
    );
  }

  get hasDocker(): boolean {
    return this.bridges.some(({ name }) => name.startsWith('docker') || name.startsWith('br-'));
  }

  isTunnel(link: MachineLink | undefined): boolean {
    return link !== undefined && TUNNELS.has(link.kind);
  }

  /** Policy routing rules other than those built into the kernel. */
  rules(family: Family): readonly MachineRule[] {
    return this.facts.network.rules
      .filter((rule) => rule.family === family && !isBuiltIn(rule))
      .sort((one, other) => one.priority - other.priority);
  }

  /** The routes of a table that together cover all addresses. */
  tableCovers(table: number, family: Family): readonly MachineRoute[] {
    const routes = this.routes.filter(
      (route) => route.table === table && route.family === family && route.kind === 'unicast',
    );
    const full = routes.filter(({ network }) => network.prefix === 0);
    const halves = routes.filter(({ network }) => network.prefix === 1);
    return full.length > 0 ? full : halves.length > 1 ? halves : [];
  }

  /** The path of a local program's packet, once the device exists. */
  pathTo(address: string): EgressPath {
    const bare = address.split('%', 1)[0] ?? '';
    const family: Family = ipVersion(bare) === 4 ? 4 : 6;
    if (this.inbound.addresses.some((own) => addressInNetwork(bare, own))) return 'subnet';
    if (isLoopback(bare) || this.links.some((link) => hasAddress(link, bare))) return 'host';
    if (address.includes('%')) return 'uplink';
    const others = this.mainRoutes(family).filter(({ network }) => addressInNetwork(bare, network));
    const length = (networks: readonly Cidr[]): number =>
      Math.max(-1, ...networks.map(({ prefix }) => prefix));
    const elsewhere = length(others.map(({ network }) => network));
    const inside = length(this.inbound.routes.filter((route) => addressInNetwork(bare, route)));
    if (inside < 0 && elsewhere < 0) return 'none';
    // Of routes with equal length the one with the lower metric is used: the device's.
    return inside >= elsewhere ? 'device' : 'uplink';
  }
}

/** Link-local addresses (RFC 4291 §2.5.6), from which no packet is forwarded. */
const LINK_LOCAL: Cidr = { address: 'fe80::', prefix: 10 };

/** Whether an interface has an address of a family that other hosts may use as their gateway. */
export const hasFamily = ({ addresses }: MachineLink, family: Family): boolean =>
  addresses.some(
    (own) => familyOfCidr(own) === family && !addressInNetwork(own.address, LINK_LOCAL),
  );

const isBuiltIn = ({ priority, table }: MachineRule): boolean =>
  priority === 0 || (priority >= 32_766 && (table === RT_TABLE_MAIN || table === RT_TABLE_DEFAULT));

export const isLoopback = (address: string): boolean =>
  address === '::1' || (ipVersion(address) === 4 && address.startsWith('127.'));

const hasAddress = (link: MachineLink, address: string): boolean =>
  link.addresses.some((own) => own.address === address);

/** Whether an interface is the one that Weir has created for this inbound. */
function isDeviceOf({ kind, name, addresses }: MachineLink, inbound: CheckedInbound): boolean {
  if (kind !== 'tun' || (inbound.name !== undefined && inbound.name !== name)) return false;
  if (inbound.addresses.length === 0) return false;
  return inbound.addresses.every((own) =>
    addresses.some(({ address, prefix }) => address === own.address && prefix === own.prefix),
  );
}
