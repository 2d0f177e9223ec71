import type { Cidr } from '@weir/base/ip';
import type { Endpoint, FamilyPolicy } from '@weir/io/addresses';

/**
 * The meaning of a configuration: plain, immutable data that survives `structuredClone` and JSON, with
 * defaults filled in and references checked. Nothing is opened yet.
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

/** The resolution of names: the table `[dns]`, checked and lowered. */
export type DnsSpec =
  | { readonly backend: 'system' }
  | { readonly backend: 'udp'; readonly server: DnsServer }
  | {
      readonly backend: 'tls';
      readonly server: DnsServer;
      /** The name that is sent as SNI and verified. */
      readonly serverName: string;
      readonly ca: CaSpec | undefined;
    }
  | {
      readonly backend: 'https';
      /** The address that is dialled, whichever host the URL names. */
      readonly server: DnsServer;
      /** The host of the URL: sent as SNI and `Host`, and verified. */
      readonly host: string;
      readonly path: string;
      readonly ca: CaSpec | undefined;
    };

export type DnsBackendName = DnsSpec['backend'];

/** An IP address and a port. */
export type DnsServer = Endpoint;

/** Certificates that are trusted in addition to those of the system. */
export interface CaSpec {
  /** The file that the certificates were read from, for messages. */
  readonly file: string;
  /** PEM texts of one certificate each. A renewed certificate is therefore a change of the resource. */
  readonly certificates: readonly string[];
}

/** The address on which an inbound listens; `none` for a device, which has no address. */
export type ListenSpec = SocketListenSpec | { readonly kind: 'none' };

/** The address on which a socket listens. Port 0 lets the kernel choose. */
export type SocketListenSpec =
  | { readonly kind: 'ip'; readonly host: string; readonly port: number }
  | { readonly kind: 'name'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

/** The carrier below the protocol of an inbound: the table `[inbound.stream]`. */
export interface InboundStreamSpec {
  /** TLS below the carrier; `undefined` for none. */
  readonly tls: TlsServerSpec | undefined;
  readonly carrier: InboundCarrierSpec;
}

export type InboundCarrierSpec =
  | { readonly kind: 'raw' }
  | {
      readonly kind: 'ws';
      /** The path starts with a slash; a query is part of it, but never `ed`. */
      readonly path: string;
      /** The accepted `Host` in lower case, without a port; `undefined` accepts any. */
      readonly host: string | undefined;
    }
  | { readonly kind: 'grpc'; readonly serviceName: string };

/** Certificates and key of a TLS server, as text: a renewed certificate is a change. */
export interface TlsServerSpec {
  /** Certificate chain in PEM, leaf first. */
  readonly certificates: string;
  /** Private key of the leaf, in PEM. */
  readonly key: string;
}

/** The carrier below the protocol of an outbound: the table `[outbound.stream]`. */
export interface OutboundStreamSpec {
  readonly tls: TlsClientSpec | undefined;
  readonly carrier: OutboundCarrierSpec;
}

export type OutboundCarrierSpec =
  | { readonly kind: 'raw' }
  | {
      readonly kind: 'ws';
      /** The path starts with a slash; it may have a query, but never `ed`. */
      readonly path: string;
      /** The `Host` header. */
      readonly host: string;
      /** Bytes of payload that may be sent in the upgrade request; 0 for none. */
      readonly earlyData: number;
    }
  | {
      readonly kind: 'grpc';
      readonly serviceName: string;
      /** The `:authority` pseudo-header. */
      readonly authority: string;
    };

export interface TlsClientSpec {
  /** The name that is verified, and sent as SNI unless it is an IP address. */
  readonly serverName: string;
  /** Whether any certificate is accepted; never together with `ca`. */
  readonly allowInsecure: boolean;
  /** Certificates trusted in addition to the system's. */
  readonly ca: CaSpec | undefined;
}

export interface InboundSpec {
  readonly tag: string;
  /** Canonical name of a protocol in `proxy/protocols/registry.ts`, aliases resolved. */
  readonly protocol: string;
  readonly listen: ListenSpec;
  /** The carrier; `undefined` for a bare socket. */
  readonly stream: InboundStreamSpec | undefined;
  readonly sniffing: boolean;
  /** Settings produced and read by the protocol: see `InboundProtocol`. */
  readonly settings: unknown;
}

export interface OutboundSpec {
  readonly tag: string;
  /** Canonical name of a protocol in `proxy/protocols/registry.ts`, aliases resolved. */
  readonly protocol: string;
  /** The upstream; always set for protocols that need one. IPv6 without brackets. */
  readonly server: string | undefined;
  readonly port: number | undefined;
  /** The carrier; `undefined` for a bare TCP connection. */
  readonly stream: OutboundStreamSpec | undefined;
  readonly addressFamily: FamilyPolicy;
  /** Settings produced and read by the protocol: see `OutboundProtocol`. */
  readonly settings: unknown;
}

/** A group of interchangeable outbounds. */
export interface BalancerSpec {
  readonly tag: string;
  /** Tags of outbounds, at least one; a tag that is listed twice is two members. */
  readonly outbounds: readonly string[];
  readonly strategy: 'failover' | 'round_robin';
  /** Seconds from the end of one probe of a member to the start of its next. */
  readonly probeInterval: number;
  /** Time limit of a probe in seconds. */
  readonly probeTimeout: number;
}

/** A geo file that rules take lists from. */
export interface GeoFileSpec {
  readonly path: string;
  /** SHA-256 of the contents of the file, in hex: new contents at the same path are a change of the route. */
  readonly sha256: string;
}

export interface RouteSpec extends RoutingSpec {
  /** The geoip file; set only if a rule uses it. */
  readonly geoip: GeoFileSpec | undefined;
  readonly geosite: GeoFileSpec | undefined;
}

/** The routing of flows. */
export interface RoutingSpec {
  /** Tag of the outbound or balancer for flows that no rule matches; by default the first outbound. */
  readonly default: string;
  readonly rules: readonly RuleSpec[];
  /**
   * The route groups of a subscribe file, in the order in which they are matched. Their rules are among
   * `rules`; they are listed here because switching a group without rules is a change of the route too.
   */
  readonly groups?: readonly RouteGroupSpec[];
}

export interface RouteGroupSpec {
  readonly name: string;
  /** Tag of the outbound or balancer for the flows of the group. */
  readonly outbound: string;
  /** Index in `rules` of the group's first rule; the others follow. */
  readonly firstRule: number;
  /** Number of the group's rules. */
  readonly rules: number;
}

/** Matchers of one kind are alternatives; every kind with matchers must match; a rule without any matches every flow. */
export interface RuleSpec {
  readonly outbound: string;
  /** Domains are in lower case; regular expressions are kept as written. */
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

/** A list of the geosite file, or its entries with an attribute. Case-insensitive. */
export interface GeositeRef {
  readonly code: string;
  readonly attribute: string | undefined;
}

/** A list of the geoip file: addresses in it, or with `negate` addresses outside of it. */
export interface GeoipRef {
  readonly code: string;
  readonly negate: boolean;
}

/** A network: host bits are zero. */
export type CidrSpec = Cidr;

/** An inclusive range of ports. */
export interface PortRangeSpec {
  readonly low: number;
  readonly high: number;
}
