import type { Routing, Target } from '../routing.ts';
import { targetKey, type RuleRun } from './rules.ts';
import type { ChosenDefault, Targets } from './settle.ts';
import { comment, groupText, ruleText, type InheritText } from './tables.ts';
import { UniqueNames } from './tags.ts';

/** The name of the default route among groups and picks. */
const DEFAULT = 'default';

/** The route groups of a subscribe file. */
export interface WrittenGroups {
  /** A text for each group with its rules, in matching order. */
  readonly texts: readonly string[];
  /** The initial pick of each group by its name; absent if it inherits. */
  readonly picks: ReadonlyMap<string, string>;
  /** The name of the first group of each target, by `targetKey`. */
  readonly names: ReadonlyMap<string, string>;
}

/** A group before it is written. */
interface Segment {
  readonly target: Target;
  readonly runs: readonly RuleRun[];
}

/**
 * Writes rules as groups. Weir tries groups in the order of their file, and the rules of each together: where the
 * document returns to an earlier target, a further group, which inherits from the first one of that target, keeps the
 * order.
 *
 * @param outboundOf the node, balancer or built-in outbound that a target leads to
 */
export function writeGroups(
  routing: Pick<Routing, 'groups' | 'standard'>,
  runs: readonly RuleRun[],
  standard: ChosenDefault,
  targets: Targets,
  outboundOf: (target: Target) => string,
): WrittenGroups {
  const unique = new UniqueNames([DEFAULT]);
  const names = new Map<string, string>();
  const picks = new Map<string, string>();
  const texts: string[] = [];
  const defined = new Set<string>();
  const waiting = new Map<string, Target>();
  const followsDefault =
    routing.standard.kind === 'unstated' || standard.settled.kind === 'lost'
      ? undefined
      : targets.lastSelector(routing.standard);
  // Without a pick flows use the default, unless that is a direct connection.
  const unpicked = standard.settled.kind === 'server' ? 'default' : 'blackhole';

  const nameOf = (target: Target): string => {
    const key = targetKey(target);
    const known = names.get(key);
    if (known !== undefined) return known;
    const name = unique.next(nameFor(target, targets), 'group');
    names.set(key, name);
    waiting.set(key, target);
    return name;
  };

  const inheritOf = (target: Target, name: string): InheritText => {
    const settled = targets.settle(target);
    if (settled.kind === 'lost') return 'blackhole';
    if (target.kind === 'group') {
      if (target.index === followsDefault) return 'default';
      const group = routing.groups[target.index];
      const chosen = group?.strategy === 'select' ? group.members[group.chosen ?? 0] : undefined;
      if (chosen?.kind === 'group') return { group: nameOf(chosen) };
    }
    if (settled.kind === 'direct' || settled.kind === 'blackhole') {
      const tag = outboundOf(target);
      if (tag === settled.kind) return settled.kind;
    }
    picks.set(name, outboundOf(target));
    return settled.kind === 'direct' || settled.kind === 'blackhole' ? settled.kind : unpicked;
  };

  const write = (target: Target, rules: readonly RuleRun[]): void => {
    const key = targetKey(target);
    const isFirst = !defined.has(key);
    const first = nameOf(target);
    defined.add(key);
    waiting.delete(key);
    const name = isFirst ? first : unique.next(first, 'group');
    const inherit: InheritText = isFirst ? inheritOf(target, name) : { group: first };
    texts.push(groupText(name, inherit) + rules.map(runText).join(''));
  };

  for (const { target, runs: rules } of segmentsOf(runs)) write(target, rules);
  // Groups without rules that others inherit from; each may refer to a further one.
  for (const target of waiting.values()) write(target, []);
  return { texts, picks, names };
}

const isSame = (one: Target, other: Target): boolean => targetKey(one) === targetKey(other);

const runText = ({ source, count, matchers }: RuleRun): string =>
  comment(count > 1 ? `${source} and ${count - 1} more` : source) + ruleText(matchers);

/** Consecutive runs with the same target. */
function segmentsOf(runs: readonly RuleRun[]): readonly Segment[] {
  const segments: { target: Target; runs: RuleRun[] }[] = [];
  for (const run of runs) {
    const last = segments.at(-1);
    if (last && isSame(last.target, run.target)) last.runs.push(run);
    else segments.push({ target: run.target, runs: [run] });
  }
  return segments;
}

/** The name of a group, which is that of its target in the document. */
function nameFor(target: Target, targets: Targets): string {
  switch (target.kind) {
    case 'direct':
      return 'Direct';
    case 'blackhole':
      return 'Reject';
    case 'entry':
    case 'group':
    case 'missing':
      return targets.nameOf(target);
    default:
      return target satisfies never;
  }
}
