import { messageOf } from '@weir/base';
import { FlowError, type OutboundFlows } from '../fetch/contract.ts';
import { DeadlineError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { type Clock, Deadline } from '@weir/io/time';
import { printable } from '@weir/base/printable';
import {
  type ProbedSpec,
  type ProbePlan,
  type ProbedOutbound,
  type PhaseTimes,
  type ProbePhase,
  type ProbeTry,
  type Throughput,
  dialPhases,
  expectedSteps,
  failedPhase,
  medians,
  readyAt,
  rounded,
} from './contract.ts';
import { UrlLinks, exchange, ExchangeError } from './exchange.ts';

/** Maximum number of outbounds probed concurrently: more would measure each other. */
const AT_ONCE = 8;

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

interface ProbeAllMeans {
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

/** Dependencies of a probe. */
interface ProbeMeans {
  readonly flows: OutboundFlows;
  readonly clock: Clock;
  readonly url: UrlLinks;
  readonly bytesUrl: UrlLinks;
  /** Aborts when the time for the whole probe is over. */
  readonly signal: AbortSignal;
}

const NOTHING_MEASURED: PhaseTimes = {
  resolve_ms: null,
  dial_ms: null,
  handshake_ms: null,
  first_byte_ms: null,
  second_ms: null,
};

/** Probes one outbound with consecutive tries. Never rejects. */
async function probeOutbound(
  spec: ProbedSpec,
  plan: ProbePlan,
  means: ProbeMeans,
): Promise<ProbedOutbound> {
  const tries: ProbeTry[] = [];
  for (let count = 0; count < plan.tries; count++) tries.push(await tryOnce(spec, plan, means));
  const succeeded = tries.filter(({ ok }) => ok).length;
  const measured =
    plan.bytes > 0 && succeeded > 0 ? await throughputOf(spec.tag, plan, means) : undefined;
  const throughput = typeof measured === 'object' ? measured : null;
  return {
    outbound: spec.tag,
    protocol: spec.protocol,
    ok: succeeded > 0 && (plan.bytes === 0 || throughput !== null),
    succeeded,
    tries,
    median: medians(tries),
    throughput,
    throughput_error: typeof measured === 'string' ? measured : null,
  };
}

/** Makes one try. Never rejects. */
async function tryOnce(
  spec: ProbedSpec,
  { timeoutMs }: Pick<ProbePlan, 'timeoutMs'>,
  { flows, clock, url: links, signal: parent }: ProbeMeans,
): Promise<ProbeTry> {
  using deadline = new Deadline(clock, timeoutMs, 'the try', parent);
  const { signal } = deadline;
  const expected = expectedSteps(spec);
  let phase: ProbePhase = 'resolve';
  let reused = false;
  let status: number | null = null;
  let times = NOTHING_MEASURED;
  let link: ByteLink | undefined;
  let suspect: string | undefined;
  try {
    signal.throwIfAborted();
    const flow = await flows.open(spec.tag, links.target, signal);
    ({ link } = flow);
    const openedAt = clock.now();
    phase = 'first_byte';
    reused = flow.times.reused !== undefined;
    times = { ...times, ...dialPhases(flow.times, expected) };
    const opened = flow.times.opened ?? 0;
    const asked = opened - (readyAt(flow.times, expected) ?? opened);
    const requests = await links.over(link, signal);
    ({ suspect } = flow);
    let firstAt = openedAt;
    const onFirstByte = (): void => void (firstAt = clock.now());
    const { head, isReusable } = await exchange(requests, 'HEAD', links.url, {
      signal,
      suspect,
      onFirstByte,
    });
    ({ status } = head);
    times = { ...times, first_byte_ms: rounded(asked + firstAt - openedAt) };
    if (isReusable) {
      phase = 'second';
      const secondAt = clock.now();
      await exchange(requests, 'HEAD', links.url, { signal, onFirstByte });
      times = { ...times, second_ms: rounded(firstAt - secondAt) };
    }
    return { ok: true, reused, ...times, status, phase: null, error: null };
  } catch (error) {
    if (error instanceof FlowError) {
      phase = failedPhase(error.times, expected);
      reused = error.times.reused !== undefined;
      times = { ...times, ...dialPhases(error.times, expected) };
    }
    // Some servers do not respond to unauthenticated clients.
    const isSilent = signal.aborted && !parent.aborted && phase === 'first_byte' && status === null;
    const hint = isSilent && suspect !== undefined ? `; ${suspect} looks like this` : '';
    const reason = `${reasonOf(error, signal)}${hint}`;
    return { ok: false, reused, ...times, status, phase, error: reason };
  } finally {
    link?.destroy();
  }
}

/** Measures the throughput. @returns the reason when it could not be measured */
async function throughputOf(
  tag: string,
  { bytes, timeoutMs }: ProbePlan,
  { flows, clock, bytesUrl: links, signal: parent }: ProbeMeans,
): Promise<Throughput | string> {
  using opening = new Deadline(clock, timeoutMs, 'the request', parent);
  let link: ByteLink | undefined;
  try {
    opening.signal.throwIfAborted();
    ({ link } = await flows.open(tag, links.target, opening.signal));
    const body = await links.over(link, opening.signal);
    await exchange(body, 'GET', links.url, { signal: opening.signal });
    return await measure(body, bytes, timeoutMs, clock, parent);
  } catch (error) {
    return reasonOf(error, opening.signal);
  } finally {
    link?.destroy();
  }
}

/** Counts received bytes, until there are enough or the time is over. @throws {ExchangeError} */
async function measure(
  link: ByteLink,
  wanted: number,
  limitMs: number,
  clock: Clock,
  parent: AbortSignal,
): Promise<Throughput> {
  using deadline = new Deadline(clock, limitMs, 'the document', parent);
  let received = 0;
  let firstAt: number | undefined;
  let lastAt = 0;
  try {
    while (received < wanted) {
      const chunk = await link.read(deadline.signal);
      if (chunk === undefined) break;
      // The first chunk had arrived before the measurement began.
      lastAt = clock.now();
      if (firstAt === undefined) firstAt = lastAt;
      else received += chunk.length;
    }
  } catch (error) {
    // A slow outbound is measured by the bytes that have arrived in time.
    if (!(deadline.signal.aborted && deadline.signal.reason instanceof DeadlineError)) throw error;
    if (parent.aborted) throw error;
  }
  const ms = lastAt - (firstAt ?? 0);
  if (firstAt === undefined || received === 0 || ms <= 0) {
    throw new ExchangeError('the document is too short to be measured');
  }
  return { bytes: received, ms: rounded(ms), bytes_per_second: Math.round((received / ms) * 1000) };
}

/** The reason of a failure in one line, with no part of the URL but its host. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  const reason: unknown = signal.aborted && !(error instanceof FlowError) ? signal.reason : error;
  return printable(messageOf(reason));
}
