/*
 * Bodies of the API as its clients read them; docs/openapi.yaml has all fields. Texts in them come from configurations
 * and from the network, and must be escaped before they are shown.
 */

export interface FlowJson {
  readonly id: number;
  readonly session: number | null;
  readonly network: string;
  readonly inbound: string;
  readonly user: string | null;
  readonly source: string | null;
  readonly host: string;
  readonly port: number;
  readonly sniffed: string | null;
  readonly outbound: string;
  readonly outbound_version: number;
  readonly rule: number | null;
  readonly plane_epoch: number;
  readonly started_at: number;
  readonly up: number;
  readonly down: number;
}

export interface SessionJson {
  readonly id: number;
  readonly inbound: string;
  readonly source: string | null;
  readonly user: string | null;
  readonly up: number;
  readonly down: number;
  readonly started_at: number;
}

/** Bytes since the start of Weir, and bytes per second. */
export interface TrafficPartJson {
  readonly up: number;
  readonly down: number;
  readonly up_rate: number;
  readonly down_rate: number;
  readonly flows: number;
}

export interface TrafficJson extends TrafficPartJson {
  readonly tick: number;
  readonly interval_ms: number;
  /** Traffic of inbounds, by tag. */
  readonly inbounds: Readonly<Record<string, TrafficPartJson>>;
  readonly outbounds: Readonly<Record<string, TrafficPartJson>>;
}
