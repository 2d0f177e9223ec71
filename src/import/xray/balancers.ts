import { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { XRAY_BALANCER_KEYS } from '../keys/xray.ts';
import type { ForeignGroup } from '../routing.ts';
import type { MemberBudget, TargetNames } from '../targets.ts';
import { notesOn } from '../verdicts.ts';
import { wordsOf } from './conditions.ts';

const FASTEST = 'the first member that works is used, not the fastest';

/**
 * Reads one of `routing.balancers`. Its members are the outbounds whose tags begin with one of `selector`, in the order
 * of their tags.
 * @param tags of outbounds, sorted
 * @throws {ImportError} when the balancers have too many members
 */
export function readBalancer(
  value: unknown,
  tags: readonly string[],
  names: TargetNames,
  budget: MemberBudget,
): ForeignGroup {
  const fields = new ForeignObject(value);
  const prefixes = wordsOf(fields, 'selector');
  const members = withPrefixes(tags, prefixes);
  budget.spend(members.length);
  const strategy = (fields.fields('strategy').text('type') ?? '').toLowerCase();
  const isFastest = strategy === 'leastping' || strategy === 'leastload';
  const fallback = fields.text('fallbackTag') ?? '';
  const notes = isFastest ? [FASTEST] : [];
  if (strategy === '' || strategy === 'random')
    notes.push('members are used in turn, not at random');
  // A failover uses its last member when no other works.
  if (fallback !== '' && !isFastest) {
    notes.push('"fallbackTag" is not carried over: flows fail while no member works');
  }
  return {
    name: fields.text('tag') ?? '',
    strategy: isFastest ? 'failover' : 'round_robin',
    members: [...members, ...(isFastest && fallback !== '' ? [fallback] : [])].map((tag) =>
      names.of(tag),
    ),
    takes: {
      from: 'document',
      isListing: true,
      filters: prefixes.map((prefix) => `^${literal(prefix)}`),
      excluded: [],
      excludedProtocols: [],
    },
    notes: [...notes, ...notesOn(fields, XRAY_BALANCER_KEYS)],
  };
}

/** Escapes a text as an expression that matches it. */
const literal = (text: string): string =>
  text.replaceAll(/[\\^$.|?*+()[\]{}&~#-]/g, String.raw`\$&`);

/** The tags that begin with a prefix, in order; each prefix is located by binary search. */
function withPrefixes(sorted: readonly string[], prefixes: readonly string[]): readonly string[] {
  const found: string[] = [];
  let last: string | undefined;
  for (const prefix of [...prefixes].sort()) {
    // A shorter prefix has found these tags already.
    if (last !== undefined && prefix.startsWith(last)) continue;
    last = prefix;
    for (let at = firstFrom(sorted, prefix); sorted[at]?.startsWith(prefix); at++) {
      found.push(sorted[at] ?? '');
    }
  }
  return found;
}

/** The index of the first text that is not less than `text`. */
function firstFrom(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
