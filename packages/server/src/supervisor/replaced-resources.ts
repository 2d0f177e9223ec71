import type { BalancerGroup } from '@weir/proxy/engine';
import type { Steps, Turns } from '@weir/io/time';
import { type Accounts, accountsOf, type InboundMemory, NO_ACCOUNTS } from '@weir/proxy/protocols';
import type { BuiltOutbound } from './build.ts';
import type { RunningInbound, RunningResources, Staged, StagedInbound } from './stage.ts';

/** Outbounds and balancers that begin or end with a reload. */
export interface ResourceChanges {
  readonly retired: readonly BuiltOutbound[];
  readonly stoppedGroups: readonly BalancerGroup[];
  readonly startedGroups: readonly BalancerGroup[];
}

export function* changesBetween(
  running: Pick<RunningResources, 'outbounds' | 'balancers'>,
  staged: Pick<Staged, 'outbounds' | 'balancers'>,
): Steps<ResourceChanges> {
  return {
    retired: yield* notIn(running.outbounds, staged.outbounds),
    stoppedGroups: yield* notIn(running.balancers, staged.balancers),
    startedGroups: yield* notIn(staged.balancers, running.balancers),
  };
}

/** Members whose probes start in one turn: each opens a connection, and most of that work follows the start. */
const PROBES_A_TURN = 16;

export async function startGroups(groups: readonly BalancerGroup[], turns: Turns): Promise<void> {
  let started = 0;
  for (const group of groups) {
    for (const _ of group.start()) {
      started++;
      if (started % PROBES_A_TURN === 0) await turns.next();
    }
  }
}

/** Stops the probes of replaced balancers; replaced outbounds close after their last flow. */
export function* endReplaced({ retired, stoppedGroups }: ResourceChanges): Steps<void> {
  for (const group of stoppedGroups) {
    group.stop();
    yield;
  }
  for (const { version } of retired) {
    version.retire();
    yield;
  }
}

/** Returns the values of one map that another does not hold under the same key. */
function* notIn<T>(items: ReadonlyMap<string, T>, others: ReadonlyMap<string, T>): Steps<T[]> {
  const found: T[] = [];
  for (const [tag, item] of items) {
    if (others.get(tag) !== item) found.push(item);
    yield;
  }
  return found;
}

/**
 * Applies the accounts of new servers, and removes those of removed inbounds. An InboundRuntime itself replaces its
 * accounts when it gets a new handler.
 *
 * @returns the accounts that may have changed, whose sessions without a flow are to end
 */
export function replaceAccounts(
  before: ReadonlyMap<string, RunningInbound>,
  after: ReadonlyMap<string, RunningInbound>,
  staged: ReadonlyMap<string, StagedInbound>,
): ReadonlySet<Accounts> {
  const changed = new Set<Accounts>();
  for (const [tag, inbound] of before) {
    const accounts = accountsOf(memoryOf(inbound));
    const isGone = after.get(tag)?.kind !== inbound.kind;
    if (isGone) accounts.replace(NO_ACCOUNTS);
    if (isGone || staged.has(tag)) changed.add(accounts);
  }
  for (const next of staged.values()) {
    if (next.kind !== 'sessions') continue;
    accountsOf(next.memory).replace(next.ready.server.accounts ?? NO_ACCOUNTS);
  }
  return changed;
}

const memoryOf = (inbound: RunningInbound): InboundMemory =>
  inbound.kind === 'carriers' ? inbound.runtime.memory : inbound.memory;
