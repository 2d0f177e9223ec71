import { udpCarrier } from '@weir/proxy/protocols';
import type { DialStep, DialTimes } from '@weir/io';
import type { PhaseTimes, ProbedSpec, ProbePhase, ProbeTry } from './contract.ts';

/** The steps of an outbound's dial that precede the protocol's own request. */
export interface ExpectedSteps {
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
