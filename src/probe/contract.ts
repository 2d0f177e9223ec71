import type { OutboundSpec } from '../spec.ts';

/** What a probe needs to know of an outbound. */
export type ProbedSpec = Pick<OutboundSpec, 'tag' | 'protocol' | 'stream'>;

/**
 * A part of a try, in this order. The first three are missing where an outbound has none of it, and where a
 * connection to the server is reused.
 *
 * - `resolve`: the name of the server; of a direct outbound, the name of the URL
 * - `dial`: the TCP connection to the server
 * - `handshake`: TLS, QUIC or WireGuard, and the carrier on it
 * - `first_byte`: from then until the first byte of the response: what the protocol asks its server, the
 *   connection that this makes, TLS with the URL's host if the URL is https, and the request
 * - `second`: another request on the same connection: the latency of the path alone
 */
export type ProbePhase = 'resolve' | 'dial' | 'handshake' | 'first_byte' | 'second';

export type PhaseTimes = Readonly<Record<`${ProbePhase}_ms`, number | null>>;

/** One try. Times are in milliseconds; `null` for what it does not have. */
export interface ProbeTry extends PhaseTimes {
  readonly ok: boolean;
  /** Whether a connection or tunnel was used that was there before. */
  readonly reused: boolean;
  /** HTTP status of the first response. */
  readonly status: number | null;
  /** Where and why it has failed. */
  readonly phase: ProbePhase | null;
  readonly error: string | null;
}

/** How fast one document arrived. */
export interface Throughput {
  readonly bytes: number;
  /** From the first byte to the last. */
  readonly ms: number;
  readonly bytes_per_second: number;
}

/** The result for one outbound: a line of `weir probe --json`. Fields may be added. */
export interface ProbedOutbound {
  readonly outbound: string;
  readonly protocol: string;
  /** Whether a try has succeeded, and the throughput was measured if that was asked for. */
  readonly ok: boolean;
  readonly succeeded: number;
  readonly tries: readonly ProbeTry[];
  /** Each time on its own, over the tries that have succeeded. */
  readonly median: PhaseTimes;
  readonly throughput: Throughput | null;
  readonly throughput_error: string | null;
}

/** What is measured. */
export interface ProbePlan {
  readonly url: URL;
  /** Tries of each outbound, one after the other. */
  readonly tries: number;
  /** Bytes of the document that the throughput is measured with; 0 for none. */
  readonly bytes: number;
  /** The URL of that document. */
  readonly bytesUrl: URL;
  /** Milliseconds for one try, and for the document beyond its first byte. */
  readonly timeoutMs: number;
  /** Milliseconds for all of it. */
  readonly totalMs: number;
}
