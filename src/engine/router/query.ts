import type { Network } from '../../net/addresses/address.ts';

/** The properties of a flow that rules match. */
export interface RouteQuery {
  /** Tag of the inbound that it came in through. */
  readonly inbound: string;
  /** The client's IP address; `undefined` for a unix socket. */
  readonly source: string | undefined;
  readonly network: Network;
  /** Its destination: a domain name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The name in its first bytes, when `host` is an IP address and they were sniffed. */
  readonly sniffed: string | undefined;
}

export interface RouteDecision {
  /** Tag of an outbound or balancer. */
  readonly outbound: string;
  /** Position of the rule that decided; `undefined` for the default. */
  readonly rule: number | undefined;
}
