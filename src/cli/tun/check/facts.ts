import type { SystemResolver } from '../../../dns/system/system-resolvers.ts';
import type { Cidr } from '../../../ip/cidr.ts';
import type { MachineNetwork } from '../../../platform/netlink/machine-network.ts';
import type { DnsSpec } from '../../../spec.ts';
import type { FirewallFacts } from './firewall.ts';

/** A socket on port 53 of this machine. */
export interface NameListener {
  readonly address: string;
  readonly network: 'tcp' | 'udp';
  /** The program that has it, where that could be read. */
  readonly program: string | undefined;
}

/** What the resolver of the machine is made of. */
export interface ResolverFacts {
  /** The servers that programs ask in the end. */
  readonly servers: readonly SystemResolver[];
  /** The servers that /etc/resolv.conf names. */
  readonly named: readonly string[];
  /** The target of the link /etc/resolv.conf; empty for a file, `undefined` when there is neither. */
  readonly link: string | undefined;
  /** The program that says in the file that it has written it. */
  readonly writer: 'NetworkManager' | 'resolvconf' | undefined;
  /** The sources of host names (nsswitch.conf(5)), in order. */
  readonly sources: readonly string[];
  /** The servers of single links in systemd-resolved: `eth0: 192.168.1.1`. */
  readonly perLink: readonly string[];
  readonly hasNetworkManager: boolean;
  /** The patterns of `unmanaged-devices` in the configuration of NetworkManager. */
  readonly unmanaged: readonly string[];
}

/** Something that could not be read. */
export interface Unread {
  readonly what: string;
  readonly reason: string;
}

/** What the machine says. */
export interface MachineFacts {
  readonly network: MachineNetwork;
  /** Values below /proc/sys by their names, `net.ipv4.ip_forward`; those that are missing are not in it. */
  readonly settings: ReadonlyMap<string, string>;
  /** /dev/net/tun, for the user who asks. */
  readonly deviceFile: 'usable' | 'missing' | 'forbidden';
  /** What this process may; `undefined` where that could not be read. */
  readonly rights: { readonly netAdmin: boolean; readonly bindService: boolean } | undefined;
  readonly listeners: readonly NameListener[];
  readonly resolver: ResolverFacts;
  /** `undefined` when it could not be read. */
  readonly firewall: FirewallFacts | undefined;
  readonly unread: readonly Unread[];
}

/** A TUN inbound, and what of the configuration concerns it. */
export interface CheckedInbound {
  readonly tag: string;
  /** `undefined` when the kernel chooses. */
  readonly name: string | undefined;
  readonly mtu: number;
  readonly addresses: readonly Cidr[];
  readonly routes: readonly Cidr[];
  readonly dns: DnsSpec;
  /** Whether the machine is to be the router of others. */
  readonly isGateway: boolean;
}

export type Severity = 'breaks' | 'leaks' | 'note';

/** One thing that concerns the inbound. */
export interface TunFinding {
  /** Stable, for programs: `rp-filter-strict`. */
  readonly id: string;
  /**
   * `breaks`: something does not work; `leaks`: something leaves past the device; `note`: for
   * information.
   */
  readonly severity: Severity;
  /** What was read, with its place. */
  readonly evidence: readonly string[];
  /** One sentence. */
  readonly consequence: string;
  /** What to do, in lines: commands, or lines of a file. */
  readonly advice: readonly AdviceStep[];
}

/** A part of an advice. */
export interface AdviceStep {
  /** `sh`: commands for root; `toml`: lines of the inbound's settings; `text`: a sentence. */
  readonly kind: 'sh' | 'toml' | 'text';
  readonly text: string;
}
