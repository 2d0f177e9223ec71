import type { OutboundFlows } from '../fetch/outbound-flows.ts';
import type { Clock } from '../net/time/clock.ts';
import { Deadline } from '../net/time/deadline.ts';
import type { ProbedSpec, ProbePlan, ProbedOutbound } from './contract.ts';
import { UrlLinks } from './exchange.ts';
import { probeOutbound, tryOnce, type ProbeMeans } from './probe-outbound.ts';

/** Maximum number of outbounds probed concurrently: more would measure each other. */
export const AT_ONCE = 8;

/** Time limit of a rehearsal, in milliseconds. */
const REHEARSAL_MS = 2_000;

/**
 * Tries one outbound of each kind without measuring it: a new process loads and compiles code and reads certificates
 * with its first flows, which takes longer than most dials.
 */
async function rehearse(
  specs: readonly ProbedSpec[],
  { timeoutMs }: ProbePlan,
  means: ProbeMeans,
): Promise<void> {
  const kinds = new Map<string, ProbedSpec>();
  for (const spec of specs) {
    const { carrier, tls } = spec.stream ?? {};
    kinds.set(`${spec.protocol} ${carrier?.kind ?? ''} ${tls ? 'tls' : ''}`, spec);
  }
  const limit = { timeoutMs: Math.min(timeoutMs, REHEARSAL_MS) };
  await Promise.all([...kinds.values()].map((spec) => tryOnce(spec, limit, means)));
}

export interface ProbeAllMeans {
  readonly flows: OutboundFlows;
  readonly clock: Clock;
  /** Whether this process opens the flows, and has opened none before. */
  readonly isNew?: boolean;
}

/**
 * Probes outbounds, a few concurrently, and yields the results in the order of `specs`, each as soon as all before it
 * are known.
 *
 * @param stop ends the probe early; tries then fail with its reason
 */
export async function* probeAll(
  specs: readonly ProbedSpec[],
  plan: ProbePlan,
  means: ProbeAllMeans,
  stop?: AbortSignal,
): AsyncGenerator<ProbedOutbound> {
  const results = specs.map(() => Promise.withResolvers<ProbedOutbound>());
  const done = probeEach(specs, plan, means, {
    stop,
    onResult: (result, index) => results[index]?.resolve(result),
  });
  for (const { promise } of results) yield await promise;
  await done;
}

/**
 * Probes outbounds, a few concurrently.
 *
 * @param events `onStart` and `onResult` are called as each begins and ends, in any order; `stop` ends the probe early:
 * tries then fail with its reason
 */
export async function probeEach(
  specs: readonly ProbedSpec[],
  plan: ProbePlan,
  { flows, clock, isNew = false }: ProbeAllMeans,
  {
    onStart,
    onResult,
    stop,
  }: {
    readonly onStart?: (spec: ProbedSpec) => void;
    readonly onResult: (result: ProbedOutbound, index: number) => void;
    readonly stop?: AbortSignal | undefined;
  },
): Promise<void> {
  using all = new Deadline(clock, plan.totalMs, 'the probe of all', stop);
  const means = {
    flows,
    clock,
    url: new UrlLinks(plan.url, clock),
    bytesUrl: new UrlLinks(plan.bytesUrl, clock),
    signal: all.signal,
  };
  if (isNew) await rehearse(specs, plan, means);
  const waiting = [...specs.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, spec] = next;
      onStart?.(spec);
      onResult(await probeOutbound(spec, plan, means), index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, specs.length) }, work));
}
