import type { InboundMemory } from '../protocols/inbounds/inbound-memory.ts';
import { accountsOf, NO_ACCOUNTS, type Accounts } from '../protocols/users/standing.ts';
import type { RunningInbound, StagedInbound } from './stage.ts';

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
