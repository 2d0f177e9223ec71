import { isDeepStrictEqual } from 'node:util';
import type { InboundSpec } from '@weir/proxy/spec';
import type { InboundFacts, InboundListener } from './inbound-listener.ts';
import type { DesiredListener } from './listener-exchange.ts';
import type { InboundStep, Plan } from './plan.ts';
import { type ListenerTarget, SessionInbound, SwitchedListener } from './inbound-listeners.ts';
import type { RunningInbound, Staged, StagedInbound, StagedSessions } from './stage.ts';

/** Returns the listeners that a plan requires. */
export const desiredListeners = (
  plan: Plan,
  { inbounds }: Staged,
  running: ReadonlyMap<string, RunningInbound>,
  facts: InboundFacts,
): DesiredListener[] =>
  plan.inbounds.flatMap((step) => {
    if (step.action === 'swap') return [];
    const { tag } = step.spec;
    const staged = inbounds.get(tag);
    if (staged?.kind === 'listening') return [forCarriers(step.spec, staged.target, facts)];
    return staged?.kind === 'sessions' ? [forSessions(step, staged, running.get(tag), facts)] : [];
  });

function forCarriers(
  inbound: InboundSpec,
  target: ListenerTarget,
  facts: InboundFacts,
): DesiredListener {
  const { tag, listen: spec } = inbound;
  if (spec.kind === 'none') throw new RangeError(`inbound ${tag} has no address`);
  const means = facts.meansOf(inbound);
  const options = { spec, datagrams: means === 'tcp+udp', target };
  return {
    tag,
    spec,
    means,
    restartReason: undefined,
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
): DesiredListener {
  const { spec: inbound } = step;
  const { means } = ready;
  const restarted = step.action === 'restart' && running?.kind === 'sessions';
  const spec = restarted ? running.listener.boundListen : inbound.listen;
  return {
    tag: inbound.tag,
    spec,
    means,
    restartReason: step.action === 'restart' ? step.reason : undefined,
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
 * Returns a running inbound after the commit of a reload.
 * @param staged `undefined` for an inbound that does not change
 * @param bound its listener, if the reload has bound one or taken one over
 */
export function runningInbound(
  { stream }: InboundSpec,
  staged: StagedInbound | undefined,
  before: RunningInbound | undefined,
  bound: InboundListener | undefined,
): RunningInbound | undefined {
  switch (staged?.kind) {
    case undefined:
      return before;
    case 'handler':
      return before?.kind === 'carriers' ? { ...before, stream } : undefined;
    case 'listening': {
      const { runtime, acceptor } = staged;
      if (!(bound instanceof SwitchedListener)) return undefined;
      return { kind: 'carriers', runtime, listener: bound, acceptor, stream };
    }
    case 'sessions': {
      const listener = bound ?? before?.listener;
      if (!(listener instanceof SessionInbound)) return undefined;
      return { kind: 'sessions', listener, memory: staged.memory };
    }
    default:
      return staged satisfies never;
  }
}
