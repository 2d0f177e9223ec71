import type { OutboundSpec } from '@weir/proxy/spec';
import { udpCarrier } from '@weir/proxy/protocols';
import type { DialStep, DialTimes } from '@weir/io';

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

/** The steps of an outbound's dial that precede the protocol's own request. */
interface ExpectedSteps {
  /** Whether the server of the outbound is reached over TCP. */
  readonly connects: boolean;
  /** The last step; `opened` where only an open flow reveals it, as with WireGuard. */
  readonly last: DialStep | 'opened';
}

/** The steps of an outbound; an unknown protocol counts as bare TCP with the stream settings it has. Never throws. */
export function expectedSteps({ protocol, stream }: ProbedSpec): ExpectedSteps {
  const own = udpCarrier(protocol);
  if (own) return { connects: false, last: own === 'quic' ? 'carried' : 'opened' };
  const carrier = stream?.carrier;
  // With early data, the upgrade waits for the request.
  const isCarried = carrier?.kind === 'grpc' || (carrier?.kind === 'ws' && carrier.earlyData === 0);
  const last = isCarried ? 'carried' : stream?.tls ? 'secured' : 'connected';
  return { connects: true, last };
}

/** The end of the last step before the protocol's own request; `undefined` if it was not reached. */
export const readyAt = (times: DialTimes, { last }: ExpectedSteps): number | undefined =>
  times.reused ?? times[last];

/** The phase in which a dial has failed or timed out. */
export function failedPhase(times: DialTimes, expected: ExpectedSteps): ProbePhase {
  if (readyAt(times, expected) !== undefined) return 'first_byte';
  if (times.connected !== undefined || times.secured !== undefined) return 'handshake';
  if (times.resolved === undefined) return 'resolve';
  return expected.connects ? 'dial' : 'handshake';
}

/** Durations of a dial's phases, as far as it got. */
export function dialPhases(
  times: DialTimes,
  expected: ExpectedSteps,
): Pick<PhaseTimes, 'resolve_ms' | 'dial_ms' | 'handshake_ms'> {
  if (times.reused !== undefined) return { resolve_ms: null, dial_ms: null, handshake_ms: null };
  const { resolved, connected } = times;
  const ready = readyAt(times, expected);
  const before = connected ?? resolved ?? 0;
  return {
    resolve_ms: rounded(resolved),
    dial_ms: connected === undefined ? null : rounded(connected - (resolved ?? 0)),
    handshake_ms:
      ready === undefined || expected.last === 'connected' ? null : rounded(ready - before),
  };
}

const PHASES: readonly ProbePhase[] = ['resolve', 'dial', 'handshake', 'first_byte', 'second'];

/** The median of each phase, over the successful tries that have it. */
export function medians(tries: readonly ProbeTry[]): PhaseTimes {
  const good = tries.filter(({ ok }) => ok);
  const entries = PHASES.map((phase) => {
    const key = `${phase}_ms` as const;
    const values = good.map((each) => each[key]).filter((value) => value !== null);
    return [key, median(values)] as const;
  });
  return Object.fromEntries(entries) as PhaseTimes;
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle];
  if (high === undefined) return null;
  const low = sorted.length % 2 === 0 ? (sorted[middle - 1] ?? high) : high;
  return rounded((low + high) / 2);
}

/** Rounds to microseconds, the last meaningful digit. */
export function rounded(milliseconds: number): number;
export function rounded(milliseconds: number | undefined): number | null;
export function rounded(milliseconds: number | undefined): number | null {
  return milliseconds === undefined ? null : Math.round(milliseconds * 1000) / 1000;
}

/** Names of phases for users. */
export const PHASE_NAMES: Readonly<Record<ProbePhase, string>> = {
  resolve: 'the name',
  dial: 'dial',
  handshake: 'handshake',
  first_byte: 'first byte',
  second: 'second request',
};
