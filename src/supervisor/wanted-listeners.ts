import { isDeepStrictEqual } from 'node:util';
import type { InboundSpec } from '../spec.ts';
import type { InboundFacts } from './inbound-facts.ts';
import type { InboundListener } from './inbound-listener.ts';
import type { WantedListener } from './listener-exchange.ts';
import type { InboundStep, Plan } from './plan.ts';
import { SessionInbound } from './session-inbound.ts';
import type { RunningInbound, Staged, StagedSessions } from './stage.ts';
import { SwitchedListener, type ListenerTarget } from './switched-listener.ts';

/** The listeners that a plan calls for, given what was built for it. */
export const wantedListeners = (
  { inbounds }: Plan,
  { accepting, sessions }: Staged,
  running: ReadonlyMap<string, RunningInbound>,
  facts: InboundFacts,
): WantedListener[] =>
  inbounds.flatMap((step) => {
    if (step.action === 'swap') return [];
    const { tag } = step.spec;
    const { target } = accepting.get(tag) ?? {};
    if (target) return [forCarriers(step.spec, target, facts)];
    const staged = sessions.get(tag);
    return staged ? [forSessions(step, staged, running.get(tag), facts)] : [];
  });

function forCarriers(
  inbound: InboundSpec,
  target: ListenerTarget,
  facts: InboundFacts,
): WantedListener {
  const { tag, listen: spec } = inbound;
  if (spec.kind === 'none') throw new RangeError(`inbound ${tag} has no address`);
  const means = facts.meansOf(inbound);
  const options = { spec, datagrams: means === 'tcp+udp', target };
  return {
    tag,
    spec,
    means,
    restart: undefined,
    bind: (signal) => SwitchedListener.bind(options, signal),
    takeOver: (listener) =>
      listener instanceof SwitchedListener && isAtPlace(listener, { spec, means })
        ? () => listener.switchTo(target)
        : undefined,
  };
}

function forSessions(
  step: InboundStep,
  { ready }: StagedSessions,
  running: RunningInbound | undefined,
  facts: InboundFacts,
): WantedListener {
  const { spec: inbound } = step;
  const { means } = ready;
  const restarted = step.action === 'restart' && running?.kind === 'sessions';
  const spec = restarted ? running.listener.boundListen : inbound.listen;
  return {
    tag: inbound.tag,
    spec,
    means,
    restart: step.action === 'restart' ? step.reason : undefined,
    bind: (signal) => SessionInbound.bind(ready, spec, signal),
    takeOver: (listener) =>
      listener instanceof SessionInbound &&
      isAtPlace(listener, { spec, means }) &&
      facts.restartReason(listener.inbound, inbound) === undefined &&
      listener.keep()
        ? () => listener.swap(ready)
        : undefined,
  };
}

type Place = Pick<InboundListener, 'spec' | 'means'>;

const isAtPlace = (listener: Place, { spec, means }: Place): boolean =>
  listener.means === means && isDeepStrictEqual(listener.spec, spec);

/**
 * An inbound as it runs from the commit of a reload on.
 *
 * @param bound its listener, where the reload has given it one.
 */
export function runningInbound(
  { tag, stream }: InboundSpec,
  { runtimes, accepting, sessions }: Staged,
  before: RunningInbound | undefined,
  bound: InboundListener | undefined,
): RunningInbound | undefined {
  const carriers = before?.kind === 'carriers' ? before : undefined;
  const runtime = runtimes.get(tag) ?? carriers?.runtime;
  const old = before?.kind === 'sessions' ? before : undefined;
  const memory = sessions.get(tag)?.memory ?? old?.memory;
  const acceptor = accepting.get(tag)?.acceptor ?? carriers?.acceptor;
  const listener = bound ?? before?.listener;
  if (listener instanceof SwitchedListener && runtime && acceptor) {
    return { kind: 'carriers', runtime, listener, acceptor, stream };
  }
  return listener instanceof SessionInbound && memory
    ? { kind: 'sessions', listener, memory }
    : undefined;
}
