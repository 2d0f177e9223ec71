import type { SystemResolver } from '@weir/proxy/dns/system';
import type { Cidr } from '@weir/base/ip';
import type { MachineNetwork } from '@weir/io/netlink';
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
