import type { Cidr } from './ip/cidr.ts';
import type { Endpoint } from './net/addresses/address.ts';
import type { FamilyPolicy } from './net/addresses/resolver.ts';

/**
 * The meaning of a configuration: plain, immutable data that survives `structuredClone`, the only
 * output of `config`. Defaults are filled in, references are checked, nothing is opened yet.
 */
export interface Spec {
  readonly log: LogSpec;
  readonly dns: DnsSpec;
  readonly inbounds: readonly InboundSpec[];
  readonly outbounds: readonly OutboundSpec[];
  readonly balancers: readonly BalancerSpec[];
  readonly route: RouteSpec;
}

export interface LogSpec {
  /** A filter directive in the syntax of RUST_LOG. */
  readonly level: string;
}

/** Where names are resolved: the table `[dns]`, checked and lowered. */
export type DnsSpec =
  | { readonly backend: 'system' }
  | { readonly backend: 'udp'; readonly server: DnsServer }
  | {
      readonly backend: 'tls';
      readonly server: DnsServer;
      /** Sent as SNI and verified. */
      readonly serverName: string;
      readonly ca: CaSpec | undefined;
    }
  | {
      readonly backend: 'https';
      /** What is dialled, whatever the URL. */
      readonly server: DnsServer;
      /** From the URL: sent as SNI and `Host`, and verified. */
      readonly host: string;
      readonly path: string;
      readonly ca: CaSpec | undefined;
    };

export type DnsBackendName = DnsSpec['backend'];

/** An IP address and a port. */
export type DnsServer = Endpoint;

/** Certificates trusted beside those of the system. */
export interface CaSpec {
  /** The file that they were read from, for people. */
  readonly file: string;
  /** PEM text, one each; part of the fingerprint, so a renewed file is a changed `[dns]`. */
  readonly certificates: readonly string[];
}

/** Where an inbound listens; `none` for one that has no address (a device). */
export type ListenSpec = SocketListenSpec | { readonly kind: 'none' };

/** Where a socket listens. Port 0 lets the kernel choose. */
export type SocketListenSpec =
  | { readonly kind: 'ip'; readonly host: string; readonly port: number }
  | { readonly kind: 'name'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** What carries the protocol of an inbound: the table `[inbound.stream]`. */
export interface InboundStreamSpec {
  /** TLS below the carrier; `undefined` for none. */
  readonly tls: TlsServerSpec | undefined;
  readonly carrier: InboundCarrierSpec;
}

export type InboundCarrierSpec =
  | { readonly kind: 'raw' }
  | {
      readonly kind: 'ws';
      /** Starts with a slash; a query is part of it, but never `ed`. */
      readonly path: string;
      /** Lower-case, without a port; `undefined` takes any. */
      readonly host: string | undefined;
    }
  | { readonly kind: 'grpc'; readonly serviceName: string };

/** What a TLS server proves itself with; the text, so that a renewed certificate is a change. */
export interface TlsServerSpec {
  /** PEM, leaf first. */
  readonly certificates: string;
  /** PEM, the key of the leaf. */
  readonly key: string;
}

/** What carries the protocol of an outbound: the table `[outbound.stream]`. */
export interface OutboundStreamSpec {
  readonly tls: TlsClientSpec | undefined;
  readonly carrier: OutboundCarrierSpec;
}

export type OutboundCarrierSpec =
  | { readonly kind: 'raw' }
  | {
      readonly kind: 'ws';
      /** Starts with a slash; may have a query, but never `ed`. */
      readonly path: string;
      /** What is sent as `Host`. */
      readonly host: string;
      /** How many bytes may travel in the upgrade request; 0 for none. */
      readonly earlyData: number;
    }
  | {
      readonly kind: 'grpc';
      readonly serviceName: string;
      /** What is sent as `:authority`. */
      readonly authority: string;
    };

export interface TlsClientSpec {
  /** Verified, and sent as SNI unless it is an IP address. */
  readonly serverName: string;
  /** Takes any certificate; never together with `ca`. */
  readonly allowInsecure: boolean;
  /** Trusted beside the system's. */
  readonly ca: CaSpec | undefined;
}

export interface InboundSpec {
  readonly tag: string;
  /** Canonical name of a protocol in `protocols/registry.ts`, aliases resolved. */
  readonly protocol: string;
  readonly listen: ListenSpec;
  /** `undefined` for a bare socket. */
  readonly stream: InboundStreamSpec | undefined;
  readonly sniffing: boolean;
  /** Lowered by the protocol that reads it back: see `InboundProtocol`. */
  readonly settings: unknown;
}

export interface OutboundSpec {
  readonly tag: string;
  /** Canonical name of a protocol in `protocols/registry.ts`, aliases resolved. */
  readonly protocol: string;
  /** The upstream; always set for protocols that need one. IPv6 without brackets. */
  readonly server: string | undefined;
  readonly port: number | undefined;
  /** `undefined` for a bare TCP connection. */
  readonly stream: OutboundStreamSpec | undefined;
  readonly addressFamily: FamilyPolicy;
  /** Lowered by the protocol that reads it back: see `OutboundProtocol`. */
  readonly settings: unknown;
}

/** A group of interchangeable outbounds. */
export interface BalancerSpec {
  readonly tag: string;
  /** Tags of outbounds, at least one; a tag that stands twice is two members. */
  readonly outbounds: readonly string[];
  readonly strategy: 'failover' | 'round_robin';
  /** Seconds from the end of one probe of a member to the start of its next. */
  readonly probeInterval: number;
  /** Seconds that a probe may take. */
  readonly probeTimeout: number;
}

/** A data file that rules take lists from. */
export interface GeoFileSpec {
  readonly path: string;
  /** Of its bytes, in hex: a new file behind the same path is a changed route. */
  readonly sha256: string;
}

export interface RouteSpec extends RoutingSpec {
  /** Only where a rule uses it. */
  readonly geoip: GeoFileSpec | undefined;
  readonly geosite: GeoFileSpec | undefined;
}

/** The routing of flows. */
export interface RoutingSpec {
  /** Tag of the outbound or balancer that takes what no rule matches; the first outbound when none is named. */
  readonly default: string;
  readonly rules: readonly RuleSpec[];
  /**
   * The route groups of a subscribe file, in the order in which they are matched. Their rules are
   * among `rules`; a switch of a group without any is a change of the route all the same.
   */
  readonly groups?: readonly RouteGroupSpec[];
}

export interface RouteGroupSpec {
  readonly name: string;
  /** Tag of the outbound or balancer that takes the group's flows. */
  readonly outbound: string;
}

/** Matchers of one kind are alternatives; all kinds present must match; none matches everything. */
export interface RuleSpec {
  readonly outbound: string;
  /** Domains are lower-cased here; regular expressions are kept as written. */
  readonly domainSuffix: readonly string[];
  readonly domainKeyword: readonly string[];
  readonly domainFull: readonly string[];
  readonly domainRegex: readonly string[];
  readonly cidr: readonly CidrSpec[];
  readonly sourceCidr: readonly CidrSpec[];
  readonly port: readonly PortRangeSpec[];
  readonly network: 'tcp' | 'udp' | undefined;
  readonly inboundTag: readonly string[];
  readonly geosite: readonly GeositeRef[];
  readonly geoip: readonly GeoipRef[];
}

/** A list of the geosite file, or its entries that carry an attribute. Case does not matter. */
export interface GeositeRef {
  readonly code: string;
  readonly attribute: string | undefined;
}

/** A list of the geoip file: the addresses in it, or with `negate` those outside. */
export interface GeoipRef {
  readonly code: string;
  readonly negate: boolean;
}

/** A network: host bits are zero. */
export type CidrSpec = Cidr;

/** An inclusive range. */
export interface PortRangeSpec {
  readonly low: number;
  readonly high: number;
}
