import type { Network } from '@weir/io/addresses';

/** The properties of a flow that rules match. */
export interface RouteQuery {
  /** Tag of the inbound. */
  readonly inbound: string;
  /** The client's IP address; `undefined` for a unix socket. */
  readonly source: string | undefined;
  readonly network: Network;
  /** The destination: a domain name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The name sniffed from the first bytes, when `host` is an IP address. */
  readonly sniffed: string | undefined;
}

export interface RouteDecision {
  /** Tag of an outbound or balancer. */
  readonly outbound: string;
  /** Position of the rule that decided; `undefined` for the default. */
  readonly rule: number | undefined;
}
