import type { OutboundSpec } from '@weir/proxy/spec';

/** The properties of an outbound that a probe depends on. */
export type ProbedSpec = Pick<OutboundSpec, 'tag' | 'protocol' | 'stream'>;

/**
 * A phase of a try, in this order. The first three are missing where an outbound has no such phase, and where a
 * connection to the server is reused.
 *
 * - `resolve`: the name of the server; of a direct outbound, the name of the URL
 * - `dial`: the TCP connection to the server
 * - `handshake`: TLS, QUIC or WireGuard, and the carrier on it
 * - `first_byte`: from then until the first byte of the response: the protocol's request to its server, the connection
 *   that this makes, TLS with the URL's host if the URL is https, and the HTTP request
 * - `second`: another request on the same connection: the latency of the path alone
 */
export type ProbePhase = 'resolve' | 'dial' | 'handshake' | 'first_byte' | 'second';

export type PhaseTimes = Readonly<Record<`${ProbePhase}_ms`, number | null>>;

/** A try. Times are in milliseconds; `null` for phases that it does not have. */
export interface ProbeTry extends PhaseTimes {
  readonly ok: boolean;
  /** Whether an existing connection or tunnel was reused. */
  readonly reused: boolean;
  /** HTTP status of the first response. */
  readonly status: number | null;
  /** The phase in which the try failed; `null` if it succeeded. */
  readonly phase: ProbePhase | null;
  readonly error: string | null;
}

/** Throughput of one document. */
export interface Throughput {
  readonly bytes: number;
  /** Milliseconds from the first byte to the last. */
  readonly ms: number;
  readonly bytes_per_second: number;
}

/** The result for one outbound: a line of `weir probe --json`. Fields may be added. */
export interface ProbedOutbound {
  readonly outbound: string;
  readonly protocol: string;
  /** Whether a try has succeeded, and the throughput was measured if requested. */
  readonly ok: boolean;
  readonly succeeded: number;
  readonly tries: readonly ProbeTry[];
  /** The median of each phase on its own, over the successful tries. */
  readonly median: PhaseTimes;
  readonly throughput: Throughput | null;
  readonly throughput_error: string | null;
}

/** Parameters of a probe. */
export interface ProbePlan {
  readonly url: URL;
  /** Number of consecutive tries of each outbound. */
  readonly tries: number;
  /** Bytes of the document for measuring throughput; 0 for no measurement. */
  readonly bytes: number;
  /** URL of the document for measuring throughput. */
  readonly bytesUrl: URL;
  /** Milliseconds for one try, and for the document after its first byte. */
  readonly timeoutMs: number;
  /** Milliseconds for the whole probe. */
  readonly totalMs: number;
}

/** The default URL: a small response without a body, served from many places, which other clients request too. */
export const DEFAULT_PROBE_URL = 'http://cp.cloudflare.com/generate_204';

/** Default number of tries of each outbound. */
export const DEFAULT_TRIES = 3;

/** Default time limit of one try, in seconds. */
export const DEFAULT_TRY_SECONDS = 10;

/** Default time limit of the whole probe, in seconds. */
export const DEFAULT_TOTAL_SECONDS = 300;
